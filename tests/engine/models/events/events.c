/* FMI 3.0 co-simulation with event mode around a model of events.h. */
#include "events.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fmi3Functions.h"

enum { INSTANTIATED = 1, INITIALIZATION = 2, EVENT = 4, STEP = 8, TERMINATED = 16 };

typedef struct {
    State now;
    bool event_mode, early_return;
    fmi3InstanceEnvironment environment;
    fmi3LogMessageCallback log;
    fmi3IntermediateUpdateCallback update; /* if the importer wants to set inputs inside a step */
} Instance;

static fmi3Status refuse(const Instance *instance, const char *call, const char *why, unsigned row)
{
    char message[160];
    snprintf(message, sizeof message, "%s: %s (value reference %u)", call, why, row);
    if (instance->log)
        instance->log(instance->environment, fmi3Error, "logStatusError", message);
    return fmi3Error;
}

#define SELF Instance *self = instance
#define REQUIRE(modes)               \
    if (!(self->now.mode & (modes))) \
    return refuse(self, __func__, "not in this mode", 0)

const char *fmi3GetVersion(void)
{
    return "3.0";
}

fmi3Instance fmi3InstantiateCoSimulation(fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible,
                                         fmi3Boolean logging, fmi3Boolean eventModeUsed, fmi3Boolean earlyReturnAllowed,
                                         const fmi3ValueReference required[], size_t n,
                                         fmi3InstanceEnvironment environment, fmi3LogMessageCallback log,
                                         fmi3IntermediateUpdateCallback update)
{
    (void)name, (void)resources, (void)visible, (void)logging, (void)required;
    if (strcmp(token, model_token) != 0)
        return NULL;
    Instance *self = calloc(1, sizeof *self);
    *self = (Instance){.event_mode = eventModeUsed, .early_return = earlyReturnAllowed, .environment = environment};
    self->log = log;
    self->update = n > 0 ? update : NULL;
    fmi3Reset(self);
    return self;
}

fmi3Status fmi3Reset(fmi3Instance instance)
{
    SELF;
    self->now = (State){.mode = INSTANTIATED};
    for (unsigned i = 0; i < model_row_count; i++) {
        self->now.real[i] = model_rows[i].start;
        self->now.integer[i] = (int32_t)model_rows[i].start;
    }
    return fmi3OK;
}

void fmi3FreeInstance(fmi3Instance instance)
{
    free(instance);
}

fmi3Status fmi3EnterInitializationMode(fmi3Instance instance, fmi3Boolean has_tolerance, fmi3Float64 tolerance,
                                       fmi3Float64 start, fmi3Boolean has_stop, fmi3Float64 stop)
{
    SELF;
    (void)has_tolerance, (void)tolerance, (void)has_stop, (void)stop;
    REQUIRE(INSTANTIATED);
    self->now.mode = INITIALIZATION;
    self->now.t = start;
    return fmi3OK;
}

fmi3Status fmi3ExitInitializationMode(fmi3Instance instance)
{
    SELF;
    REQUIRE(INITIALIZATION);
    self->now.mode = self->event_mode ? EVENT : STEP;
    return fmi3OK;
}

fmi3Status fmi3EnterEventMode(fmi3Instance instance)
{
    SELF;
    REQUIRE(STEP);
    self->now.mode = EVENT;
    return fmi3OK;
}

fmi3Status fmi3EnterStepMode(fmi3Instance instance)
{
    SELF;
    REQUIRE(EVENT);
    self->now.mode = STEP;
    return fmi3OK;
}

fmi3Status fmi3UpdateDiscreteStates(fmi3Instance instance, fmi3Boolean *again, fmi3Boolean *terminate,
                                    fmi3Boolean *nominals, fmi3Boolean *states, fmi3Boolean *defined, fmi3Float64 *next)
{
    SELF;
    REQUIRE(EVENT);
    *terminate = *nominals = *states = *defined = false;
    *next = 0;
    bool ticked[MAX_ROWS];
    memcpy(ticked, self->now.active, sizeof ticked);
    *again = model_update(&self->now);
    for (unsigned i = 0; i < model_row_count; i++)
        if (model_rows[i].causality == INPUT || ticked[i])
            self->now.active[i] = false;
    return fmi3OK;
}

