/* Writes down what it is told, in every type, and how often that has changed. From the first event after `negate` on it
 * tells the contrary. It refuses a count above `most`.
 */
#include "hybrid.h"

#include <string.h>

enum {
    TIME,
    on,
    mode,
    count,
    text,
    level,
    bytes,
    single,
    tiny,
    big,
    unsigned_big,
    moving,
    negate,
    most,
    known,
    opposing,
    told_on,
    told_mode,
    told_count,
    told_text,
    told_level,
    told_bytes,
    told_single,
    told_tiny,
    told_big,
    told_unsigned_big,
    told_moving,
    changes,
    COUNT
};

#ifndef NAME
#define NAME "Clerk"
#endif
const char *const model_name = NAME;
const Row model_rows[] = {
    [TIME] = {"time", REAL, LOCAL},
    [on] = {"on", BOOLEAN, INPUT},
    [mode] = {"mode", ENUMERATION, INPUT, .start = 1},
    [count] = {"count", INT32, INPUT},
    [text] = {"text", STRING, INPUT},
    [level] = {"level", REAL, INPUT, .discrete = true},
    [bytes] = {"bytes", BINARY, INPUT},
    [single] = {"single", FLOAT32, INPUT, .discrete = true},
    [tiny] = {"tiny", INT8, INPUT},
    [big] = {"big", INT64, INPUT},
    [unsigned_big] = {"unsigned_big", UINT64, INPUT},
    [moving] = {"moving", FLOAT32, INPUT},
    [negate] = {"negate", REAL, PARAMETER, .start = 1e9},
    [most] = {"most", INT32, PARAMETER, .start = 1000},
    [known] = {"known", BOOLEAN, LOCAL},
    [opposing] = {"opposing", BOOLEAN, LOCAL},
    [told_on] = {"told_on", BOOLEAN, OUTPUT, .needs = on},
    [told_mode] = {"told_mode", ENUMERATION, OUTPUT, .needs = mode},
    [told_count] = {"told_count", INT32, OUTPUT, .needs = count},
    [told_text] = {"told_text", STRING, OUTPUT, .needs = text},
    [told_level] = {"told_level", REAL, OUTPUT, .needs = level, .discrete = true},
    [told_bytes] = {"told_bytes", BINARY, OUTPUT, .needs = bytes},
    [told_single] = {"told_single", FLOAT32, OUTPUT, .needs = single, .discrete = true},
    [told_tiny] = {"told_tiny", INT8, OUTPUT, .needs = tiny},
    [told_big] = {"told_big", INT64, OUTPUT, .needs = big},
    [told_unsigned_big] = {"told_unsigned_big", UINT64, OUTPUT, .needs = unsigned_big},
    [told_moving] = {"told_moving", FLOAT32, OUTPUT, .needs = moving},
    [changes] = {"changes", INT32, OUTPUT},
};
const size_t model_row_count = COUNT, model_indicator_count = 0;

void model_outputs(State *s)
{
    for (unsigned i = on; i <= moving; i++) {
        const unsigned told = i - on + told_on;
        s->real[told] = s->real[i];
        s->integer[told] = s->integer[i];
        s->size[told] = s->size[i];
        memcpy(s->text[told], s->text[i], MAX_BYTES);
    }
    if (s->integer[opposing])
        s->integer[told_on] = !s->integer[on];
}

bool model_update(State *s)
{
    s->integer[changes] += s->integer[known] != s->integer[on];
    s->integer[known] = s->integer[on];
    s->integer[opposing] = s->t >= s->real[negate];
    return false;
}

const char *model_objection(const State *s, unsigned row)
{
    return row == count && s->integer[count] > s->integer[most] ? "the count is more than the most" : NULL;
}
