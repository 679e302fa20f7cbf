/* A mass that slides without friction along a slope, moved by two forces and its weight.
 *
 *     m (a + g sin(theta)) = F + f,    s' = v,    v' = a
 */
#include "model.h"

enum { TIME, F, f, s, v_, a, der_s, der_v, m, g, theta, s0, v0, COUNT };

static const Variable variables[COUNT] = {
    [TIME] = TIME_VARIABLE,
    [F] = {"F", INPUT, .unit = "N", .nominal = 10, .description = "force from outside"},
    [f] = {"f", INPUT, .unit = "N", .nominal = 10, .description = "force of the spring-damper"},
    [s] = {"s", OUTPUT, .unit = "m", .nominal = 0.1, .description = "position, up the slope"},
    [v_] = {"v", OUTPUT, .unit = "m/s", .description = "velocity"},
    [a] = {"a", OUTPUT, .unit = "m/s2", .nominal = 10, .description = "acceleration"},
    [der_s] = {"der(s)", LOCAL, .derivative_of = s, .unit = "m/s", .description = "time derivative of s"},
    [der_v] = {"der(v)", LOCAL, .derivative_of = v_, .unit = "m/s2", .nominal = 10,
               .description = "time derivative of v"},
    [m] = {"m", TUNABLE_PARAMETER, .unit = "kg", .start = 1, .description = "mass"},
    [g] = {"g", TUNABLE_PARAMETER, .unit = "m/s2", .start = 9.81, .nominal = 10, .description = "gravity"},
    [theta] = {"theta", TUNABLE_PARAMETER, .unit = "rad", .description = "angle of the slope, 0 if level"},
    [s0] = {"s0", FIXED_PARAMETER, .unit = "m", .nominal = 0.1, .description = "position at the start"},
    [v0] = {"v0", FIXED_PARAMETER, .unit = "m/s", .description = "velocity at the start"},
};

static const Dependency initial_dependencies[] = {{s, s0, CONSTANT}, {v_, v0, CONSTANT}};

/* clang-format off */
static const Dependency dependencies[] = {
    {a, F, TUNABLE}, {a, f, TUNABLE}, {a, m, DEPENDENT}, {a, g, TUNABLE}, {a, theta, DEPENDENT},
    {der_s, v_, CONSTANT},
    {der_v, a, CONSTANT},
};
/* clang-format on */

INITIAL_STATES(v)
{
    v[s] = v[s0];
    v[v_] = v[v0];
}

EQUATIONS(v)
{
    v[a] = (v[F] + v[f]) / v[m] - v[g] * sin(v[theta]);
    v[der_s] = v[v_];
    v[der_v] = v[a];
}

MODEL = {
    .name = "SlidingMass",
    .description = "A mass that slides along a slope",
    .variables = variables,
    .variable_count = COUNT,
    .dependencies = dependencies,
    .dependency_count = ROWS(dependencies),
    .initial_dependencies = initial_dependencies,
    .initial_dependency_count = ROWS(initial_dependencies),
    .stop_time = 5,
    .step_size = 1e-3,
};
