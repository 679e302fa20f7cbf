/* Two arms of a flyball governor with balls at their ends, in the plane that turns with the shaft.
 *
 *     I_h alpha'' = J_a'(alpha) Omega^2/2 + G cos(alpha) + tau,    J_arms = 2 J_a(alpha)
 *
 * Both arms move alike; alpha is their angle below the horizontal, and tau acts on each of them.
 */
#include "flyball_governor.h"

/* clang-format off */
enum {
    TIME, Omega, tau, alpha, alphaDot, J_arms, der_alpha, der_alphaDot, L, w, a, m_r, m_p, g, alpha0, alphaDot0, COUNT
};
/* clang-format on */

static const Variable variables[COUNT] = {
    [TIME] = TIME_VARIABLE,
    [Omega] = {"Omega", INPUT, .unit = "rad/s", .nominal = 5, .description = "angular velocity of the shaft"},
    [tau] = {"tau", INPUT, .unit = "N.m", .nominal = 20, .description = "torque of one coupler on one arm"},
    [alpha] = {"alpha", OUTPUT, .unit = "rad", .nominal = 0.5, .description = "angle of the arms below the horizontal"},
    [alphaDot] = {"alphaDot", OUTPUT, .unit = "rad/s", .description = "angular velocity of the arms"},
    [J_arms] = {"J_arms", OUTPUT, .unit = "kg.m2", .nominal = 10,
                .description = "moment of inertia of both arms about the axis"},
    [der_alpha] = {"der(alpha)", LOCAL, .derivative_of = alpha, .unit = "rad/s",
                   .description = "time derivative of alpha"},
    [der_alphaDot] = {"der(alphaDot)", LOCAL, .derivative_of = alphaDot, .unit = "rad/s2", .nominal = 5,
                      .description = "time derivative of alphaDot"},
    [L] = {"L", FIXED_PARAMETER, .unit = "m", .start = 1, .description = "length of an arm"},
    [w] = {"w", FIXED_PARAMETER, .unit = "m", .start = 0.01, .nominal = 0.01, .description = "width of an arm"},
    [a] = {"a", FIXED_PARAMETER, .unit = "m", .start = 0.05, .nominal = 0.05,
           .description = "distance of the hinges from the axis"},
    [m_r] = {"m_r", FIXED_PARAMETER, .unit = "kg", .start = 0.3, .description = "mass of an arm without its ball"},
    [m_p] = {"m_p", FIXED_PARAMETER, .unit = "kg", .start = 5, .description = "mass of a ball"},
    [g] = {"g", FIXED_PARAMETER, .unit = "m/s2", .start = 9.81, .nominal = 10, .description = "gravity"},
    [alpha0] = {"alpha0", FIXED_PARAMETER, .unit = "rad", .start = 0.52359877559829887, .nominal = 0.5,
                .description = "angle of the arms at the start"},
    [alphaDot0] = {"alphaDot0", FIXED_PARAMETER, .unit = "rad/s", .description = "their angular velocity at the start"},
};

static const Dependency initial_dependencies[] = {{alpha, alpha0, CONSTANT}, {alphaDot, alphaDot0, CONSTANT}};

/* clang-format off */
static const Dependency dependencies[] = {
    {J_arms, alpha, DEPENDENT}, {J_arms, L, DEPENDENT}, {J_arms, w, DEPENDENT}, {J_arms, a, DEPENDENT},
    {J_arms, m_r, DEPENDENT}, {J_arms, m_p, DEPENDENT},
    {der_alpha, alphaDot, CONSTANT},
    {der_alphaDot, alpha, DEPENDENT}, {der_alphaDot, Omega, DEPENDENT}, {der_alphaDot, tau, FIXED},
    {der_alphaDot, L, DEPENDENT}, {der_alphaDot, w, DEPENDENT}, {der_alphaDot, a, DEPENDENT},
    {der_alphaDot, m_r, DEPENDENT}, {der_alphaDot, m_p, DEPENDENT}, {der_alphaDot, g, DEPENDENT},
};
/* clang-format on */

INITIAL_STATES(v)
{
    v[alpha] = v[alpha0];
    v[alphaDot] = v[alphaDot0];
}

EQUATIONS(v)
{
    const Arm arm = {v[L], v[w], v[a], v[m_r], v[m_p]};
    v[J_arms] = 2 * axis_moment(arm, v[alpha]);
    v[der_alpha] = v[alphaDot];
    v[der_alphaDot] = arm_acceleration(arm, v[g], v[alpha], v[Omega], v[tau]);
}

MODEL = {
    .name = "Arms",
    .description = "The arms and balls of a flyball governor",
    .variables = variables,
    .variable_count = COUNT,
    .dependencies = dependencies,
    .dependency_count = ROWS(dependencies),
    .initial_dependencies = initial_dependencies,
    .initial_dependency_count = ROWS(initial_dependencies),
    .stop_time = 10,
    .step_size = 1e-3,
};
