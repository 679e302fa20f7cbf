/* A ball in free fall above the ground; it bounces with restitution e until it is slower than v_min, then it rests.
 *
 *     h' = v,    v' = -g,    at h = 0 and v < 0: v becomes -e v
 */
#include "model.h"

enum { TIME, h, v_, bounces, der_h, der_v, gap, resting, g, e, v_min, COUNT };

static const Variable variables[COUNT] = {
    [TIME] = TIME_VARIABLE,
    [h] = {"h", OUTPUT, EXACT, .unit = "m", .start = 1, .reinit = true, .description = "height above the ground"},
    [v_] = {"v", OUTPUT, EXACT, .unit = "m/s", .nominal = 4, .reinit = true, .description = "velocity, upwards"},
    [bounces] = {"bounces", OUTPUT, EXACT, .unit = "1", .discrete = true, .description = "number of bounces so far"},
    [der_h] = {"der(h)", LOCAL, .derivative_of = h, .unit = "m/s", .nominal = 4, .description = "time derivative of h"},
    [der_v] = {"der(v)", LOCAL, .derivative_of = v_, .unit = "m/s2", .nominal = 10,
               .description = "time derivative of v"},
    [gap] = {"gap", LOCAL, .unit = "m", .description = "distance from the ground, whose sign is watched"},
    [resting] = {"resting", LOCAL, EXACT, .unit = "1", .discrete = true, .description = "1 once the ball lies still"},
    [g] = {"g", TUNABLE_PARAMETER, .unit = "m/s2", .start = 9.81, .nominal = 10, .description = "gravity"},
    [e] = {"e", TUNABLE_PARAMETER, .unit = "1", .start = 0.7, .description = "coefficient of restitution"},
    [v_min] = {"v_min", TUNABLE_PARAMETER, .unit = "m/s", .start = 0.01,
               .description =
                   "a ball that leaves the ground more slowly stays there; with 0 there is no end of bounces"},
};

static const Dependency dependencies[] = {{der_h, v_, CONSTANT}, {der_v, g, DEPENDENT}, {gap, h, CONSTANT}};

static const unsigned indicators[] = {gap};

INITIAL_STATES(v)
{
    (void)v;
}

EQUATIONS(v)
{
    v[der_h] = v[v_];
    v[der_v] = -v[g] * (1 - v[resting]);
    v[gap] = v[h];
}

EVENTS(v)
{
    if (v[h] <= 0 && v[v_] < 0) {
        v[h] = 0;
        v[v_] *= -v[e];
        v[bounces] += 1;
        if (v[v_] < v[v_min]) {
            v[v_] = 0;
            v[resting] = 1;
        }
    }
    return INFINITY;
}

MODEL = {
    .name = "BouncingBall",
    .description = "A ball that bounces on the ground",
    .variables = variables,
    .variable_count = COUNT,
    .dependencies = dependencies,
    .dependency_count = ROWS(dependencies),
    .indicators = indicators,
    .indicator_count = ROWS(indicators),
    .events = model_events,
    .stop_time = 3,
    .step_size = 1e-2,
};
