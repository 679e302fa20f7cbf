/* y = u - k (u^3 - 3 u + c): fed back, u solves u^3 - 3 u + c = 0. With c = 3 the only real solution is -2.1038…,
 * and |u^3 - 3 u + c| has a minimum of 1 at u = 1, where a method that only descends stops. */
#include "model.h"

enum { TIME, u, y, k, c, COUNT };

static const Variable variables[COUNT] = {
    [TIME] = TIME_VARIABLE,
    [u] = {"u", INPUT, .unit = "1"},
    [y] = {"y", OUTPUT, .unit = "1"},
    [k] = {"k", TUNABLE_PARAMETER, .unit = "1", .start = 1},
    [c] = {"c", TUNABLE_PARAMETER, .unit = "1", .start = 3},
};

static const Dependency dependencies[] = {{y, u, DEPENDENT}, {y, k, DEPENDENT}, {y, c, DEPENDENT}};

INITIAL_STATES(v)
{
    (void)v;
}

EQUATIONS(v)
{
    v[y] = v[u] - v[k] * (v[u] * v[u] * v[u] - 3 * v[u] + v[c]);
}

MODEL = {
    .name = "Cubic",
    .description = "A cubic function",
    .variables = variables,
    .variable_count = COUNT,
    .dependencies = dependencies,
    .dependency_count = ROWS(dependencies),
    .stop_time = 1,
    .step_size = 1e-2,
};
