/* Clocks whose intervals can change. `beat` (tunable, in fractions) ticks `rate` times in a third of a second, as the
 * FMU says; it begins after a sixth of a second, as only the FMU knows. `bar` (fixed) and `line` (tunable) tick as
 * often as the importer says, at each tick of which `bar_told` and `line_told` become what the FMU has been told of
 * that.
 */
#include "events.h"

enum { TIME, beat, bar, line, beats, bars, lines, bar_told, line_told, bar_shift, rate, COUNT };

const char *const model_token = "Metronome";
const Row model_rows[] = {
    [TIME] = {REAL, OUTPUT},
    [beat] = {CLOCK, INPUT, true},
    [bar] = {CLOCK, INPUT, true},
    [line] = {CLOCK, INPUT, true},
    [beats] = {INTEGER, OUTPUT, true},
    [bars] = {INTEGER, OUTPUT, true},
    [lines] = {INTEGER, OUTPUT, true},
    [bar_told] = {REAL, OUTPUT, true},
    [line_told] = {REAL, OUTPUT, true},
    [bar_shift] = {REAL, OUTPUT, true},
    [rate] = {INTEGER, PARAMETER, .start = 1},
};
const size_t model_row_count = COUNT;

void model_outputs(State *s)
{
    (void)s;
}

bool model_advance(State *s, double end)
{
    s->t = end;
    return false;
}

bool model_update(State *s)
{
    s->integer[beats] += s->active[beat];
    s->integer[bars] += s->active[bar];
    s->integer[lines] += s->active[line];
    s->real[bar_told] = s->interval[bar];
    s->real[line_told] = s->interval[line];
    s->real[bar_shift] = s->shift[bar];
    return false;
}

int model_interval(const State *s, unsigned clock, double *interval)
{
    *interval = 1. / (3 * s->integer[rate]);
    return clock == beat ? 2 : 1;
}

int model_interval_fraction(const State *s, unsigned clock, uint64_t *counter, uint64_t *resolution)
{
    *counter = 1;
    *resolution = 3 * (uint64_t)s->integer[rate];
    return clock == beat ? 2 : 1;
}

void model_shift_fraction(unsigned clock, uint64_t *counter, uint64_t *resolution)
{
    *counter = clock == beat;
    *resolution = 6;
}
