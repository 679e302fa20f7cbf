/* Both spring-dampers between the arms of a flyball governor and its slider, without mass.
 *
 *     l = sqrt(b^2 cos^2(alpha) + (H - s - b sin(alpha))^2),    F = K (l - l0) + C l'
 *     tau = -F dl/dalpha on each arm,    F_s = -2 F dl/ds on the slider
 */
#include "flyball_governor.h"

enum { TIME, alpha, alphaDot, s, sDot, tau, F_s, F, l, b, H, K, C, l0, COUNT };

static const Variable variables[COUNT] = {
    [TIME] = TIME_VARIABLE,
    [alpha] = {"alpha", INPUT, .unit = "rad", .start = 0.52359877559829887, .nominal = 0.5,
               .description = "angle of the arms below the horizontal"},
    [alphaDot] = {"alphaDot", INPUT, .unit = "rad/s", .description = "angular velocity of the arms"},
    [s] = {"s", INPUT, .unit = "m", .start = 0.5, .nominal = 0.5, .description = "height of the slider"},
    [sDot] = {"sDot", INPUT, .unit = "m/s", .description = "velocity of the slider"},
    [tau] = {"tau", OUTPUT, .unit = "N.m", .nominal = 20, .description = "torque of one coupler on one arm"},
    [F_s] = {"F_s", OUTPUT, .unit = "N", .nominal = 50, .description = "force of both couplers on the slider"},
    [F] = {"F", OUTPUT, .unit = "N", .nominal = 50, .description = "tension of one coupler"},
    [l] = {"l", OUTPUT, .unit = "m", .nominal = 0.5, .description = "length of one coupler"},
    [b] = {"b", FIXED_PARAMETER, .unit = "m", .start = 0.5, .nominal = 0.5,
           .description = "distance of the coupler from the hinge, along the arm"},
    [H] = {"H", FIXED_PARAMETER, .unit = "m", .start = 1, .description = "height of the hinges"},
    [K] = {"K", TUNABLE_PARAMETER, .unit = "N/m", .start = 8e5, .nominal = 8e5, .description = "stiffness"},
    [C] = {"C", TUNABLE_PARAMETER, .unit = "N.s/m", .start = 4e4, .nominal = 4e4, .description = "damping"},
    [l0] = {"l0", FIXED_PARAMETER, .unit = "m", .start = 0.5, .nominal = 0.5, .description = "length without tension"},
};

/* clang-format off */
static const Dependency dependencies[] = {
    {l, alpha, DEPENDENT}, {l, s, DEPENDENT}, {l, b, DEPENDENT}, {l, H, DEPENDENT},
    {F, alpha, DEPENDENT}, {F, alphaDot, DEPENDENT}, {F, s, DEPENDENT}, {F, sDot, DEPENDENT},
    {F, b, DEPENDENT}, {F, H, DEPENDENT}, {F, K, DEPENDENT}, {F, C, DEPENDENT}, {F, l0, DEPENDENT},
    {tau, F, DEPENDENT}, {tau, alpha, DEPENDENT}, {tau, s, DEPENDENT}, {tau, b, DEPENDENT}, {tau, H, DEPENDENT},
    {F_s, F, DEPENDENT}, {F_s, alpha, DEPENDENT}, {F_s, s, DEPENDENT}, {F_s, b, DEPENDENT}, {F_s, H, DEPENDENT},
};
/* clang-format on */

INITIAL_STATES(v)
{
    (void)v;
}

EQUATIONS(v)
{
    const Strut strut = {v[b], v[H], v[K], v[C], v[l0]};
    const Pull coupler = pull(strut, v[alpha], v[alphaDot], v[s], v[sDot]);
    v[l] = coupler.l;
    v[F] = coupler.F;
    v[tau] = -coupler.F * coupler.l_alpha;
    v[F_s] = -2 * coupler.F * coupler.l_s;
}

MODEL = {
    .name = "Coupler",
    .description = "The spring-dampers of a flyball governor",
    .variables = variables,
    .variable_count = COUNT,
    .dependencies = dependencies,
    .dependency_count = ROWS(dependencies),
    .stop_time = 10,
    .step_size = 1e-3,
};