/* Continuous inputs at the start of the step, and their slopes. */
static void sample_inputs(Instance *self, double t, double h)
{
    State *now = &self->now;
    memset(now->slope, 0, sizeof now->slope);
    if (!self->update)
        return;
    double first[MAX_ROWS];
    bool early = false;
    self->update(self->environment, t + h, true, false, false, true, &early, &t);
    memcpy(first, now->real, sizeof first);
    self->update(self->environment, now->t, true, false, false, true, &early, &t);
    for (unsigned i = 0; i < model_row_count; i++)
        if (model_rows[i].causality == INPUT && model_rows[i].type == REAL && !model_rows[i].discrete)
            now->slope[i] = (first[i] - now->real[i]) / h;
}

__attribute__((weak)) Lie model_lie(const State *s)
{
    (void)s;
    return NONE;
}

fmi3Status fmi3DoStep(fmi3Instance instance, fmi3Float64 t, fmi3Float64 h, fmi3Boolean final, fmi3Boolean *event,
                      fmi3Boolean *terminate, fmi3Boolean *early, fmi3Float64 *reached)
{
    SELF;
    (void) final;
    REQUIRE(STEP);
    *event = *terminate = *early = false;
    if (fabs(t - self->now.t) > 1e-9)
        return refuse(self, __func__, "the step does not begin where the instance is", 0);
    const Lie lie = model_lie(&self->now);
    const bool returns = lie == RETURNS_UNASKED || (self->event_mode && self->early_return);
    if (lie == NO_PROGRESS) {
        *early = true;
        *reached = t;
        return fmi3OK;
    }
    sample_inputs(self, t, h);
    while (model_advance(&self->now, t + h)) {
        *event = self->event_mode;
        if (returns || (self->event_mode && self->now.t == t + h)) {
            *early = self->now.t < t + h;
            *reached = self->now.t;
            return fmi3OK;
        }
        /* Nobody comes to its help: so it does by itself what an event is about. */
        while (model_update(&self->now))
            ;
    }
    *reached = self->now.t = t + h;
    *early = lie == EARLY_BEYOND;
    if (lie == MIDDLE_UNFLAGGED)
        *reached = t + h / 2;
    if (lie == BEYOND_UNFLAGGED || lie == EARLY_BEYOND)
        *reached = t + 2 * h;
    return fmi3OK;
}

fmi3Status fmi3Terminate(fmi3Instance instance)
{
    SELF;
    REQUIRE(STEP | EVENT);
    self->now.mode = TERMINATED;
    return fmi3OK;
}

/* Whether a variable may be set or got now; NULL: it may. */
static const char *objection(const Instance *self, unsigned row, Type type, bool set)
{
    if (row >= model_row_count || model_rows[row].type != type)
        return "there is no such variable of this type";
    const Row *known = &model_rows[row];
    const int mode = self->now.mode;
    if (known->clock && mode != INSTANTIATED && !(mode == EVENT && self->now.active[known->clock]))
        return "the variable belongs to a clock that does not tick";
    if (set && known->causality == OUTPUT && mode != INSTANTIATED)
        return "an output cannot be set";
    if (set && known->causality == INPUT && known->discrete && self->event_mode && mode == STEP)
        return "a discrete input is set in event mode only";
    return NULL;
}

static unsigned elements(unsigned row)
{
    return model_rows[row].size ? model_rows[row].size : 1;
}

