/* A mass that a force moves, integrated by the symplectic leapfrog method: velocities live between communication
 * points.
 *
 *     u+ = u + h F / m,    z+ = z + h u+,    v = u + h/2 F / m
 *
 * u is the velocity half a step before a communication point, v the one at the point itself. Position and force change
 * places in every step, so that coupling it explicitly to a force of the position is no approximation of the method but
 * the method.
 *
 * Hairer, Lubich and Wanner, Geometric Numerical Integration, section I.1.4 (Stoermer-Verlet)
 */
#include "model.h"

enum { TIME, F, z, u, v_, lag, der_z, der_u, m, COUNT };

static const Variable variables[COUNT] = {
    [TIME] = TIME_VARIABLE,
    [F] = {"F", INPUT, .unit = "N", .nominal = 0.1, .description = "force on the mass"},
    [z] = {"z", OUTPUT, EXACT, .unit = "m", .start = 0.0016, .nominal = 1e-3, .description = "position"},
    [u] = {"u", OUTPUT, EXACT, .unit = "m/s", .nominal = 0.05,
           .description = "velocity half a step ago; at the start, that at the start"},
    [v_] = {"v", OUTPUT, .unit = "m/s", .nominal = 0.05, .description = "velocity"},
    [lag] = {"lag", LOCAL, EXACT, .unit = "s", .nominal = 1e-3, .discrete = true,
             .description = "how far u is behind: half of the last step"},
    [der_z] = {"der(z)", LOCAL, .derivative_of = z, .unit = "m/s", .nominal = 0.05},
    [der_u] = {"der(u)", LOCAL, .derivative_of = u, .unit = "m/s2", .nominal = 3},
    [m] = {"m", TUNABLE_PARAMETER, .unit = "kg", .start = 0.03575},
};

/* clang-format off */
static const Dependency dependencies[] = {
    {v_, u, CONSTANT}, {v_, F, DEPENDENT}, {v_, lag, DEPENDENT}, {v_, m, DEPENDENT},
    {der_z, v_, CONSTANT},
    {der_u, F, TUNABLE}, {der_u, m, DEPENDENT},
};
/* clang-format on */

INITIAL_STATES(v)
{
    (void)v;
}

EQUATIONS(v)
{
    v[v_] = v[u] + v[lag] * v[F] / v[m];
    v[der_z] = v[v_];
    v[der_u] = v[F] / v[m];
}

STEP(v, h)
{
    v[u] += (v[lag] + h / 2) * v[F] / v[m];
    v[z] += h * v[u];
    v[lag] = h / 2;
}

MODEL = {
    .name = "SymplecticMass",
    .description = "A mass, stepped by the leapfrog method",
    .variables = variables,
    .variable_count = COUNT,
    .dependencies = dependencies,
    .dependency_count = ROWS(dependencies),
    .step = model_step,
    .stop_time = 1,
    .step_size = 1e-3,
};
