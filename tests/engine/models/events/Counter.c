/* At each tick of `tick` the count grows by `add`, and `carry` ticks: at once, or with `late` in the next event
 * iteration, or if that is 2, at the start too.
 */
#include "events.h"

enum { TIME, tick, add, count, carry, late, COUNT };
enum { counted, ahead };

const char *const model_token = "Counter";
const Row model_rows[] = {
    [TIME] = {REAL, OUTPUT},
    [tick] = {CLOCK, INPUT, true},
    [add] = {INTEGER, INPUT, true, tick, 1},
    [count] = {INTEGER, OUTPUT, true, tick},
    [carry] = {CLOCK, OUTPUT, true},
    [late] = {INTEGER, PARAMETER},
};
const size_t model_row_count = COUNT;

void model_outputs(State *s)
{
    if (!s->active[tick])
        return;
    s->integer[count] = (int32_t)s->own[counted] + s->integer[add];
    if (!s->integer[late])
        s->active[carry] = true;
}

bool model_advance(State *s, double end)
{
    s->t = end;
    return false;
}

bool model_update(State *s)
{
    const bool first = s->integer[late] == 2 && s->own[ahead]++ == 0;
    if (first)
        s->active[carry] = true;
    if (!s->active[tick])
        return first;
    model_outputs(s);
    s->own[counted] = s->integer[count];
    s->active[carry] = s->integer[late] != 0;
    return s->integer[late] != 0;
}

int model_interval(const State *s, unsigned clock, double *interval)
{
    (void)s, (void)clock, (void)interval;
    return 0;
}