#define ACCESS(Type_, row_type, member)                                                                                \
    fmi3Status fmi3Get##Type_(fmi3Instance instance, const fmi3ValueReference rows[], size_t n, fmi3##Type_ v[],       \
                              size_t count)                                                                            \
    {                                                                                                                  \
        SELF;                                                                                                          \
        model_outputs(&self->now);                                                                                     \
        size_t at = 0;                                                                                                 \
        for (size_t i = 0; i < n; i++) {                                                                               \
            if (objection(self, rows[i], row_type, false))                                                             \
                return refuse(self, __func__, objection(self, rows[i], row_type, false), rows[i]);                     \
            for (unsigned k = 0; k < elements(rows[i]) && at < count; k++)                                             \
                v[at++] = self->now.member[rows[i] + k];                                                               \
        }                                                                                                              \
        return at == count ? fmi3OK : refuse(self, __func__, "the number of values is not that of the elements", 0);   \
    }                                                                                                                  \
    fmi3Status fmi3Set##Type_(fmi3Instance instance, const fmi3ValueReference rows[], size_t n, const fmi3##Type_ v[], \
                              size_t count)                                                                            \
    {                                                                                                                  \
        SELF;                                                                                                          \
        size_t at = 0;                                                                                                 \
        for (size_t i = 0; i < n; i++) {                                                                               \
            if (objection(self, rows[i], row_type, true))                                                              \
                return refuse(self, __func__, objection(self, rows[i], row_type, true), rows[i]);                      \
            for (unsigned k = 0; k < elements(rows[i]) && at < count; k++)                                             \
                self->now.member[rows[i] + k] = v[at++];                                                               \
        }                                                                                                              \
        return at == count ? fmi3OK : refuse(self, __func__, "the number of values is not that of the elements", 0);   \
    }

ACCESS(Float64, REAL, real)
ACCESS(Int32, INTEGER, integer)

fmi3Status fmi3GetBinary(fmi3Instance instance, const fmi3ValueReference rows[], size_t n, size_t sizes[],
                         fmi3Binary v[], size_t count)
{
    SELF;
    (void)count;
    model_outputs(&self->now);
    for (size_t i = 0; i < n; i++) {
        if (objection(self, rows[i], BYTES, false))
            return refuse(self, __func__, objection(self, rows[i], BYTES, false), rows[i]);
        sizes[i] = self->now.size[rows[i]];
        v[i] = self->now.bytes[rows[i]];
    }
    return fmi3OK;
}

fmi3Status fmi3SetBinary(fmi3Instance instance, const fmi3ValueReference rows[], size_t n, const size_t sizes[],
                         const fmi3Binary v[], size_t count)
{
    SELF;
    (void)count;
    for (size_t i = 0; i < n; i++) {
        if (objection(self, rows[i], BYTES, true) || sizes[i] > MAX_BYTES)
            return refuse(self, __func__, "the bytes cannot be set", rows[i]);
        self->now.size[rows[i]] = sizes[i];
        memcpy(self->now.bytes[rows[i]], v[i], sizes[i]);
    }
    return fmi3OK;
}

fmi3Status fmi3GetClock(fmi3Instance instance, const fmi3ValueReference rows[], size_t n, fmi3Clock v[])
{
    SELF;
    REQUIRE(EVENT);
    for (size_t i = 0; i < n; i++) {
        if (rows[i] >= model_row_count || model_rows[rows[i]].type != CLOCK || model_rows[rows[i]].causality != OUTPUT)
            return refuse(self, __func__, "there is no such output clock", rows[i]);
        v[i] = self->now.active[rows[i]];
    }
    return fmi3OK;
}

fmi3Status fmi3SetClock(fmi3Instance instance, const fmi3ValueReference rows[], size_t n, const fmi3Clock v[])
{
    SELF;
    REQUIRE(EVENT);
    for (size_t i = 0; i < n; i++) {
        if (rows[i] >= model_row_count || model_rows[rows[i]].type != CLOCK || model_rows[rows[i]].causality != INPUT)
            return refuse(self, __func__, "there is no such input clock", rows[i]);
        self->now.active[rows[i]] = v[i];
    }
    model_outputs(&self->now);
    return fmi3OK;
}

