/* A flange that does not move: s = s0, v = 0. */
#include "model.h"

enum { TIME, s, v_, s0, COUNT };

static const Variable variables[COUNT] = {
    [TIME] = TIME_VARIABLE,
    [s] = {"s", OUTPUT, .unit = "m", .nominal = 0.1, .description = "position"},
    [v_] = {"v", OUTPUT, .unit = "m/s", .description = "velocity, 0"},
    [s0] = {"s0", TUNABLE_PARAMETER, .unit = "m", .nominal = 0.1, .description = "position"},
};

static const Dependency dependencies[] = {{s, s0, DEPENDENT}};

INITIAL_STATES(v)
{
    (void)v;
}

EQUATIONS(v)
{
    v[s] = v[s0];
    v[v_] = 0;
}

MODEL = {
    .name = "Wall",
    .description = "A flange that does not move",
    .variables = variables,
    .variable_count = COUNT,
    .dependencies = dependencies,
    .dependency_count = ROWS(dependencies),
    .stop_time = 5,
    .step_size = 1e-3,
};
