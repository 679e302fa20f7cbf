/* Outputs that follow from inputs, parameters and time alone: y = a sqrt(u) + sin(w), z = t^2. */
#include "model.h"

enum { TIME, u, w, y, z, a, COUNT };

static const Variable variables[COUNT] = {
    [TIME] = TIME_VARIABLE,           [u] = {"u", INPUT, .unit = "1", .start = 1},
    [w] = {"w", INPUT, .unit = "1"},  [y] = {"y", OUTPUT, .unit = "1"},
    [z] = {"z", OUTPUT, .unit = "1"}, [a] = {"a", TUNABLE_PARAMETER, .unit = "1", .start = 3},
};

static const Dependency dependencies[] = {
    {y, u, DEPENDENT},
    {y, w, DEPENDENT},
    {y, a, DEPENDENT},
    {z, TIME, DEPENDENT},
};

INITIAL_STATES(v)
{
    (void)v;
}

EQUATIONS(v)
{
    v[y] = v[a] * sqrt(v[u]) + sin(v[w]);
    v[z] = v[TIME] * v[TIME];
}

MODEL = {
    .name = "Stateless",
    .description = "A model without states",
    .variables = variables,
    .variable_count = COUNT,
    .dependencies = dependencies,
    .dependency_count = ROWS(dependencies),
    .stop_time = 1,
    .step_size = 1e-2,
};
