/* FMI 3.0: counts the ticks of `trigger` and keeps the last v that came with one. */
#include "hybrid.h"

enum { TIME, trigger, v, ticks, last, COUNT };

const char *const model_name = "Follower";
const Row model_rows[] = {
    [TIME] = {"time", REAL, LOCAL},
    [trigger] = {"trigger", CLOCK, INPUT},
    [v] = {"v", REAL, INPUT, .discrete = true, .clock = trigger},
    [ticks] = {"ticks", INT32, OUTPUT},
    [last] = {"last", REAL, OUTPUT, .discrete = true},
};
const size_t model_row_count = COUNT, model_indicator_count = 0;

void model_outputs(State *s)
{
    (void)s;
}

bool model_update(State *s)
{
    if (s->active[trigger]) {
        s->integer[ticks]++;
        s->real[last] = s->real[v];
    }
    return false;
}
