/* A lag that starts at rest: der(x) = a u + c - x, where x = a u + c at the start. Its output y = x does not depend on
 * the input at the same instant, but its initial state does.
 */
#include "model.h"

enum { TIME, u, x, y, der_x, a, c, COUNT };

static const Variable variables[COUNT] = {
    [TIME] = TIME_VARIABLE,
    [u] = {"u", INPUT, .unit = "1"},
    [x] = {"x", LOCAL, .unit = "1"},
    [y] = {"y", OUTPUT, .unit = "1"},
    [der_x] = {"der(x)", LOCAL, .derivative_of = x, .unit = "1/s"},
    [a] = {"a", TUNABLE_PARAMETER, .unit = "1", .start = 1},
    [c] = {"c", TUNABLE_PARAMETER, .unit = "1", .start = 0},
};

static const Dependency initial_dependencies[] = {{x, u, DEPENDENT}, {x, a, DEPENDENT}, {x, c, DEPENDENT}};

/* clang-format off */
static const Dependency dependencies[] = {
    {y, x, CONSTANT},
    {der_x, u, TUNABLE}, {der_x, x, CONSTANT}, {der_x, a, DEPENDENT}, {der_x, c, DEPENDENT},
};
/* clang-format on */

INITIAL_STATES(v)
{
    v[x] = v[a] * v[u] + v[c];
}

EQUATIONS(v)
{
    v[y] = v[x];
    v[der_x] = v[a] * v[u] + v[c] - v[x];
}

MODEL = {
    .name = "Steady",
    .description = "A lag that starts at rest",
    .variables = variables,
    .variable_count = COUNT,
    .dependencies = dependencies,
    .dependency_count = ROWS(dependencies),
    .initial_dependencies = initial_dependencies,
    .initial_dependency_count = ROWS(initial_dependencies),
    .stop_time = 1,
    .step_size = 1e-2,
};
