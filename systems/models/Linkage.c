/* All of a flyball governor that moves in the turning plane as one: Arms, Coupler and Slider, cut off at the shaft.
 *
 *     I_h alpha'' = J_a'(alpha) Omega^2/2 + G cos(alpha) - F dl/dalpha,    J_arms = 2 J_a(alpha)
 *     m_s s'' = -2 F dl/ds - m_s g,    F = K (l - l0) + C l'
 *
 * Stiff: the damper slows the slider down in 1.2e-4 s, the arms swing once per second.
 */
#include "flyball_governor.h"

/* clang-format off */
enum {
    TIME, Omega, J_arms, alpha, alphaDot, s, sDot, F, l, der_alpha, der_alphaDot, der_s, der_sDot,
    L, w, a, m_r, m_p, b, H, K, C, l0, m_s, g, alpha0, s0, COUNT
};
/* clang-format on */

static const Variable variables[COUNT] = {
    [TIME] = TIME_VARIABLE,
    [Omega] = {"Omega", INPUT, .unit = "rad/s", .nominal = 5, .description = "angular velocity of the shaft"},
    [J_arms] = {"J_arms", OUTPUT, .unit = "kg.m2", .nominal = 10,
                .description = "moment of inertia of both arms about the axis"},
    [alpha] = {"alpha", OUTPUT, .unit = "rad", .nominal = 0.5, .description = "angle of the arms below the horizontal"},
    [alphaDot] = {"alphaDot", OUTPUT, EXACT, .unit = "rad/s", .description = "angular velocity of the arms"},
    [s] = {"s", OUTPUT, .unit = "m", .nominal = 0.5, .description = "height of the slider"},
    [sDot] = {"sDot", OUTPUT, EXACT, .unit = "m/s", .description = "velocity of the slider, upwards"},
    [F] = {"F", OUTPUT, .unit = "N", .nominal = 50, .description = "tension of one coupler"},
    [l] = {"l", OUTPUT, .unit = "m", .nominal = 0.5, .description = "length of one coupler"},
    [der_alpha] = {"der(alpha)", LOCAL, .derivative_of = alpha, .unit = "rad/s",
                   .description = "time derivative of alpha"},
    [der_alphaDot] = {"der(alphaDot)", LOCAL, .derivative_of = alphaDot, .unit = "rad/s2", .nominal = 5,
                      .description = "time derivative of alphaDot"},
    [der_s] = {"der(s)", LOCAL, .derivative_of = s, .unit = "m/s", .description = "time derivative of s"},
    [der_sDot] = {"der(sDot)", LOCAL, .derivative_of = sDot, .unit = "m/s2", .nominal = 5,
                  .description = "time derivative of sDot"},
    [L] = {"L", FIXED_PARAMETER, .unit = "m", .start = 1, .description = "length of an arm"},
    [w] = {"w", FIXED_PARAMETER, .unit = "m", .start = 0.01, .nominal = 0.01, .description = "width of an arm"},
    [a] = {"a", FIXED_PARAMETER, .unit = "m", .start = 0.05, .nominal = 0.05,
           .description = "distance of the hinges from the axis"},
    [m_r] = {"m_r", FIXED_PARAMETER, .unit = "kg", .start = 0.3, .description = "mass of an arm without its ball"},
    [m_p] = {"m_p", FIXED_PARAMETER, .unit = "kg", .start = 5, .description = "mass of a ball"},
    [b] = {"b", FIXED_PARAMETER, .unit = "m", .start = 0.5, .nominal = 0.5,
           .description = "distance of the coupler from the hinge, along the arm"},
    [H] = {"H", FIXED_PARAMETER, .unit = "m", .start = 1, .description = "height of the hinges"},
    [K] = {"K", TUNABLE_PARAMETER, .unit = "N/m", .start = 8e5, .nominal = 8e5, .description = "stiffness"},
    [C] = {"C", TUNABLE_PARAMETER, .unit = "N.s/m", .start = 4e4, .nominal = 4e4, .description = "damping"},
    [l0] = {"l0", FIXED_PARAMETER, .unit = "m", .start = 0.5, .nominal = 0.5, .description = "length without tension"},
    [m_s] = {"m_s", FIXED_PARAMETER, .unit = "kg", .start = 3, .description = "mass of the slider"},
    [g] = {"g", FIXED_PARAMETER, .unit = "m/s2", .start = 9.81, .nominal = 10, .description = "gravity"},
    [alpha0] = {"alpha0", FIXED_PARAMETER, .unit = "rad", .start = 0.52359877559829887, .nominal = 0.5,
                .description = "angle of the arms at the start"},
    [s0] = {"s0", FIXED_PARAMETER, .unit = "m", .start = 0.5, .nominal = 0.5,
            .description = "height of the slider at the start"},
};

