/* y = a u + b w + c, of its inputs at the same instant. */
#include "model.h"

enum { TIME, u, w, y, a, b, c, COUNT };

static const Variable variables[COUNT] = {
    [TIME] = TIME_VARIABLE,
    [u] = {"u", INPUT, .unit = "1"},
    [w] = {"w", INPUT, .unit = "1"},
    [y] = {"y", OUTPUT, .unit = "1"},
    [a] = {"a", TUNABLE_PARAMETER, .unit = "1", .start = 1},
    [b] = {"b", TUNABLE_PARAMETER, .unit = "1", .start = 0},
    [c] = {"c", TUNABLE_PARAMETER, .unit = "1", .start = 0},
};

static const Dependency dependencies[] = {
    {y, u, TUNABLE}, {y, w, TUNABLE}, {y, a, DEPENDENT}, {y, b, DEPENDENT}, {y, c, DEPENDENT},
};

INITIAL_STATES(v)
{
    (void)v;
}

EQUATIONS(v)
{
    v[y] = v[a] * v[u] + v[b] * v[w] + v[c];
}

MODEL = {
    .name = "Affine",
    .description = "An affine function of two inputs",
    .variables = variables,
    .variable_count = COUNT,
    .dependencies = dependencies,
    .dependency_count = ROWS(dependencies),
    .stop_time = 1,
    .step_size = 1e-2,
};
