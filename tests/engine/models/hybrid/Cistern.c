/* FMI 3.0: x' = u. At x = top the clock `full` ticks and x becomes 0; whenever `drop` ticks, x becomes less by
 * `amount`. */
#include "hybrid.h"

enum { TIME, u, drop, amount, x, der_x, full, fills, top, z, COUNT };

const char *const model_name = "Cistern";
const Row model_rows[] = {
    [TIME] = {"time", REAL, LOCAL},
    [u] = {"u", REAL, INPUT, .start = 1},
    [drop] = {"drop", CLOCK, INPUT},
    [amount] = {"amount", REAL, INPUT, .discrete = true, .clock = drop},
    [x] = {"x", REAL, OUTPUT, .state = true},
    [der_x] = {"der(x)", REAL, LOCAL, .derivative_of = x},
    [full] = {"full", CLOCK, OUTPUT},
    [fills] = {"fills", INT32, OUTPUT},
    [top] = {"top", REAL, PARAMETER, .start = 1},
    [z] = {"z", REAL, LOCAL},
};
const size_t model_row_count = COUNT, model_indicator_count = 1;

void model_outputs(State *s)
{
    s->real[der_x] = s->real[u];
    s->real[z] = s->real[top] - s->real[x];
    s->active[full] = s->mode == EVENT && s->real[z] <= 0;
}

void model_indicators(const State *s, double found[])
{
    found[0] = s->real[z];
}

bool model_update(State *s)
{
    if (s->active[drop])
        s->real[x] -= s->real[amount];
    if (!s->active[full])
        return false;
    s->real[x] = 0;
    s->integer[fills]++;
    return true;
}
