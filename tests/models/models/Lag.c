/* A first-order lag: x' = (u - x)/T. */
#include "model.h"

enum { TIME, u, x, der_x, T, COUNT };

static const Variable variables[COUNT] = {
    [TIME] = TIME_VARIABLE,
    [u] = {"u", INPUT, .unit = "1"},
    [x] = {"x", OUTPUT, EXACT, .unit = "1"},
    [der_x] = {"der(x)", LOCAL, .derivative_of = x, .unit = "1/s"},
    [T] = {"T", TUNABLE_PARAMETER, .unit = "s", .start = 0.5},
};

static const Dependency dependencies[] = {{der_x, u, TUNABLE}, {der_x, x, TUNABLE}, {der_x, T, DEPENDENT}};

INITIAL_STATES(v)
{
    (void)v;
}

EQUATIONS(v)
{
    v[der_x] = (v[u] - v[x]) / v[T];
}

MODEL = {
    .name = "Lag",
    .description = "A first-order lag",
    .variables = variables,
    .variable_count = COUNT,
    .dependencies = dependencies,
    .dependency_count = ROWS(dependencies),
    .stop_time = 1,
    .step_size = 1e-2,
};
