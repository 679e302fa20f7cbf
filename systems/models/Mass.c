/* A mass that a force moves: m v' = F, z' = v. */
#include "model.h"

enum { TIME, F, z, v_, der_z, der_v, m, COUNT };

static const Variable variables[COUNT] = {
    [TIME] = TIME_VARIABLE,
    [F] = {"F", INPUT, .unit = "N", .nominal = 0.1, .description = "force on the mass"},
    [z] = {"z", OUTPUT, EXACT, .unit = "m", .start = 0.0016, .nominal = 1e-3, .description = "position"},
    [v_] = {"v", OUTPUT, EXACT, .unit = "m/s", .nominal = 0.05, .description = "velocity"},
    [der_z] = {"der(z)", LOCAL, .derivative_of = z, .unit = "m/s", .nominal = 0.05},
    [der_v] = {"der(v)", LOCAL, .derivative_of = v_, .unit = "m/s2", .nominal = 3},
    [m] = {"m", TUNABLE_PARAMETER, .unit = "kg", .start = 0.03575},
};

static const Dependency dependencies[] = {{der_z, v_, CONSTANT}, {der_v, F, TUNABLE}, {der_v, m, DEPENDENT}};

INITIAL_STATES(v)
{
    (void)v;
}

EQUATIONS(v)
{
    v[der_z] = v[v_];
    v[der_v] = v[F] / v[m];
}

MODEL = {
    .name = "Mass",
    .description = "A mass",
    .variables = variables,
    .variable_count = COUNT,
    .dependencies = dependencies,
    .dependency_count = ROWS(dependencies),
    .stop_time = 1,
    .step_size = 1e-3,
};
