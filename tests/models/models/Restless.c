/* From t = 0.5 on, y never stays: an event iteration with it has no end. */
#include "model.h"

enum { TIME, y, COUNT };

static const Variable variables[COUNT] = {
    [TIME] = TIME_VARIABLE,
    [y] = {"y", OUTPUT, EXACT, .unit = "1", .discrete = true},
};

INITIAL_STATES(v)
{
    (void)v;
}

EQUATIONS(v)
{
    (void)v;
}

EVENTS(v)
{
    if (v[TIME] >= 0.5)
        v[y] = 1 - v[y];
    return v[TIME] < 0.5 ? 0.5 : INFINITY;
}

MODEL = {
    .name = "Restless",
    .description = "A discrete variable that never stays",
    .variables = variables,
    .variable_count = COUNT,
    .events = model_events,
    .stop_time = 1,
    .step_size = 1e-2,
};
