/* At each tick of `sample`, y (2) is u (2) turned by a right angle: y = (-u2, u1). At any event, z (2) is (w2, w1). */
#include "events.h"

enum { TIME, sample, u, u2, y, y2, w, w2, z, z2, COUNT };

const char *const model_token = "Rotation";
const Row model_rows[] = {
    [TIME] = {REAL, OUTPUT},
    [sample] = {CLOCK, INPUT, true},
    [u] = {REAL, INPUT, true, sample, 1, .size = 2},
    [u2] = {REAL, INPUT, true, sample},
    [y] = {REAL, OUTPUT, true, sample, .size = 2},
    [y2] = {REAL, OUTPUT, true, sample},
    [w] = {INTEGER, INPUT, true, 0, 1, .size = 2},
    [w2] = {INTEGER, INPUT, true, 0, 2},
    [z] = {INTEGER, OUTPUT, true, .size = 2},
    [z2] = {INTEGER, OUTPUT, true},
};
const size_t model_row_count = COUNT;

void model_outputs(State *s)
{
    s->integer[z] = s->integer[w2];
    s->integer[z2] = s->integer[w];
    if (!s->active[sample])
        return;
    s->real[y] = -s->real[u2];
    s->real[y2] = s->real[u];
}

bool model_advance(State *s, double end)
{
    s->t = end;
    return false;
}

bool model_update(State *s)
{
    model_outputs(s);
    return false;
}

int model_interval(const State *s, unsigned clock, double *interval)
{
    (void)s, (void)clock, (void)interval;
    return 0;
}