fmi3Status fmi3GetIntervalDecimal(fmi3Instance instance, const fmi3ValueReference rows[], size_t n,
                                  fmi3Float64 intervals[], fmi3IntervalQualifier qualifiers[])
{
    SELF;
    REQUIRE(EVENT | INITIALIZATION);
    for (size_t i = 0; i < n; i++)
        qualifiers[i] = (fmi3IntervalQualifier)model_interval(&self->now, rows[i], &intervals[i]);
    return fmi3OK;
}

__attribute__((weak)) int model_interval_fraction(const State *s, unsigned clock, uint64_t *counter,
                                                  uint64_t *resolution)
{
    (void)s, (void)clock, (void)counter, (void)resolution;
    return -1;
}

__attribute__((weak)) void model_shift_fraction(unsigned clock, uint64_t *counter, uint64_t *resolution)
{
    (void)clock;
    *counter = 0;
    *resolution = 1;
}

fmi3Status fmi3GetIntervalFraction(fmi3Instance instance, const fmi3ValueReference rows[], size_t n,
                                   fmi3UInt64 counters[], fmi3UInt64 resolutions[], fmi3IntervalQualifier qualifiers[])
{
    SELF;
    REQUIRE(EVENT | INITIALIZATION);
    for (size_t i = 0; i < n; i++) {
        const int qualifier = model_interval_fraction(&self->now, rows[i], &counters[i], &resolutions[i]);
        if (qualifier < 0)
            return refuse(self, __func__, "the clock does not support fractions", rows[i]);
        qualifiers[i] = (fmi3IntervalQualifier)qualifier;
    }
    return fmi3OK;
}

fmi3Status fmi3GetShiftDecimal(fmi3Instance instance, const fmi3ValueReference rows[], size_t n, fmi3Float64 shifts[])
{
    SELF;
    REQUIRE(EVENT | INITIALIZATION);
    for (size_t i = 0; i < n; i++) {
        uint64_t counter, resolution;
        model_shift_fraction(rows[i], &counter, &resolution);
        shifts[i] = (double)counter / (double)resolution;
    }
    return fmi3OK;
}

fmi3Status fmi3GetShiftFraction(fmi3Instance instance, const fmi3ValueReference rows[], size_t n, fmi3UInt64 counters[],
                                fmi3UInt64 resolutions[])
{
    SELF;
    REQUIRE(EVENT | INITIALIZATION);
    for (size_t i = 0; i < n; i++)
        model_shift_fraction(rows[i], &counters[i], &resolutions[i]);
    return fmi3OK;
}

/* What the importer says of clocks is kept in `place`. */
#define TOLD(What, place, modes)                                                                         \
    fmi3Status fmi3Set##What##Decimal(fmi3Instance instance, const fmi3ValueReference rows[], size_t n,  \
                                      const fmi3Float64 times[])                                         \
    {                                                                                                    \
        SELF;                                                                                            \
        REQUIRE(modes);                                                                                  \
        for (size_t i = 0; i < n; i++)                                                                   \
            self->now.place[rows[i]] = times[i];                                                         \
        return fmi3OK;                                                                                   \
    }                                                                                                    \
    fmi3Status fmi3Set##What##Fraction(fmi3Instance instance, const fmi3ValueReference rows[], size_t n, \
                                       const fmi3UInt64 counters[], const fmi3UInt64 resolutions[])      \
    {                                                                                                    \
        SELF;                                                                                            \
        REQUIRE(modes);                                                                                  \
        for (size_t i = 0; i < n; i++)                                                                   \
            self->now.place[rows[i]] = (double)counters[i] / (double)resolutions[i];                     \
        return fmi3OK;                                                                                   \
    }
TOLD(Interval, interval, INITIALIZATION | EVENT)
TOLD(Shift, shift, INITIALIZATION)

#include "../states3.h"

/* What the importer has to find in the binary, and is not to call. */
#define NOT_OFFERED(name, ...)   \
    fmi3Status name(__VA_ARGS__) \
    {                            \
        return fmi3Error;        \
    }
