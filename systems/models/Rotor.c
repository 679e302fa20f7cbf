/* All of a flyball governor that turns as one: Spindle and Arms, cut off at the couplers.
 *
 *     h' = 0,    Omega = h/(J_hub + 2 J_a(alpha))
 *     I_h alpha'' = J_a'(alpha) Omega^2/2 + G cos(alpha) + tau
 */
#include "flyball_governor.h"

/* clang-format off */
enum {
    TIME, tau, alpha, alphaDot, Omega, h, der_alpha, der_alphaDot, der_h,
    L, w, a, m_r, m_p, m_s, B, g, Omega0, alpha0, COUNT
};
/* clang-format on */

static const Variable variables[COUNT] = {
    [TIME] = TIME_VARIABLE,
    [tau] = {"tau", INPUT, .unit = "N.m", .nominal = 20, .description = "torque of one coupler on one arm"},
    [alpha] = {"alpha", OUTPUT, .unit = "rad", .nominal = 0.5, .description = "angle of the arms below the horizontal"},
    [alphaDot] = {"alphaDot", OUTPUT, EXACT, .unit = "rad/s", .description = "angular velocity of the arms"},
    [Omega] = {"Omega", OUTPUT, .unit = "rad/s", .nominal = 5, .description = "angular velocity of the shaft"},
    [h] = {"h", OUTPUT, .unit = "kg.m2/s", .nominal = 50, .description = "angular momentum about the axis"},
    [der_alpha] = {"der(alpha)", LOCAL, .derivative_of = alpha, .unit = "rad/s",
                   .description = "time derivative of alpha"},
    [der_alphaDot] = {"der(alphaDot)", LOCAL, .derivative_of = alphaDot, .unit = "rad/s2", .nominal = 5,
                      .description = "time derivative of alphaDot"},
    [der_h] = {"der(h)", LOCAL, .derivative_of = h, .unit = "N.m", .description = "time derivative of h"},
    [L] = {"L", FIXED_PARAMETER, .unit = "m", .start = 1, .description = "length of an arm"},
    [w] = {"w", FIXED_PARAMETER, .unit = "m", .start = 0.01, .nominal = 0.01, .description = "width of arms and shaft"},
    [a] = {"a", FIXED_PARAMETER, .unit = "m", .start = 0.05, .nominal = 0.05,
           .description = "distance of the hinges from the axis"},
    [m_r] = {"m_r", FIXED_PARAMETER, .unit = "kg", .start = 0.3,
             .description = "mass of an arm without its ball, and of the shaft"},
    [m_p] = {"m_p", FIXED_PARAMETER, .unit = "kg", .start = 5, .description = "mass of a ball"},
    [m_s] = {"m_s", FIXED_PARAMETER, .unit = "kg", .start = 3, .description = "mass of the slider"},
    [B] = {"B", FIXED_PARAMETER, .unit = "m", .start = 0.1, .nominal = 0.1, .description = "side of the slider"},
    [g] = {"g", FIXED_PARAMETER, .unit = "m/s2", .start = 9.81, .nominal = 10, .description = "gravity"},
    [Omega0] = {"Omega0", FIXED_PARAMETER, .unit = "rad/s", .start = 6.2831853071795862, .nominal = 5,
                .description = "angular velocity of the shaft at the start"},
    [alpha0] = {"alpha0", FIXED_PARAMETER, .unit = "rad", .start = 0.52359877559829887, .nominal = 0.5,
                .description = "angle of the arms at the start"},
};

/* At the start Omega is Omega0, whatever the angle of the arms. */
/* clang-format off */
static const Dependency initial_dependencies[] = {
    {alpha, alpha0, CONSTANT},
    {h, alpha0, DEPENDENT}, {h, Omega0, DEPENDENT}, {h, L, DEPENDENT}, {h, w, DEPENDENT}, {h, a, DEPENDENT},
    {h, m_r, DEPENDENT}, {h, m_p, DEPENDENT}, {h, m_s, DEPENDENT}, {h, B, DEPENDENT},
    {Omega, Omega0, CONSTANT},
};

static const Dependency dependencies[] = {
    {Omega, h, DEPENDENT}, {Omega, alpha, DEPENDENT}, {Omega, L, DEPENDENT}, {Omega, w, DEPENDENT},
    {Omega, a, DEPENDENT}, {Omega, m_r, DEPENDENT}, {Omega, m_p, DEPENDENT}, {Omega, m_s, DEPENDENT},
    {Omega, B, DEPENDENT},
    {der_alpha, alphaDot, CONSTANT},
    {der_alphaDot, alpha, DEPENDENT}, {der_alphaDot, Omega, DEPENDENT}, {der_alphaDot, tau, FIXED},
    {der_alphaDot, L, DEPENDENT}, {der_alphaDot, w, DEPENDENT}, {der_alphaDot, a, DEPENDENT},
    {der_alphaDot, m_r, DEPENDENT}, {der_alphaDot, m_p, DEPENDENT}, {der_alphaDot, g, DEPENDENT},
};
/* clang-format on */

static inline Number moment(Number v[], Number angle) /* of everything about the axis [kg.m2] */
{
    const Arm arm = {v[L], v[w], v[a], v[m_r], v[m_p]};
    return hub_moment(v[m_r], v[w], v[m_s], v[B]) + 2 * axis_moment(arm, angle);
}

INITIAL_STATES(v)
{
    v[alpha] = v[alpha0];
    v[h] = moment(v, v[alpha0]) * v[Omega0];
}

EQUATIONS(v)
{
    const Arm arm = {v[L], v[w], v[a], v[m_r], v[m_p]};
    v[Omega] = v[h] / moment(v, v[alpha]);
    v[der_alpha] = v[alphaDot];
    v[der_alphaDot] = arm_acceleration(arm, v[g], v[alpha], v[Omega], v[tau]);
    v[der_h] = 0;
}

MODEL = {
    .name = "Rotor",
    .description = "Shaft, arms and balls of a flyball governor",
    .variables = variables,
    .variable_count = COUNT,
    .dependencies = dependencies,
    .dependency_count = ROWS(dependencies),
    .initial_dependencies = initial_dependencies,
    .initial_dependency_count = ROWS(initial_dependencies),
    .stop_time = 10,
    .step_size = 1e-3,
};
