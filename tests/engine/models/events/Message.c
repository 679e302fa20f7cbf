/* `out` is `in` with one more byte: the number of steps so far. So the first byte of a message may be 0. */
#include "events.h"

#include <string.h>

enum { TIME, in, out, length, COUNT };
enum { steps };

const char *const model_token = "Message";
const Row model_rows[] = {
    [TIME] = {REAL, OUTPUT},
    [in] = {BYTES, INPUT, true},
    [out] = {BYTES, OUTPUT, true},
    [length] = {INTEGER, OUTPUT, true},
};
const size_t model_row_count = COUNT;

void model_outputs(State *s)
{
    s->size[out] = s->size[in] < MAX_BYTES ? s->size[in] + 1 : MAX_BYTES;
    memcpy(s->bytes[out], s->bytes[in], s->size[out] - 1);
    s->bytes[out][s->size[out] - 1] = (unsigned char)s->own[steps];
    s->integer[length] = (int32_t)s->size[in];
}

bool model_advance(State *s, double end)
{
    s->own[steps]++;
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
