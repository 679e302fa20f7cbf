/* A mass that a force moves, integrated as solvers of flows do with bodies: the method of Newmark.
 *
 *     z+ = z + h v + h^2 ((1/2 - beta) a + beta a+),    v+ = v + h ((1 - gamma) a + gamma a+),    a+ = F / m
 *
 * a is the acceleration of the step before and F the force held over this one. Whether a+ belongs to the start of the
 * step (the force comes late), to a guess of its end or to its end is up to how often the step is repeated with a newer
 * force.
 *
 * Newmark 1959, "A method of computation for structural dynamics"
 */
#include "model.h"

enum { TIME, F, z, v_, a, der_z, der_v, m, beta, gamma_, COUNT };

static const Variable variables[COUNT] = {
    [TIME] = TIME_VARIABLE,
    [F] = {"F", INPUT, .unit = "N", .nominal = 0.1, .description = "force on the mass"},
    [z] = {"z", OUTPUT, EXACT, .unit = "m", .start = 0.0016, .nominal = 1e-3, .description = "position"},
    [v_] = {"v", OUTPUT, EXACT, .unit = "m/s", .nominal = 0.05, .description = "velocity"},
    [a] = {"a", LOCAL, EXACT, .unit = "m/s2", .nominal = 3, .discrete = true,
           .description = "acceleration that the last step ended with"},
    [der_z] = {"der(z)", LOCAL, .derivative_of = z, .unit = "m/s", .nominal = 0.05},
    [der_v] = {"der(v)", LOCAL, .derivative_of = v_, .unit = "m/s2", .nominal = 3},
    [m] = {"m", TUNABLE_PARAMETER, .unit = "kg", .start = 0.03575},
    [beta] = {"beta", FIXED_PARAMETER, .unit = "1", .start = 0.25, .description = "weight of a+ in the position"},
    [gamma_] = {"gamma", FIXED_PARAMETER, .unit = "1", .start = 0.5, .description = "weight of a+ in the velocity"},
};

static const Dependency dependencies[] = {{der_z, v_, CONSTANT}, {der_v, F, TUNABLE}, {der_v, m, DEPENDENT}};

INITIAL_STATES(v)
{
    (void)v;
}

EQUATIONS(v)
{
    v[der_z] = v[v_];
    v[der_v] = v[F] / v[m];
}

STEP(v, h)
{
    const double before = v[a], after = v[F] / v[m];
    v[z] += h * v[v_] + h * h * ((0.5 - v[beta]) * before + v[beta] * after);
    v[v_] += h * ((1 - v[gamma_]) * before + v[gamma_] * after);
    v[a] = after;
}

MODEL = {
    .name = "NewmarkMass",
    .description = "A mass, stepped by Newmark's method",
    .variables = variables,
    .variable_count = COUNT,
    .dependencies = dependencies,
    .dependency_count = ROWS(dependencies),
    .step = model_step,
    .stop_time = 1,
    .step_size = 1e-3,
};
