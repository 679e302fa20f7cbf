/* x' = fill - (open ? drain : 0) - loss x. After `broken` the derivative is nan. */
#include "hybrid.h"

#include <math.h>

enum { TIME, fill, open, drain, loss, broken, x, der_x, flow, COUNT };

const char *const model_name = "Vessel";
const Row model_rows[] = {
    [TIME] = {"time", REAL, LOCAL},
    [fill] = {"fill", REAL, INPUT},
    [open] = {"open", BOOLEAN, INPUT},
    [drain] = {"drain", REAL, PARAMETER, .start = 1},
    [loss] = {"loss", REAL, PARAMETER},
    [broken] = {"broken", REAL, PARAMETER, .start = 1e9},
    [x] = {"x", REAL, OUTPUT, .state = true},
    [der_x] = {"der(x)", REAL, LOCAL, .derivative_of = x},
    [flow] = {"flow", REAL, OUTPUT, .needs = open},
};
const size_t model_row_count = COUNT, model_indicator_count = 0;

void model_outputs(State *s)
{
    s->real[flow] = s->integer[open] ? s->real[drain] : 0;
    s->real[der_x] = s->t > s->real[broken] ? NAN : s->real[fill] - s->real[flow] - s->real[loss] * s->real[x];
}

bool model_update(State *s)
{
    (void)s;
    return false;
}
