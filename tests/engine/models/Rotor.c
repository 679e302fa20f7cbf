/* The rotating part of a flyball governor, split off at the couplers: shaft, slider as a hub, two arms with balls.
 * h' = 0, W = h/(J_hub + 2 J_a(alpha)), I_h alpha'' = J_a' W^2/2 + G cos(alpha) + tau. */
#include "model.h"

enum { TIME, tau, alpha, alphaDot, W, h, der_alpha, der_alphaDot, der_h, COUNT };

static const double L = 1.0, a = 0.05, g = 9.81, m_r = 0.3, m_p = 5.0, m_s = 3.0, w = 0.01, B = 0.1;

static const Variable variables[COUNT] = {
    [TIME] = TIME_VARIABLE,
    [tau] = {"tau", INPUT, .unit = "N.m", .nominal = 20, .description = "torque of one coupler on one arm"},
    [alpha] = {"alpha", OUTPUT, EXACT, .unit = "rad", .start = 0.52359877559829887, .nominal = 0.5},
    [alphaDot] = {"alphaDot", OUTPUT, EXACT, .unit = "rad/s"},
    [W] = {"W", OUTPUT, .unit = "rad/s", .nominal = 5},
    [h] = {"h", LOCAL, EXACT, .unit = "kg.m2/s", .start = 53.868998658418, .nominal = 50},
    [der_alpha] = {"der(alpha)", LOCAL, .derivative_of = alpha, .unit = "rad/s"},
    [der_alphaDot] = {"der(alphaDot)", LOCAL, .derivative_of = alphaDot, .unit = "rad/s2", .nominal = 5},
    [der_h] = {"der(h)", LOCAL, .derivative_of = h, .unit = "N.m"},
};

static const Dependency dependencies[] = {
    {W, h, DEPENDENT},
    {W, alpha, DEPENDENT},
    {der_alpha, alphaDot, CONSTANT},
    {der_alphaDot, W, DEPENDENT},
    {der_alphaDot, alpha, DEPENDENT},
    {der_alphaDot, tau, CONSTANT},
};

INITIAL_STATES(v)
{
    (void)v;
}

EQUATIONS(v)
{
    const double J_x = m_r * w * w / 6, J_t = m_r * (L * L + w * w) / 12;
    const double I_h = J_t + m_r * L * L / 4 + m_p * L * L, J_hub = m_r * w * w / 6 + m_s * B * B / 6;
    const double G = g * (m_r * L / 2 + m_p * L);
    const Number c = cos(v[alpha]), s = sin(v[alpha]);
    const Number middle = a + L / 2 * c, end = a + L * c;
    const Number J_a = m_r * middle * middle + J_x * s * s + J_t * c * c + m_p * end * end;
    const Number slope = -2 * L * s * (m_r / 2 * middle + m_p * end) + 2 * s * c * (J_x - J_t);
    v[W] = v[h] / (J_hub + 2 * J_a);
    v[der_alpha] = v[alphaDot];
    v[der_alphaDot] = (slope * v[W] * v[W] / 2 + G * c + v[tau]) / I_h;
    v[der_h] = 0;
}

MODEL = {
    .name = "Rotor",
    .description = "Shaft, arms and balls of a flyball governor",
    .variables = variables,
    .variable_count = COUNT,
    .dependencies = dependencies,
    .dependency_count = ROWS(dependencies),
    .stop_time = 10,
    .step_size = 1e-3,
};
