/* A flange that does not move: the other end of a part that is fixed to the housing.
 *
 *     phi = phi0,    w = 0
 */
#include "model.h"

enum { TIME, phi, w, phi0, COUNT };

static const Variable variables[COUNT] = {
    [TIME] = TIME_VARIABLE,
    [phi] = {"phi", OUTPUT, .unit = "rad", .description = "angle"},
    [w] = {"w", OUTPUT, .unit = "rad/s", .description = "angular velocity, 0"},
    [phi0] = {"phi0", TUNABLE_PARAMETER, .unit = "rad", .description = "angle"},
};

static const Dependency dependencies[] = {{phi, phi0, DEPENDENT}};

INITIAL_STATES(v)
{
    (void)v;
}

EQUATIONS(v)
{
    v[phi] = v[phi0];
    v[w] = 0;
}

MODEL = {
    .name = "Ground",
    .description = "A flange that does not turn",
    .variables = variables,
    .variable_count = COUNT,
    .dependencies = dependencies,
    .dependency_count = ROWS(dependencies),
    .stop_time = 10,
    .step_size = 1e-3,
};
