/* A state event that depends on an input alone: y = 1 where u > level, else 0. There are no states. */
#include "model.h"

enum { TIME, u, y, above, level, COUNT };

static const Variable variables[COUNT] = {
    [TIME] = TIME_VARIABLE,
    [u] = {"u", INPUT, .unit = "1"},
    [y] = {"y", OUTPUT, EXACT, .unit = "1", .discrete = true},
    [above] = {"above", LOCAL, .unit = "1"},
    [level] = {"level", FIXED_PARAMETER, .unit = "1", .start = 0.5},
};

static const Dependency dependencies[] = {{above, u, CONSTANT}, {above, level, DEPENDENT}, {y, u, DEPENDENT}};

static const unsigned indicators[] = {above};

INITIAL_STATES(v)
{
    (void)v;
}

EQUATIONS(v)
{
    v[above] = v[u] - v[level];
}

EVENTS(v)
{
    v[y] = v[u] > v[level];
    return INFINITY;
}

MODEL = {
    .name = "Comparator",
    .description = "One where the input is above a level",
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
