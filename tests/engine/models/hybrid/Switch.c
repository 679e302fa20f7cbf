/* On where u rises to `high`, off where it falls to `low`; tells so in every type. */
#include "hybrid.h"

#include <stdio.h>

enum { TIME, u, low, high, on, mode, count, text, level, bytes, single, tiny, big, unsigned_big, z, COUNT };

const char *const model_name = "Switch";
const Row model_rows[] = {
    [TIME] = {"time", REAL, LOCAL},
    [u] = {"u", REAL, INPUT},
    [low] = {"low", REAL, PARAMETER, .start = 0.25},
    [high] = {"high", REAL, PARAMETER, .start = 0.75},
    [on] = {"on", BOOLEAN, OUTPUT},
    [mode] = {"mode", ENUMERATION, OUTPUT},
    [count] = {"count", INT32, OUTPUT},
    [text] = {"text", STRING, OUTPUT},
    [level] = {"level", REAL, OUTPUT, .discrete = true},
    [bytes] = {"bytes", BINARY, OUTPUT},
    [single] = {"single", FLOAT32, OUTPUT, .discrete = true},
    [tiny] = {"tiny", INT8, OUTPUT},
    [big] = {"big", INT64, OUTPUT},
    [unsigned_big] = {"unsigned_big", UINT64, OUTPUT},
    [z] = {"z", REAL, LOCAL},
};
const size_t model_row_count = COUNT, model_indicator_count = 1;

void model_outputs(State *s)
{
    s->real[z] = s->integer[on] ? s->real[u] - s->real[low] : s->real[high] - s->real[u];
    s->integer[mode] = s->integer[on] ? 2 : 1;
    snprintf(s->text[text], MAX_BYTES, "%s %d", s->integer[on] ? "on" : "off", (int)s->integer[count]);
    s->size[bytes] = 2;
    s->text[bytes][0] = 0;
    s->text[bytes][1] = (char)s->integer[count];
    s->real[single] = (float)(0.1f * (float)s->integer[count]);
    s->integer[tiny] = -s->integer[count];
    s->integer[big] = ((int64_t)1 << 60) + s->integer[count];
    s->integer[unsigned_big] = (int64_t)(((uint64_t)1 << 63) + (uint64_t)s->integer[count]);
}

void model_indicators(const State *s, double found[])
{
    found[0] = s->real[z];
}

bool model_update(State *s)
{
    if (s->real[z] > 0)
        return false;
    s->integer[on] = !s->integer[on];
    s->integer[count]++;
    s->real[level] = s->real[u];
    return true;
}
