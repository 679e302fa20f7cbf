/* A rigid body that turns about a fixed axis. It has one torque input for each part that is attached to it, because
 * connections cannot add signals; an input that nothing is connected to stays 0.
 *
 *     J a = tau1 + tau2 + tau3 + tau4,    phi' = w,    w' = a
 */
#include "model.h"

enum { TIME, tau1, tau2, tau3, tau4, phi, w, a, der_phi, der_w, J, phi0, w0, COUNT };

static const Variable variables[COUNT] = {
    [TIME] = TIME_VARIABLE,
    [tau1] = {"tau1", INPUT, .unit = "N.m", .nominal = 10, .description = "torque of the first attached part"},
    [tau2] = {"tau2", INPUT, .unit = "N.m", .nominal = 10, .description = "torque of the second attached part"},
    [tau3] = {"tau3", INPUT, .unit = "N.m", .nominal = 10, .description = "torque of the third attached part"},
    [tau4] = {"tau4", INPUT, .unit = "N.m", .nominal = 10, .description = "torque of the fourth attached part"},
    [phi] = {"phi", OUTPUT, .unit = "rad", .description = "angle"},
    [w] = {"w", OUTPUT, .unit = "rad/s", .description = "angular velocity"},
    [a] = {"a", LOCAL, .unit = "rad/s2", .nominal = 10, .description = "angular acceleration"},
    [der_phi] = {"der(phi)", LOCAL, .derivative_of = phi, .unit = "rad/s", .description = "time derivative of phi"},
    [der_w] = {"der(w)", LOCAL, .derivative_of = w, .unit = "rad/s2", .nominal = 10,
               .description = "time derivative of w"},
    [J] = {"J", TUNABLE_PARAMETER, .unit = "kg.m2", .start = 1, .description = "moment of inertia"},
    [phi0] = {"phi0", FIXED_PARAMETER, .unit = "rad", .description = "angle at the start"},
    [w0] = {"w0", FIXED_PARAMETER, .unit = "rad/s", .description = "angular velocity at the start"},
};

static const Dependency initial_dependencies[] = {{phi, phi0, CONSTANT}, {w, w0, CONSTANT}};

/* clang-format off */
static const Dependency dependencies[] = {
    {a, tau1, TUNABLE}, {a, tau2, TUNABLE}, {a, tau3, TUNABLE}, {a, tau4, TUNABLE}, {a, J, DEPENDENT},
    {der_phi, w, CONSTANT},
    {der_w, a, CONSTANT},
};
/* clang-format on */

INITIAL_STATES(v)
{
    v[phi] = v[phi0];
    v[w] = v[w0];
}

EQUATIONS(v)
{
    v[a] = (v[tau1] + v[tau2] + v[tau3] + v[tau4]) / v[J];
    v[der_phi] = v[w];
    v[der_w] = v[a];
}

MODEL = {
    .name = "Inertia",
    .description = "A rigid body that turns about a fixed axis",
    .variables = variables,
    .variable_count = COUNT,
    .dependencies = dependencies,
    .dependency_count = ROWS(dependencies),
    .initial_dependencies = initial_dependencies,
    .initial_dependency_count = ROWS(initial_dependencies),
    .stop_time = 10,
    .step_size = 1e-3,
};