static const Dependency initial_dependencies[] = {{alpha, alpha0, CONSTANT}, {s, s0, CONSTANT}};

/* clang-format off */
static const Dependency dependencies[] = {
    {J_arms, alpha, DEPENDENT}, {J_arms, L, DEPENDENT}, {J_arms, w, DEPENDENT}, {J_arms, a, DEPENDENT},
    {J_arms, m_r, DEPENDENT}, {J_arms, m_p, DEPENDENT},
    {l, alpha, DEPENDENT}, {l, s, DEPENDENT}, {l, b, DEPENDENT}, {l, H, DEPENDENT},
    {F, alpha, DEPENDENT}, {F, alphaDot, DEPENDENT}, {F, s, DEPENDENT}, {F, sDot, DEPENDENT},
    {F, b, DEPENDENT}, {F, H, DEPENDENT}, {F, K, DEPENDENT}, {F, C, DEPENDENT}, {F, l0, DEPENDENT},
    {der_alpha, alphaDot, CONSTANT},
    {der_alphaDot, F, DEPENDENT}, {der_alphaDot, alpha, DEPENDENT}, {der_alphaDot, s, DEPENDENT},
    {der_alphaDot, Omega, DEPENDENT}, {der_alphaDot, L, DEPENDENT}, {der_alphaDot, w, DEPENDENT},
    {der_alphaDot, a, DEPENDENT}, {der_alphaDot, m_r, DEPENDENT}, {der_alphaDot, m_p, DEPENDENT},
    {der_alphaDot, b, DEPENDENT}, {der_alphaDot, H, DEPENDENT}, {der_alphaDot, g, DEPENDENT},
    {der_s, sDot, CONSTANT},
    {der_sDot, F, DEPENDENT}, {der_sDot, alpha, DEPENDENT}, {der_sDot, s, DEPENDENT},
    {der_sDot, b, DEPENDENT}, {der_sDot, H, DEPENDENT}, {der_sDot, m_s, DEPENDENT}, {der_sDot, g, CONSTANT},
};
/* clang-format on */

INITIAL_STATES(v)
{
    v[alpha] = v[alpha0];
    v[s] = v[s0];
}

EQUATIONS(v)
{
    const Arm arm = {v[L], v[w], v[a], v[m_r], v[m_p]};
    const Strut strut = {v[b], v[H], v[K], v[C], v[l0]};
    const Pull coupler = pull(strut, v[alpha], v[alphaDot], v[s], v[sDot]);
    v[J_arms] = 2 * axis_moment(arm, v[alpha]);
    v[l] = coupler.l;
    v[F] = coupler.F;
    v[der_alpha] = v[alphaDot];
    v[der_alphaDot] = arm_acceleration(arm, v[g], v[alpha], v[Omega], -coupler.F * coupler.l_alpha);
    v[der_s] = v[sDot];
    v[der_sDot] = -2 * coupler.F * coupler.l_s / v[m_s] - v[g];
}

MODEL = {
    .name = "Linkage",
    .description = "Arms, couplers and slider of a flyball governor",
    .variables = variables,
    .variable_count = COUNT,
    .dependencies = dependencies,
    .dependency_count = ROWS(dependencies),
    .initial_dependencies = initial_dependencies,
    .initial_dependency_count = ROWS(initial_dependencies),
    .stop_time = 10,
    .step_size = 1e-3,
};
