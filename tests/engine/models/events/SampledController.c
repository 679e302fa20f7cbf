/* At each tick of `sample`: u = -kp y - ki s, and then s grows by y. */
#include "events.h"

enum { TIME, sample, y, u, kp, ki, COUNT };
enum { s_ };

const char *const model_token = "SampledController";
const Row model_rows[] = {
    [TIME] = {REAL, OUTPUT, .clock = 0}, [sample] = {CLOCK, INPUT, true},      [y] = {REAL, INPUT, true, sample},
    [u] = {REAL, OUTPUT, true, sample},  [kp] = {REAL, PARAMETER, .start = 2}, [ki] = {REAL, PARAMETER, .start = 0.5},
};
const size_t model_row_count = COUNT;

void model_outputs(State *s)
{
    if (s->active[sample])
        s->real[u] = -s->real[kp] * s->real[y] - s->real[ki] * s->own[s_];
}

bool model_advance(State *s, double end)
{
    s->t = end;
    return false;
}

bool model_update(State *s)
{
    if (s->active[sample]) {
        model_outputs(s);
        s->own[s_] += s->real[y];
    }
    return false;
}

int model_interval(const State *s, unsigned clock, double *interval)
{
    (void)s, (void)clock;
    *interval = 0.1;
    return 1;
}
