/* Prothero and Robinson 1974: x' = -lambda (x - cos t) - sin t, with the solution x = cos t for x(0) = 1. */
#include "model.h"

enum { TIME, x, der_x, lambda, COUNT };

static const Variable variables[COUNT] = {
    [TIME] = TIME_VARIABLE,
    [x] = {"x", OUTPUT, EXACT, .unit = "1", .start = 1},
    [der_x] = {"der(x)", LOCAL, .derivative_of = x, .unit = "1/s"},
    [lambda] = {"lambda", TUNABLE_PARAMETER, .unit = "1/s", .start = 8000, .nominal = 8000},
};

static const Dependency dependencies[] = {
    {der_x, x, TUNABLE},
    {der_x, TIME, DEPENDENT},
    {der_x, lambda, DEPENDENT},
};

INITIAL_STATES(v)
{
    (void)v;
}

EQUATIONS(v)
{
    v[der_x] = -v[lambda] * (v[x] - cos(v[TIME])) - sin(v[TIME]);
}

MODEL = {
    .name = "Stiff",
    .description = "A smooth solution beside a fast decay",
    .variables = variables,
    .variable_count = COUNT,
    .dependencies = dependencies,
    .dependency_count = ROWS(dependencies),
    .stop_time = 1,
    .step_size = 1e-2,
};
