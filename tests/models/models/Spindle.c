/* A spindle with a load of variable inertia: h' = M, phi' = w, w = h/(J + J_load), h(0) = (J + J_load) w_start.
 * The first value of the state h depends on an input, and in w that input cancels: w(0) = w_start. */
#include "model.h"

enum { TIME, J_load, M, w, phi, h, der_phi, der_h, J, w_start, COUNT };

static const Variable variables[COUNT] = {
    [TIME] = TIME_VARIABLE,
    [J_load] = {"J_load", INPUT, .unit = "kg.m2", .start = 1},
    [M] = {"M", INPUT, .unit = "N.m"},
    [w] = {"w", OUTPUT, .unit = "rad/s"},
    [phi] = {"phi", OUTPUT, EXACT, .unit = "rad"},
    [h] = {"h", LOCAL, .unit = "kg.m2/s"},
    [der_phi] = {"der(phi)", LOCAL, .derivative_of = phi, .unit = "rad/s"},
    [der_h] = {"der(h)", LOCAL, .derivative_of = h, .unit = "N.m"},
    [J] = {"J", FIXED_PARAMETER, .unit = "kg.m2", .start = 0.5},
    [w_start] = {"w_start", FIXED_PARAMETER, .unit = "rad/s", .start = 2},
};

static const Dependency initial_dependencies[] = {
    {h, J, DEPENDENT},
    {h, J_load, DEPENDENT},
    {h, w_start, DEPENDENT},
    {w, w_start, CONSTANT},
};

static const Dependency dependencies[] = {
    {w, h, DEPENDENT}, {w, J, DEPENDENT}, {w, J_load, DEPENDENT}, {der_phi, w, CONSTANT}, {der_h, M, CONSTANT},
};

INITIAL_STATES(v)
{
    v[h] = (v[J] + v[J_load]) * v[w_start];
}

EQUATIONS(v)
{
    v[w] = v[h] / (v[J] + v[J_load]);
    v[der_phi] = v[w];
    v[der_h] = v[M];
}

MODEL = {
    .name = "Spindle",
    .description = "A spindle with a load of variable inertia",
    .variables = variables,
    .variable_count = COUNT,
    .dependencies = dependencies,
    .dependency_count = ROWS(dependencies),
    .initial_dependencies = initial_dependencies,
    .initial_dependency_count = ROWS(initial_dependencies),
    .stop_time = 1,
    .step_size = 1e-2,
};
