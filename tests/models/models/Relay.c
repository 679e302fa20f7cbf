/* A relay without hysteresis around an integrator: x' = -s, s = sign(x). At x = 0 it switches without end. */
#include "model.h"

enum { TIME, x, s, der_x, side, COUNT };

static const Variable variables[COUNT] = {
    [TIME] = TIME_VARIABLE,
    [x] = {"x", OUTPUT, EXACT, .unit = "1", .start = 0.5},
    [s] = {"s", OUTPUT, EXACT, .unit = "1", .start = 1, .discrete = true},
    [der_x] = {"der(x)", LOCAL, .derivative_of = x, .unit = "1/s"},
    [side] = {"side", LOCAL, .unit = "1"},
};

static const Dependency dependencies[] = {{side, x, CONSTANT}};

static const unsigned indicators[] = {side};

INITIAL_STATES(v)
{
    (void)v;
}

EQUATIONS(v)
{
    v[der_x] = -v[s];
    v[side] = v[x];
}

EVENTS(v)
{
    v[s] = v[x] > 0 ? 1 : -1;
    return INFINITY;
}

MODEL = {
    .name = "Relay",
    .description = "A relay that chatters",
    .variables = variables,
    .variable_count = COUNT,
    .dependencies = dependencies,
    .dependency_count = ROWS(dependencies),
    .indicators = indicators,
    .indicator_count = ROWS(indicators),
    .events = model_events,
    .stop_time = 1,
    .step_size = 1e-2,
};
