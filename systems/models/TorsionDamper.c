/* A linear torsion damper between two flanges, without mass: tau_a acts on the body at flange a, tau_b on the one
 * at flange b.
 *
 *     tau_b = d (w_a - w_b),    tau_a = -tau_b
 */
#include "model.h"

enum { TIME, w_a, w_b, tau_a, tau_b, d, COUNT };

static const Variable variables[COUNT] = {
    [TIME] = TIME_VARIABLE,
    [w_a] = {"w_a", INPUT, .unit = "rad/s", .description = "angular velocity of flange a"},
    [w_b] = {"w_b", INPUT, .unit = "rad/s", .description = "angular velocity of flange b"},
    [tau_a] = {"tau_a", OUTPUT, .unit = "N.m", .nominal = 10, .description = "torque on the body at flange a"},
    [tau_b] = {"tau_b", OUTPUT, .unit = "N.m", .nominal = 10, .description = "torque on the body at flange b"},
    [d] = {"d", TUNABLE_PARAMETER, .unit = "N.m.s/rad", .start = 1, .description = "damping"},
};

static const Dependency dependencies[] = {
    {tau_b, w_a, TUNABLE}, {tau_b, w_b, TUNABLE}, {tau_b, d, DEPENDENT}, {tau_a, tau_b, CONSTANT}};

INITIAL_STATES(v)
{
    (void)v;
}

EQUATIONS(v)
{
    v[tau_b] = v[d] * (v[w_a] - v[w_b]);
    v[tau_a] = -v[tau_b];
}

MODEL = {
    .name = "TorsionDamper",
    .description = "A linear torsion damper between two flanges",
    .variables = variables,
    .variable_count = COUNT,
    .dependencies = dependencies,
    .dependency_count = ROWS(dependencies),
    .stop_time = 10,
    .step_size = 1e-3,
};
