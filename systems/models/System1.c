/* System1 of the dual-mass oscillator: mass 1 on spring 1 and damper 1, pulled by spring 2.
 *
 *     m1 a1 = F - k1 x1 - c1 v1
 */
#include "model.h"

enum { TIME, F, x1, v1, a1, der_x1, der_v1, m1, k1, c1, x1_start, COUNT };

static const Variable variables[COUNT] = {
    [TIME] = TIME_VARIABLE,
    [F] = {"F", INPUT, .unit = "N", .nominal = 5, .description = "force of spring and damper 2 on mass 1"},
    [x1] = {"x1", OUTPUT, .unit = "m", .nominal = 0.5, .description = "position of mass 1"},
    [v1] = {"v1", OUTPUT, EXACT, .unit = "m/s", .nominal = 1, .description = "velocity of mass 1"},
    [a1] = {"a1", OUTPUT, .unit = "m/s2", .nominal = 5, .description = "acceleration of mass 1"},
    [der_x1] = {"der(x1)", LOCAL, .derivative_of = x1, .unit = "m/s", .nominal = 1,
                .description = "time derivative of x1"},
    [der_v1] = {"der(v1)", LOCAL, .derivative_of = v1, .unit = "m/s2", .nominal = 5,
                .description = "time derivative of v1"},
    [m1] = {"m1", TUNABLE_PARAMETER, .unit = "kg", .start = 1, .description = "mass 1"},
    [k1] = {"k1", TUNABLE_PARAMETER, .unit = "N/m", .start = 10, .nominal = 10, .description = "stiffness of spring 1"},
    [c1] = {"c1", TUNABLE_PARAMETER, .unit = "N.s/m", .start = 0.2, .description = "damping of damper 1"},
    [x1_start] = {"x1_start", FIXED_PARAMETER, .unit = "m", .start = 0, .nominal = 0.5,
                  .description = "x1 at the start"},
};

static const Dependency initial_dependencies[] = {{x1, x1_start, CONSTANT}};

/* clang-format off */
static const Dependency dependencies[] = {
    {a1, F, TUNABLE}, {a1, x1, TUNABLE}, {a1, v1, TUNABLE},
    {a1, m1, DEPENDENT}, {a1, k1, DEPENDENT}, {a1, c1, DEPENDENT},
    {der_x1, v1, CONSTANT},
    {der_v1, a1, CONSTANT},
};
/* clang-format on */

INITIAL_STATES(v)
{
    v[x1] = v[x1_start];
}

EQUATIONS(v)
{
    v[a1] = (v[F] - v[k1] * v[x1] - v[c1] * v[v1]) / v[m1];
    v[der_x1] = v[v1];
    v[der_v1] = v[a1];
}

MODEL = {
    .name = "System1",
    .description = "Mass 1 of the dual-mass oscillator with spring and damper 1",
    .variables = variables,
    .variable_count = COUNT,
    .dependencies = dependencies,
    .dependency_count = ROWS(dependencies),
    .initial_dependencies = initial_dependencies,
    .initial_dependency_count = ROWS(initial_dependencies),
    .stop_time = 10,
    .step_size = 1e-3,
};
