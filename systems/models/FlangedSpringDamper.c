/* A spring and a damper side by side between two flanges, without mass: f_a acts on the body at flange a, f_b on the
 * one at flange b. Of length `stretch` the spring is relaxed.
 *
 *     f_a = c (s_b - s_a - stretch) + d (v_b - v_a),    f_b = -f_a
 */
#include "model.h"

enum { TIME, s_a, v_a, s_b, v_b, f_a, f_b, c, d, stretch, COUNT };

static const Variable variables[COUNT] = {
    [TIME] = TIME_VARIABLE,
    [s_a] = {"s_a", INPUT, .unit = "m", .nominal = 0.1, .description = "position of flange a"},
    [v_a] = {"v_a", INPUT, .unit = "m/s", .description = "velocity of flange a"},
    [s_b] = {"s_b", INPUT, .unit = "m", .nominal = 0.1, .description = "position of flange b"},
    [v_b] = {"v_b", INPUT, .unit = "m/s", .description = "velocity of flange b"},
    [f_a] = {"f_a", OUTPUT, .unit = "N", .nominal = 10, .description = "force on the body at flange a"},
    [f_b] = {"f_b", OUTPUT, .unit = "N", .nominal = 10, .description = "force on the body at flange b"},
    [c] = {"c", TUNABLE_PARAMETER, .unit = "N/m", .start = 10, .nominal = 10, .description = "stiffness"},
    [d] = {"d", TUNABLE_PARAMETER, .unit = "N.s/m", .start = 1, .description = "damping"},
    [stretch] = {"stretch", TUNABLE_PARAMETER, .unit = "m", .nominal = 0.1,
                 .description = "distance of the flanges at which the spring is relaxed"},
};

/* clang-format off */
static const Dependency dependencies[] = {
    {f_a, s_a, TUNABLE}, {f_a, v_a, TUNABLE}, {f_a, s_b, TUNABLE}, {f_a, v_b, TUNABLE},
    {f_a, c, DEPENDENT}, {f_a, d, DEPENDENT}, {f_a, stretch, TUNABLE},
    {f_b, f_a, CONSTANT},
};
/* clang-format on */

INITIAL_STATES(v)
{
    (void)v;
}

EQUATIONS(v)
{
    v[f_a] = v[c] * (v[s_b] - v[s_a] - v[stretch]) + v[d] * (v[v_b] - v[v_a]);
    v[f_b] = -v[f_a];
}

MODEL = {
    .name = "FlangedSpringDamper",
    .description = "A spring and a damper side by side between two flanges",
    .variables = variables,
    .variable_count = COUNT,
    .dependencies = dependencies,
    .dependency_count = ROWS(dependencies),
    .stop_time = 5,
    .step_size = 1e-3,
};