#pragma GCC diagnostic ignored "-Wunused-parameter"
#define REFERENCES fmi3Instance instance, const fmi3ValueReference rows[], size_t n
#define NO_VARIABLES(Type_)                                                \
    NOT_OFFERED(fmi3Get##Type_, REFERENCES, fmi3##Type_ v[], size_t count) \
    NOT_OFFERED(fmi3Set##Type_, REFERENCES, const fmi3##Type_ v[], size_t count)

NO_VARIABLES(Float32)
NO_VARIABLES(Int8)
NO_VARIABLES(UInt8)
NO_VARIABLES(Int16)
NO_VARIABLES(UInt16)
NO_VARIABLES(UInt32)
NO_VARIABLES(Int64)
NO_VARIABLES(UInt64)
NO_VARIABLES(Boolean)
NO_VARIABLES(String)
NOT_OFFERED(fmi3SetDebugLogging, fmi3Instance instance, fmi3Boolean on, size_t n, const fmi3String categories[])
NOT_OFFERED(fmi3ActivateModelPartition, fmi3Instance instance, fmi3ValueReference clock, fmi3Float64 t)
NOT_OFFERED(fmi3EnterConfigurationMode, fmi3Instance instance)
NOT_OFFERED(fmi3ExitConfigurationMode, fmi3Instance instance)
NOT_OFFERED(fmi3EvaluateDiscreteStates, fmi3Instance instance)
NOT_OFFERED(fmi3GetNumberOfVariableDependencies, fmi3Instance instance, fmi3ValueReference row, size_t *n)
NOT_OFFERED(fmi3GetVariableDependencies, fmi3Instance instance, fmi3ValueReference row, size_t a[],
            fmi3ValueReference b[], size_t c[], fmi3DependencyKind d[], size_t n)
NOT_OFFERED(fmi3GetDirectionalDerivative, REFERENCES, const fmi3ValueReference b[], size_t m, const fmi3Float64 c[],
            size_t k, fmi3Float64 d[], size_t l)
NOT_OFFERED(fmi3GetAdjointDerivative, REFERENCES, const fmi3ValueReference b[], size_t m, const fmi3Float64 c[],
            size_t k, fmi3Float64 d[], size_t l)
NOT_OFFERED(fmi3GetOutputDerivatives, REFERENCES, const fmi3Int32 orders[], fmi3Float64 v[], size_t count)

#define MODES fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible, fmi3Boolean logging
#define LOG fmi3InstanceEnvironment environment, fmi3LogMessageCallback log

fmi3Instance fmi3InstantiateModelExchange(MODES, LOG)
{
    return NULL;
}

fmi3Instance fmi3InstantiateScheduledExecution(MODES, LOG, fmi3ClockUpdateCallback a, fmi3LockPreemptionCallback b,
                                               fmi3UnlockPreemptionCallback c)
{
    return NULL;
}

#define NO_MODEL_EXCHANGE(name) NOT_OFFERED(name, fmi3Instance instance, const fmi3Float64 values[], size_t n)
#define NO_STATES(name) NOT_OFFERED(name, fmi3Instance instance, fmi3Float64 values[], size_t n)
NO_MODEL_EXCHANGE(fmi3SetContinuousStates)
NO_STATES(fmi3GetContinuousStates)
NO_STATES(fmi3GetContinuousStateDerivatives)
NO_STATES(fmi3GetNominalsOfContinuousStates)
NO_STATES(fmi3GetEventIndicators)
NOT_OFFERED(fmi3EnterContinuousTimeMode, fmi3Instance instance)
NOT_OFFERED(fmi3SetTime, fmi3Instance instance, fmi3Float64 t)
NOT_OFFERED(fmi3GetNumberOfContinuousStates, fmi3Instance instance, size_t *n)
NOT_OFFERED(fmi3GetNumberOfEventIndicators, fmi3Instance instance, size_t *n)
NOT_OFFERED(fmi3CompletedIntegratorStep, fmi3Instance instance, fmi3Boolean final, fmi3Boolean *event,
            fmi3Boolean *terminate)
