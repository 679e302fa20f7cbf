/* System2 of the dual-mass oscillator: mass 2 between springs 2 and 3, and the flange that couples it to mass 1.
 *
 *     F     = F_spring2 - m_c a1,    F_spring2 = k2 (x2 - x1) + c2 (v2 - v1)
 *     m2 a2 = -F_spring2 - k3 x2 - c3 v2
 *
 * The flange makes F depend on a1 at the same instant. With NO_FLANGE there is no m_c and a1 has no effect.
 */
#include "model.h"

/* clang-format off */
enum {
    TIME, x1, v1, a1, F, x2, v2, a2, der_x2, der_v2, F_spring2, m2, k2, c2, k3, c3, x2_start,
#ifndef NO_FLANGE
    m_c,
#endif
    COUNT
};
/* clang-format on */

static const Variable variables[COUNT] = {
    [TIME] = TIME_VARIABLE,
    [x1] = {"x1", INPUT, .unit = "m", .nominal = 0.5, .description = "position of mass 1"},
    [v1] = {"v1", INPUT, .unit = "m/s", .nominal = 1, .description = "velocity of mass 1"},
    [a1] = {"a1", INPUT, .unit = "m/s2", .nominal = 5, .description = "acceleration of mass 1"},
    [F] = {"F", OUTPUT, .unit = "N", .nominal = 5, .description = "force on mass 1"},
    [x2] = {"x2", LOCAL, .unit = "m", .nominal = 0.5, .description = "position of mass 2"},
    [v2] = {"v2", LOCAL, EXACT, .unit = "m/s", .nominal = 1, .description = "velocity of mass 2"},
    [a2] = {"a2", LOCAL, .unit = "m/s2", .nominal = 5, .description = "acceleration of mass 2"},
    [der_x2] = {"der(x2)", LOCAL, .derivative_of = x2, .unit = "m/s", .nominal = 1,
                .description = "time derivative of x2"},
    [der_v2] = {"der(v2)", LOCAL, .derivative_of = v2, .unit = "m/s2", .nominal = 5,
                .description = "time derivative of v2"},
    [F_spring2] = {"F_spring2", LOCAL, .unit = "N", .nominal = 5, .description = "force of spring and damper 2"},
    [m2] = {"m2", TUNABLE_PARAMETER, .unit = "kg", .start = 1, .description = "mass 2"},
    [k2] = {"k2", TUNABLE_PARAMETER, .unit = "N/m", .start = 10, .nominal = 10, .description = "stiffness of spring 2"},
    [c2] = {"c2", TUNABLE_PARAMETER, .unit = "N.s/m", .start = 0.5, .description = "damping of damper 2"},
    [k3] = {"k3", TUNABLE_PARAMETER, .unit = "N/m", .start = 20, .nominal = 10, .description = "stiffness of spring 3"},
    [c3] = {"c3", TUNABLE_PARAMETER, .unit = "N.s/m", .start = 0.3, .description = "damping of damper 3"},
    [x2_start] = {"x2_start", FIXED_PARAMETER, .unit = "m", .start = 0.5, .nominal = 0.5,
                  .description = "x2 at the start"},
#ifndef NO_FLANGE
    [m_c] = {"m_c", TUNABLE_PARAMETER, .unit = "kg", .start = 0, .description = "mass carried by the coupling flange"},
#endif
};

static const Dependency initial_dependencies[] = {{x2, x2_start, CONSTANT}};

/* clang-format off */
static const Dependency dependencies[] = {
    {F_spring2, x1, TUNABLE}, {F_spring2, v1, TUNABLE}, {F_spring2, x2, TUNABLE}, {F_spring2, v2, TUNABLE},
    {F_spring2, k2, DEPENDENT}, {F_spring2, c2, DEPENDENT},
    {F, F_spring2, CONSTANT},
#ifndef NO_FLANGE
    {F, a1, TUNABLE}, {F, m_c, DEPENDENT},
#endif
    {a2, F_spring2, TUNABLE}, {a2, x2, TUNABLE}, {a2, v2, TUNABLE},
    {a2, m2, DEPENDENT}, {a2, k3, DEPENDENT}, {a2, c3, DEPENDENT},
    {der_x2, v2, CONSTANT},
    {der_v2, a2, CONSTANT},
};
/* clang-format on */

INITIAL_STATES(v)
{
    v[x2] = v[x2_start];
}

EQUATIONS(v)
{
    v[F_spring2] = v[k2] * (v[x2] - v[x1]) + v[c2] * (v[v2] - v[v1]);
    v[F] = v[F_spring2];
#ifndef NO_FLANGE
    v[F] -= v[m_c] * v[a1];
#endif
    v[a2] = (-v[F_spring2] - v[k3] * v[x2] - v[c3] * v[v2]) / v[m2];
    v[der_x2] = v[v2];
    v[der_v2] = v[a2];
}

MODEL = {
    .name = "System2",
    .description = "Mass 2 of the dual-mass oscillator with springs and dampers 2 and 3",
    .variables = variables,
    .variable_count = COUNT,
    .dependencies = dependencies,
    .dependency_count = ROWS(dependencies),
    .initial_dependencies = initial_dependencies,
    .initial_dependency_count = ROWS(initial_dependencies),
    .stop_time = 10,
    .step_size = 1e-3,
};
