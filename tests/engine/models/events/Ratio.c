/* The quotient q of two parameters, as a calculated parameter; y = q + u. */
#include "events.h"

enum { TIME, a, b, q, u, y, COUNT };

const char *const model_token = "Ratio";
const Row model_rows[] = {
    [TIME] = {REAL, OUTPUT},
    [a] = {REAL, PARAMETER, .start = 1},
    [b] = {REAL, PARAMETER, .start = 1},
    [q] = {REAL, OUTPUT},
    [u] = {REAL, INPUT},
    [y] = {REAL, OUTPUT},
};
const size_t model_row_count = COUNT;

void model_outputs(State *s)
{
    s->real[q] = s->real[a] / s->real[b];
    s->real[y] = s->real[q] + s->real[u];
}

bool model_advance(State *s, double end)
{
    s->t = end;
    return false;
}

bool model_update(State *s)
{
    (void)s;
    return false;
}

int model_interval(const State *s, unsigned clock, double *interval)
{
    (void)s, (void)clock, (void)interval;
    return 0;
}
