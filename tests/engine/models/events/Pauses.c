/* An integrator, x' = u, that has something to do at each multiple of `period`, which it counts in event mode. It
 * contradicts the flags of its steps as `lie` says.
 */
#include "events.h"

enum { TIME, u, x, count, period, lie, COUNT };
enum { PASSED };

const char *const model_token = "Pauses";
const Row model_rows[] = {
    [TIME] = {REAL, OUTPUT},
    [u] = {REAL, INPUT},
    [x] = {REAL, OUTPUT},
    [count] = {INTEGER, OUTPUT, true},
    [period] = {REAL, PARAMETER, .start = 0.11},
    [lie] = {INTEGER, PARAMETER},
};
const size_t model_row_count = COUNT;

void model_outputs(State *s)
{
    (void)s;
}

bool model_advance(State *s, double end)
{
    const double next = (s->own[PASSED] + 1) * s->real[period];
    const bool pauses = next < end;
    const double dt = (pauses ? next : end) - s->t;
    s->real[x] += dt * (s->real[u] + s->slope[u] * dt / 2);
    s->real[u] += s->slope[u] * dt;
    s->own[PASSED] += pauses;
    s->t = pauses ? next : end;
    return pauses;
}

bool model_update(State *s)
{
    s->integer[count] = (int32_t)s->own[PASSED];
    return false;
}

int model_interval(const State *s, unsigned clock, double *interval)
{
    (void)s, (void)clock, (void)interval;
    return 0;
}

Lie model_lie(const State *s)
{
    return (Lie)s->integer[lie];
}
