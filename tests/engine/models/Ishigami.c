/* y = sin x1 + a sin^2 x2 + b x3^4 sin x1, whose sensitivities are known (Ishigami and Homma 1990). */
#include "model.h"

enum { TIME, y, x1, x2, x3, a, b, COUNT };

static const Variable variables[COUNT] = {
    [TIME] = TIME_VARIABLE,
    [y] = {"y", OUTPUT, .unit = "1"},
    [x1] = {"x1", TUNABLE_PARAMETER, .unit = "1"},
    [x2] = {"x2", TUNABLE_PARAMETER, .unit = "1"},
    [x3] = {"x3", TUNABLE_PARAMETER, .unit = "1"},
    [a] = {"a", TUNABLE_PARAMETER, .unit = "1", .start = 7},
    [b] = {"b", TUNABLE_PARAMETER, .unit = "1", .start = 0.1},
};

static const Dependency dependencies[] = {
    {y, x1, DEPENDENT}, {y, x2, DEPENDENT}, {y, x3, DEPENDENT}, {y, a, DEPENDENT}, {y, b, DEPENDENT},
};

INITIAL_STATES(v)
{
    (void)v;
}

EQUATIONS(v)
{
    v[y] = sin(v[x1]) + v[a] * sin(v[x2]) * sin(v[x2]) + v[b] * v[x3] * v[x3] * v[x3] * v[x3] * sin(v[x1]);
}

MODEL = {
    .name = "Ishigami",
    .description = "A function of three parameters",
    .variables = variables,
    .variable_count = COUNT,
    .dependencies = dependencies,
    .dependency_count = ROWS(dependencies),
    .stop_time = 1,
    .step_size = 1,
};
