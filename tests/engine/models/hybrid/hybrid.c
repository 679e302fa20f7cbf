#include "hybrid.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Weak: a model that has such a thing defines its own. */
#define DEFAULT __attribute__((weak))

DEFAULT const bool model_event_mode = false;

DEFAULT void model_indicators(const State *s, double z[])
{
    (void)s, (void)z;
}

DEFAULT double model_next(const State *s)
{
    (void)s;
    return INFINITY;
}

DEFAULT const char *model_objection(const State *s, unsigned row)
{
    (void)s, (void)row;
    return NULL;
}

bool has_version(const Row *row, int version)
{
    if (version == 3)
        return true;
    return !row->clock && (row->type == REAL || row->type == INT32 || row->type == BOOLEAN ||
                           row->type == ENUMERATION || row->type == STRING);
}

Instance *hybrid_new(bool exchange)
{
    Instance *self = calloc(1, sizeof *self);
    self->now.mode = INSTANTIATED;
    self->now.exchange = exchange;
    for (unsigned i = 0; i < model_row_count; i++) {
        self->now.real[i] = model_rows[i].start;
        self->now.integer[i] = (int64_t)model_rows[i].start;
    }
    return self;
}

const char *hybrid_objection(const Instance *self, unsigned row, Type type, bool set)
{
    if (row >= model_row_count || model_rows[row].type != type)
        return "there is no such variable of this type";
    const Row *known = &model_rows[row];
    const int mode = self->now.mode, start = INSTANTIATED | INITIALIZATION;
    if (known->clock && mode != INSTANTIATED && !(mode == EVENT && self->now.active[known->clock]))
        return "the variable belongs to a clock that does not tick";
    if (!set)
        return NULL;
    if (known->causality == OUTPUT || known->causality == LOCAL)
        return mode & start ? NULL : "what is computed cannot be set";
    if (known->causality == PARAMETER)
        return mode & start ? NULL : "a fixed parameter is set before the start";
    const bool continuous = (type == REAL || type == FLOAT32) && !known->discrete;
    if (!continuous && (mode == CONTINUOUS || (mode == STEP && self->now.event_mode)))
        return "a discrete input is set in event mode only";
    return NULL;
}

bool hybrid_update(Instance *self, double *next)
{
    model_outputs(&self->now);
    const bool again = model_update(&self->now);
    model_outputs(&self->now);
    for (unsigned i = 0; i < model_row_count; i++)
        if (model_rows[i].type == CLOCK && model_rows[i].causality == INPUT)
            self->now.active[i] = false;
    *next = model_next(&self->now);
    return again;
}

/* Slopes are constant between events. */
void hybrid_step(Instance *self, double end)
{
    unsigned rows[MAX_ROWS];
    double slope[MAX_ROWS], next;
    const size_t n = hybrid_states(rows);
    hybrid_derivatives(self, slope);
    for (size_t i = 0; i < n; i++)
        self->now.real[rows[i]] += slope[i] * (end - self->now.t);
    self->now.t = end;
    while (!self->now.event_mode && hybrid_update(self, &next))
        ;
}

size_t hybrid_states(unsigned rows[])
{
    size_t n = 0;
    for (unsigned i = 0; i < model_row_count; i++)
        if (model_rows[i].derivative_of)
            rows[n++] = model_rows[i].derivative_of;
    return n;
}

void hybrid_derivatives(Instance *self, double slope[])
{
    size_t n = 0;
    model_outputs(&self->now);
    for (unsigned i = 0; i < model_row_count; i++)
        if (model_rows[i].derivative_of)
            slope[n++] = self->now.real[i];
}
