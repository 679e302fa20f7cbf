/* A falling mass on a spring and a damper that takes start values of position, velocity and, redundantly, acceleration:
 * it claims to take a as exact, and computes it. */
#include "model.h"

enum { TIME, s, v_, a, rest, der_s, der_v, c, d, g, COUNT };

static const Variable variables[COUNT] = {
    [TIME] = TIME_VARIABLE,
    [s] = {"s", OUTPUT, EXACT, .unit = "m", .start = 0.3},
    [v_] = {"v", OUTPUT, EXACT, .unit = "m/s"},
    [a] = {"a", OUTPUT, EXACT, .unit = "m/s2", .discrete = true},
    [rest] = {"rest", LOCAL, .unit = "m"},
    [der_s] = {"der(s)", LOCAL, .derivative_of = s, .unit = "m/s"},
    [der_v] = {"der(v)", LOCAL, .derivative_of = v_, .unit = "m/s2"},
    [c] = {"c", TUNABLE_PARAMETER, .unit = "N/m", .start = 50},
    [d] = {"d", TUNABLE_PARAMETER, .unit = "N.s/m", .start = 4},
    [g] = {"g", TUNABLE_PARAMETER, .unit = "m/s2", .start = 10},
};

/* clang-format off */
static const Dependency dependencies[] = {
    {rest, g, TUNABLE}, {rest, c, DEPENDENT},
    {der_s, v_, CONSTANT},
    {der_v, s, TUNABLE}, {der_v, v_, TUNABLE}, {der_v, g, TUNABLE}, {der_v, c, DEPENDENT}, {der_v, d, DEPENDENT},
};
/* clang-format on */

INITIAL_STATES(v)
{
    v[a] = -v[c] * v[s] - v[d] * v[v_] - v[g];
}

EQUATIONS(v)
{
    v[rest] = -v[g] / v[c];
    v[der_s] = v[v_];
    v[der_v] = -v[c] * v[s] - v[d] * v[v_] - v[g];
}

MODEL = {
    .name = "Redundant",
    .description = "A mass with one start value too many",
    .variables = variables,
    .variable_count = COUNT,
    .dependencies = dependencies,
    .dependency_count = ROWS(dependencies),
    .stop_time = 1,
    .step_size = 1e-2,
};
