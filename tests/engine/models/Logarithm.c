/* y = u - k (log(u) - c): fed back, u = exp(c). Defined for u > 0 only. */
#include "model.h"

enum { TIME, u, y, k, c, COUNT };

static const Variable variables[COUNT] = {
    [TIME] = TIME_VARIABLE,
    [u] = {"u", INPUT, .unit = "1", .start = 1},
    [y] = {"y", OUTPUT, .unit = "1"},
    [k] = {"k", TUNABLE_PARAMETER, .unit = "1", .start = 1},
    [c] = {"c", TUNABLE_PARAMETER, .unit = "1", .start = -1},
};

static const Dependency dependencies[] = {{y, u, DEPENDENT}, {y, k, DEPENDENT}, {y, c, DEPENDENT}};

INITIAL_STATES(v)
{
    (void)v;
}

EQUATIONS(v)
{
    v[y] = v[u] - v[k] * (log(v[u]) - v[c]);
}

MODEL = {
    .name = "Logarithm",
    .description = "A logarithm",
    .variables = variables,
    .variable_count = COUNT,
    .dependencies = dependencies,
    .dependency_count = ROWS(dependencies),
    .stop_time = 1,
    .step_size = 1e-2,
};
