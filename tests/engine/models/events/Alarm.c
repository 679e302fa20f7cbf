/* Two clocks whose intervals are its own business: `beat` (changing) ticks after 0.1 s, then 0.1, 0.2, 0.3 s later, and
 * so on; `alarm` (countdown) ticks `pause` after every tick of `beat`.
 */
#include "events.h"

enum { TIME, beat, alarm, beats, alarms, pause, COUNT };
enum { counting };

const char *const model_token = "Alarm";
const Row model_rows[] = {
    [TIME] = {REAL, OUTPUT},           [beat] = {CLOCK, INPUT, true},      [alarm] = {CLOCK, INPUT, true},
    [beats] = {INTEGER, OUTPUT, true}, [alarms] = {INTEGER, OUTPUT, true}, [pause] = {REAL, PARAMETER, .start = 0.05},
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
    s->own[counting] = s->active[beat] || (s->active[alarm] && s->real[pause] == 0);
    s->integer[beats] += s->active[beat];
    s->integer[alarms] += s->active[alarm];
    return false;
}

int model_interval(const State *s, unsigned clock, double *interval)
{
    *interval = clock == beat ? 0.1 * (s->integer[beats] ? s->integer[beats] : 1) : s->real[pause];
    return clock == beat || s->own[counting] ? 2 : s->integer[beats] ? 1 : 0;
}
