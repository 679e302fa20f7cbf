/* A spring and a damper side by side between two flanges, without mass: f_a acts on the body at flange a, f_b on the
 * one at flange b. Of length `stretch` the spring is relaxed.
 *
 *     s_rel = s_b - s_a,             v_rel = v_b - v_a
 *     f_c = c (s_rel - stretch),     f_d = d v_rel,        f = f_c + f_d
 *     f_a = f,                       f_b = -f,             lossPower = f_d v_rel
 */
#include "model.h"

enum { TIME, s_a, v_a, s_b, v_b, f_a, f_b, c, d, stretch, s_rel, v_rel, f_c, f_d, f, lossPower, COUNT };

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
    [s_rel] = {"s_rel", LOCAL, .unit = "m", .nominal = 0.1, .description = "position of flange b relative to flange a"},
    [v_rel] = {"v_rel", LOCAL, .unit = "m/s", .description = "velocity of flange b relative to flange a"},
    [f_c] = {"f_c", LOCAL, .unit = "N", .nominal = 10, .description = "force of the spring"},
    [f_d] = {"f_d", LOCAL, .unit = "N", .nominal = 10, .description = "force of the damper"},
    [f] = {"f", LOCAL, .unit = "N", .nominal = 10, .description = "force of spring and damper"},
    [lossPower] = {"lossPower", LOCAL, .unit = "W", .nominal = 10, .description = "power lost in the damper"},
};

/* clang-format off */
static const Dependency dependencies[] = {
    {s_rel, s_a, CONSTANT}, {s_rel, s_b, CONSTANT},
    {v_rel, v_a, CONSTANT}, {v_rel, v_b, CONSTANT},
    {f_c, s_rel, TUNABLE}, {f_c, stretch, TUNABLE}, {f_c, c, DEPENDENT},
    {f_d, v_rel, TUNABLE}, {f_d, d, DEPENDENT},
    {f, f_c, CONSTANT}, {f, f_d, CONSTANT},
    {f_a, f, CONSTANT},
    {f_b, f, CONSTANT},
    {lossPower, f_d, DEPENDENT}, {lossPower, v_rel, DEPENDENT},
};
/* clang-format on */

INITIAL_STATES(v)
{
    (void)v;
}

EQUATIONS(v)
{
    v[s_rel] = v[s_b] - v[s_a];
    v[v_rel] = v[v_b] - v[v_a];
    v[f_c] = v[c] * (v[s_rel] - v[stretch]);
    v[f_d] = v[d] * v[v_rel];
    v[f] = v[f_c] + v[f_d];
    v[f_a] = v[f];
    v[f_b] = -v[f];
    v[lossPower] = v[f_d] * v[v_rel];
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
