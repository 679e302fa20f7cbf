/* The slider of a flyball governor, up and down its shaft: m_s s'' = F_s - m_s g. */
#include "model.h"

enum { TIME, F_s, s, sDot, der_s, der_sDot, m_s, g, s0, sDot0, COUNT };

static const Variable variables[COUNT] = {
    [TIME] = TIME_VARIABLE,
    [F_s] = {"F_s", INPUT, .unit = "N", .nominal = 50, .description = "force of both couplers, upwards"},
    [s] = {"s", OUTPUT, .unit = "m", .nominal = 0.5, .description = "height"},
    [sDot] = {"sDot", OUTPUT, .unit = "m/s", .description = "velocity, upwards"},
    [der_s] = {"der(s)", LOCAL, .derivative_of = s, .unit = "m/s", .description = "time derivative of s"},
    [der_sDot] = {"der(sDot)", LOCAL, .derivative_of = sDot, .unit = "m/s2", .nominal = 5,
                  .description = "time derivative of sDot"},
    [m_s] = {"m_s", FIXED_PARAMETER, .unit = "kg", .start = 3, .description = "mass"},
    [g] = {"g", FIXED_PARAMETER, .unit = "m/s2", .start = 9.81, .nominal = 10, .description = "gravity"},
    [s0] = {"s0", FIXED_PARAMETER, .unit = "m", .start = 0.5, .nominal = 0.5, .description = "height at the start"},
    [sDot0] = {"sDot0", FIXED_PARAMETER, .unit = "m/s", .description = "velocity at the start"},
};

static const Dependency initial_dependencies[] = {{s, s0, CONSTANT}, {sDot, sDot0, CONSTANT}};

static const Dependency dependencies[] = {
    {der_s, sDot, CONSTANT},
    {der_sDot, F_s, FIXED},
    {der_sDot, m_s, DEPENDENT},
    {der_sDot, g, CONSTANT},
};

INITIAL_STATES(v)
{
    v[s] = v[s0];
    v[sDot] = v[sDot0];
}

EQUATIONS(v)
{
    v[der_s] = v[sDot];
    v[der_sDot] = v[F_s] / v[m_s] - v[g];
}

MODEL = {
    .name = "Slider",
    .description = "The slider of a flyball governor",
    .variables = variables,
    .variable_count = COUNT,
    .dependencies = dependencies,
    .dependency_count = ROWS(dependencies),
    .initial_dependencies = initial_dependencies,
    .initial_dependency_count = ROWS(initial_dependencies),
    .stop_time = 10,
    .step_size = 1e-3,
};
