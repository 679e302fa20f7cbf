/* Both spring-dampers of a flyball governor, without mass: tau = -F l_a on each arm, F_s = -2 F l_s on the slider. */
#include "model.h"

enum { TIME, alpha, alphaDot, s, sDot, tau, F_s, K, C, l0, COUNT };

static const double H = 1.0, b = 0.5;

static const Variable variables[COUNT] = {
    [TIME] = TIME_VARIABLE,
    [alpha] = {"alpha", INPUT, .unit = "rad", .start = 0.52359877559829887, .nominal = 0.5},
    [alphaDot] = {"alphaDot", INPUT, .unit = "rad/s"},
    [s] = {"s", INPUT, .unit = "m", .start = 0.5, .nominal = 0.5},
    [sDot] = {"sDot", INPUT, .unit = "m/s"},
    [tau] = {"tau", OUTPUT, .unit = "N.m", .nominal = 20},
    [F_s] = {"F_s", OUTPUT, .unit = "N", .nominal = 50},
    [K] = {"K", TUNABLE_PARAMETER, .unit = "N/m", .start = 8e5},
    [C] = {"C", TUNABLE_PARAMETER, .unit = "N.s/m", .start = 4e4},
    [l0] = {"l0", TUNABLE_PARAMETER, .unit = "m", .start = 0.5},
};

/* clang-format off */
static const Dependency dependencies[] = {
    {tau, alpha, DEPENDENT}, {tau, alphaDot, DEPENDENT}, {tau, s, DEPENDENT}, {tau, sDot, DEPENDENT},
    {tau, K, DEPENDENT}, {tau, C, DEPENDENT}, {tau, l0, DEPENDENT},
    {F_s, alpha, DEPENDENT}, {F_s, alphaDot, DEPENDENT}, {F_s, s, DEPENDENT}, {F_s, sDot, DEPENDENT},
    {F_s, K, DEPENDENT}, {F_s, C, DEPENDENT}, {F_s, l0, DEPENDENT},
};
/* clang-format on */

INITIAL_STATES(v)
{
    (void)v;
}

EQUATIONS(v)
{
    const Number d = H - v[s] - b * sin(v[alpha]), across = b * cos(v[alpha]);
    const Number l = sqrt(across * across + d * d);
    const Number l_a = -across * (H - v[s]) / l, l_s = -d / l;
    const Number F = v[K] * (l - v[l0]) + v[C] * (l_a * v[alphaDot] + l_s * v[sDot]);
    v[tau] = -F * l_a;
    v[F_s] = -2 * F * l_s;
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
