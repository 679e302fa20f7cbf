/* The sliding collar of a flyball governor: m s'' = F_s - m g. */
#include "model.h"

enum { TIME, F_s, s, sDot, der_s, der_sDot, m, COUNT };

static const Variable variables[COUNT] = {
    [TIME] = TIME_VARIABLE,
    [F_s] = {"F_s", INPUT, .unit = "N", .nominal = 50},
    [s] = {"s", OUTPUT, EXACT, .unit = "m", .start = 0.5, .nominal = 0.5},
    [sDot] = {"sDot", OUTPUT, EXACT, .unit = "m/s"},
    [der_s] = {"der(s)", LOCAL, .derivative_of = s, .unit = "m/s"},
    [der_sDot] = {"der(sDot)", LOCAL, .derivative_of = sDot, .unit = "m/s2", .nominal = 5},
    [m] = {"m", TUNABLE_PARAMETER, .unit = "kg", .start = 3},
};

static const Dependency dependencies[] = {{der_s, sDot, CONSTANT}, {der_sDot, F_s, TUNABLE}, {der_sDot, m, DEPENDENT}};

INITIAL_STATES(v)
{
    (void)v;
}

EQUATIONS(v)
{
    v[der_s] = v[sDot];
    v[der_sDot] = v[F_s] / v[m] - 9.81;
}

MODEL = {
    .name = "Slider",
    .description = "The collar of a flyball governor",
    .variables = variables,
    .variable_count = COUNT,
    .dependencies = dependencies,
    .dependency_count = ROWS(dependencies),
    .stop_time = 10,
    .step_size = 1e-3,
};
