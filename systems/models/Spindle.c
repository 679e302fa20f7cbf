/* The turning part of a flyball governor: the shaft, and the slider as a hub on it. It carries the arms, of which it
 * knows the moment of inertia only.
 *
 *     h' = M_ext,    Omega = h/(J_hub + J_arms),    phi' = Omega
 *
 * The angular momentum h is the state, because it stays what it is however the arms move. It starts as
 * (J_hub + J_arms) Omega0, with what the arms are at the start.
 */
#include "flyball_governor.h"

enum { TIME, J_arms, M_ext, Omega, phi, h, der_phi, der_h, m_r, w, m_s, B, Omega0, phi0, COUNT };

static const Variable variables[COUNT] = {
    [TIME] = TIME_VARIABLE,
    [J_arms] = {"J_arms", INPUT, .unit = "kg.m2", .start = 8.5, .nominal = 10,
                .description = "moment of inertia of all arms about the axis"},
    [M_ext] = {"M_ext", INPUT, .unit = "N.m", .description = "torque that drives the shaft"},
    [Omega] = {"Omega", OUTPUT, .unit = "rad/s", .nominal = 5, .description = "angular velocity of the shaft"},
    [phi] = {"phi", OUTPUT, .unit = "rad", .nominal = 10, .description = "angle of the shaft"},
    [h] = {"h", OUTPUT, .unit = "kg.m2/s", .nominal = 50, .description = "angular momentum about the axis"},
    [der_phi] = {"der(phi)", LOCAL, .derivative_of = phi, .unit = "rad/s", .nominal = 5,
                 .description = "time derivative of phi"},
    [der_h] = {"der(h)", LOCAL, .derivative_of = h, .unit = "N.m", .description = "time derivative of h"},
    [m_r] = {"m_r", FIXED_PARAMETER, .unit = "kg", .start = 0.3, .description = "mass of the shaft"},
    [w] = {"w", FIXED_PARAMETER, .unit = "m", .start = 0.01, .nominal = 0.01, .description = "width of the shaft"},
    [m_s] = {"m_s", FIXED_PARAMETER, .unit = "kg", .start = 3, .description = "mass of the slider"},
    [B] = {"B", FIXED_PARAMETER, .unit = "m", .start = 0.1, .nominal = 0.1, .description = "side of the slider"},
    [Omega0] = {"Omega0", FIXED_PARAMETER, .unit = "rad/s", .start = 6.2831853071795862, .nominal = 5,
                .description = "angular velocity at the start"},
    [phi0] = {"phi0", FIXED_PARAMETER, .unit = "rad", .description = "angle at the start"},
};

/* At the start Omega is Omega0, whatever the arms are. */
static const Dependency initial_dependencies[] = {
    {h, J_arms, FIXED},  {h, Omega0, DEPENDENT}, {h, m_r, DEPENDENT},   {h, w, DEPENDENT},
    {h, m_s, DEPENDENT}, {h, B, DEPENDENT},      {phi, phi0, CONSTANT}, {Omega, Omega0, CONSTANT},
};

static const Dependency dependencies[] = {
    {Omega, h, DEPENDENT},   {Omega, J_arms, DEPENDENT}, {Omega, m_r, DEPENDENT},    {Omega, w, DEPENDENT},
    {Omega, m_s, DEPENDENT}, {Omega, B, DEPENDENT},      {der_phi, Omega, CONSTANT}, {der_h, M_ext, CONSTANT},
};

INITIAL_STATES(v)
{
    v[h] = (hub_moment(v[m_r], v[w], v[m_s], v[B]) + v[J_arms]) * v[Omega0];
    v[phi] = v[phi0];
}

EQUATIONS(v)
{
    v[Omega] = v[h] / (hub_moment(v[m_r], v[w], v[m_s], v[B]) + v[J_arms]);
    v[der_phi] = v[Omega];
    v[der_h] = v[M_ext];
}

MODEL = {
    .name = "Spindle",
    .description = "The shaft of a flyball governor, with the slider as a hub",
    .variables = variables,
    .variable_count = COUNT,
    .dependencies = dependencies,
    .dependency_count = ROWS(dependencies),
    .initial_dependencies = initial_dependencies,
    .initial_dependency_count = ROWS(initial_dependencies),
    .stop_time = 10,
    .step_size = 1e-3,
};
