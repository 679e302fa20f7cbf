/* Beats at every multiple of `period`; at t = `late` it asks for an event that is over. */
#include "hybrid.h"

enum { TIME, period, late, beats, even, d, COUNT };

const char *const model_name = "Beats";
const Row model_rows[] = {
    [TIME] = {"time", REAL, LOCAL},
    [period] = {"period", REAL, PARAMETER, .start = 0.3},
    [late] = {"late", REAL, PARAMETER, .start = 1e9},
    [beats] = {"beats", INT32, OUTPUT},
    [even] = {"even", BOOLEAN, OUTPUT},
    [d] = {"d", REAL, OUTPUT, .discrete = true},
};
const size_t model_row_count = COUNT, model_indicator_count = 0;

void model_outputs(State *s)
{
    s->integer[even] = s->integer[beats] % 2 == 0;
    s->real[d] = 0.5 * (double)s->integer[beats];
}

bool model_update(State *s)
{
    if (s->t < (double)(s->integer[beats] + 1) * s->real[period] - 1e-12)
        return false;
    s->integer[beats]++;
    return true;
}

double model_next(const State *s)
{
    return s->t >= s->real[late] ? s->real[late] / 2 : (double)(s->integer[beats] + 1) * s->real[period];
}
