/* Time events: y changes between 0 and 1 at t = period, 2 period, 3 period ... There are no states. */
#include "model.h"

enum { TIME, y, count, period, COUNT };

static const Variable variables[COUNT] = {
    [TIME] = TIME_VARIABLE,
    [y] = {"y", OUTPUT, EXACT, .unit = "1", .discrete = true},
    [count] = {"count", LOCAL, EXACT, .unit = "1", .discrete = true},
    [period] = {"period", FIXED_PARAMETER, .unit = "s", .start = 0.3},
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
    if (v[TIME] >= (v[count] + 1) * v[period]) {
        v[count] += 1;
        v[y] = 1 - v[y];
    }
    return (v[count] + 1) * v[period];
}

MODEL = {
    .name = "Pulse",
    .description = "A square wave from time events",
    .variables = variables,
    .variable_count = COUNT,
    .events = model_events,
    .stop_time = 1,
    .step_size = 1e-2,
};
