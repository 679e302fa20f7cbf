/* A tank that is emptied when it is full: x' = u, and at x = 1 the clock `full` ticks and x becomes 0. Inside a step u
 * is linear, as far as the importer tells.
 */
#include "events.h"

#include <math.h>

enum { TIME, u, x, emptied, full, COUNT };

const char *const model_token = "Tank";
const Row model_rows[] = {
    [TIME] = {REAL, OUTPUT},        [u] = {REAL, INPUT}, [x] = {REAL, OUTPUT}, [emptied] = {INTEGER, OUTPUT, true},
    [full] = {CLOCK, OUTPUT, true},
};
const size_t model_row_count = COUNT;

void model_outputs(State *s)
{
    (void)s;
}

bool model_advance(State *s, double end)
{
    const double a = s->slope[u] / 2, b = s->real[u], c = s->real[x] - 1;
    /* The first positive root of a t^2 + b t + c, in the form that does not cancel. */
    const double filling = c >= 0 ? 0 : -2 * c / (b + sqrt(fmax(b * b - 4 * a * c, 0)));
    const bool fills = filling >= 0 && s->t + filling <= end;
    const double dt = fills ? filling : end - s->t;
    s->real[x] = fills ? 1 : s->real[x] + dt * (b + a * dt);
    s->real[u] += s->slope[u] * dt;
    s->t = fills ? s->t + dt : end;
    s->active[full] |= fills;
    return fills;
}

bool model_update(State *s)
{
    if (s->real[x] >= 1) {
        s->real[x] = 0;
        s->integer[emptied]++;
    }
    return false;
}

int model_interval(const State *s, unsigned clock, double *interval)
{
    (void)s, (void)clock, (void)interval;
    return 0;
}
