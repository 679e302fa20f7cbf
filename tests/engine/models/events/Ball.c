/* A ball in free fall over the ground: the clock `bounce` ticks when it is there, and it leaves with e times the speed.
 * Its flights are parabolas, so that the times of its bounces are exact.
 */
#include "events.h"

#include <math.h>

enum { TIME, h, v, bounces, bounce, e, g, COUNT };

const char *const model_token = "Ball";
const Row model_rows[] = {
    [TIME] = {REAL, OUTPUT},
    [h] = {REAL, OUTPUT, .start = 1},
    [v] = {REAL, OUTPUT},
    [bounces] = {INTEGER, OUTPUT, true},
    [bounce] = {CLOCK, OUTPUT, true},
    [e] = {REAL, PARAMETER, .start = 0.7},
    [g] = {REAL, PARAMETER, .start = 9.81},
};
const size_t model_row_count = COUNT;

void model_outputs(State *s)
{
    (void)s;
}

bool model_advance(State *s, double end)
{
    const double fall = (s->real[v] + sqrt(s->real[v] * s->real[v] + 2 * s->real[g] * s->real[h])) / s->real[g];
    const bool hits = s->t + fall <= end;
    const double dt = hits ? fall : end - s->t;
    s->real[h] = hits ? 0 : s->real[h] + dt * (s->real[v] - s->real[g] * dt / 2);
    s->real[v] -= s->real[g] * dt;
    s->t = hits ? s->t + dt : end;
    s->active[bounce] |= hits;
    return hits;
}

bool model_update(State *s)
{
    if (s->real[h] <= 0 && s->real[v] < 0) {
        s->real[v] *= -s->real[e];
        s->integer[bounces]++;
    }
    return false;
}

int model_interval(const State *s, unsigned clock, double *interval)
{
    (void)s, (void)clock, (void)interval;
    return 0;
}
