/* The force of a spring and a damper on what they hold: F = -k z - d v. */
#include "model.h"

enum { TIME, z, v_, F, k, d, COUNT };

static const Variable variables[COUNT] = {
    [TIME] = TIME_VARIABLE,
    [z] = {"z", INPUT, .unit = "m", .nominal = 1e-3},
    [v_] = {"v", INPUT, .unit = "m/s", .nominal = 0.05},
    [F] = {"F", OUTPUT, .unit = "N", .nominal = 0.1},
    [k] = {"k", TUNABLE_PARAMETER, .unit = "N/m", .start = 69.48},
    [d] = {"d", TUNABLE_PARAMETER, .unit = "N.s/m"},
};

static const Dependency dependencies[] = {{F, z, TUNABLE}, {F, v_, TUNABLE}, {F, k, DEPENDENT}, {F, d, DEPENDENT}};

INITIAL_STATES(v)
{
    (void)v;
}

EQUATIONS(v)
{
    v[F] = -v[k] * v[z] - v[d] * v[v_];
}

MODEL = {
    .name = "SpringDamper",
    .description = "A spring and a damper side by side",
    .variables = variables,
    .variable_count = COUNT,
    .dependencies = dependencies,
    .dependency_count = ROWS(dependencies),
    .stop_time = 1,
    .step_size = 1e-3,
};
