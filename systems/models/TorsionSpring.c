/* A linear torsion spring between two flanges, without mass: tau_a acts on the body at flange a, tau_b on the one
 * at flange b.
 *
 *     tau_b = c (phi_a - phi_b),    tau_a = -tau_b
 */
#include "model.h"

enum { TIME, phi_a, phi_b, tau_a, tau_b, c, COUNT };

static const Variable variables[COUNT] = {
    [TIME] = TIME_VARIABLE,
    [phi_a] = {"phi_a", INPUT, .unit = "rad", .description = "angle of flange a"},
    [phi_b] = {"phi_b", INPUT, .unit = "rad", .description = "angle of flange b"},
    [tau_a] = {"tau_a", OUTPUT, .unit = "N.m", .nominal = 10, .description = "torque on the body at flange a"},
    [tau_b] = {"tau_b", OUTPUT, .unit = "N.m", .nominal = 10, .description = "torque on the body at flange b"},
    [c] = {"c", TUNABLE_PARAMETER, .unit = "N.m/rad", .start = 1, .description = "stiffness"},
};

static const Dependency dependencies[] = {
    {tau_b, phi_a, TUNABLE}, {tau_b, phi_b, TUNABLE}, {tau_b, c, DEPENDENT}, {tau_a, tau_b, CONSTANT}};

INITIAL_STATES(v)
{
    (void)v;
}

EQUATIONS(v)
{
    v[tau_b] = v[c] * (v[phi_a] - v[phi_b]);
    v[tau_a] = -v[tau_b];
}

MODEL = {
    .name = "TorsionSpring",
    .description = "A linear torsion spring between two flanges",
    .variables = variables,
    .variable_count = COUNT,
    .dependencies = dependencies,
    .dependency_count = ROWS(dependencies),
    .stop_time = 10,
    .step_size = 1e-3,
};
