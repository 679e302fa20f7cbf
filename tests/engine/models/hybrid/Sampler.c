/* FMI 3.0: samples u whenever `tick` does, every 0.1 s; at every third time `third` ticks. */
#include "hybrid.h"

enum { TIME, tick, u, y, third, value, held, samples, COUNT };

const char *const model_name = "Sampler";
const Row model_rows[] = {
    [TIME] = {"time", REAL, LOCAL},
    [tick] = {"tick", CLOCK, INPUT, .interval = 0.1},
    [u] = {"u", REAL, INPUT, .discrete = true, .clock = tick},
    [y] = {"y", REAL, OUTPUT, .discrete = true, .clock = tick, .needs = u},
    [third] = {"third", CLOCK, OUTPUT},
    [value] = {"value", REAL, OUTPUT, .discrete = true, .clock = third},
    [held] = {"held", REAL, OUTPUT, .discrete = true},
    [samples] = {"samples", INT32, OUTPUT},
};
const size_t model_row_count = COUNT, model_indicator_count = 0;

void model_outputs(State *s)
{
    s->real[y] = 2 * s->real[u];
    s->active[third] = s->active[tick] && (s->integer[samples] + 1) % 3 == 0;
    s->real[value] = 100 + s->real[u];
}

bool model_update(State *s)
{
    if (s->active[tick]) {
        s->integer[samples]++;
        s->real[held] = s->real[u];
    }
    return false;
}
