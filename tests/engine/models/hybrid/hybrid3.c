/* FMI 3.0 around a model of hybrid.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fmi3Functions.h"
#include "hybrid.h"

static fmi3Status refuse(const Instance *self, const char *call, const char *why, unsigned row)
{
    char message[160];
    snprintf(message, sizeof message, "%s: %s (value reference %u)", call, why, row);
    if (self->log)
        ((fmi3LogMessageCallback)self->log)((void *)self->environment, fmi3Error, "logStatusError", message);
    return fmi3Error;
}

#define SELF Instance *self = instance
#define REQUIRE(modes)               \
    if (!(self->now.mode & (modes))) \
    return refuse(self, __func__, "not in this mode", 0)
#define CHANGE(name, from, to)             \
    fmi3Status name(fmi3Instance instance) \
    {                                      \
        SELF;                              \
        REQUIRE(from);                     \
        self->now.mode = to;               \
        return fmi3OK;                     \
    }
CHANGE(fmi3ExitInitializationMode, INITIALIZATION, self->now.exchange || self->now.event_mode ? EVENT : STEP)
CHANGE(fmi3EnterEventMode, self->now.exchange ? CONTINUOUS : STEP, EVENT)
CHANGE(fmi3EnterStepMode, EVENT, STEP)
CHANGE(fmi3EnterContinuousTimeMode, EVENT, CONTINUOUS)
CHANGE(fmi3Terminate, EVENT | CONTINUOUS | STEP, TERMINATED)

const char *fmi3GetVersion(void)
{
    return "3.0";
}

static Instance *made(fmi3String token, bool exchange, void *environment, fmi3LogMessageCallback log)
{
    if (strcmp(token, model_name) != 0)
        return NULL;
    Instance *self = hybrid_new(exchange);
    self->environment = environment;
    self->log = (void (*)(void))log;
    return self;
}

#define NAMED fmi3String name, fmi3String token, fmi3String resources, fmi3Boolean visible, fmi3Boolean logging
#define LOG fmi3InstanceEnvironment environment, fmi3LogMessageCallback log
#pragma GCC diagnostic ignored "-Wunused-parameter"

fmi3Instance fmi3InstantiateModelExchange(NAMED, LOG)
{
    return made(token, true, environment, log);
}

fmi3Instance fmi3InstantiateCoSimulation(NAMED, fmi3Boolean event_mode, fmi3Boolean early,
                                         const fmi3ValueReference required[], size_t n, LOG,
                                         fmi3IntermediateUpdateCallback update)
{
    Instance *self = made(token, false, environment, log);
    if (self)
        self->now.event_mode = event_mode;
    return self;
}

fmi3Instance fmi3InstantiateScheduledExecution(NAMED, LOG, fmi3ClockUpdateCallback a, fmi3LockPreemptionCallback b,
                                               fmi3UnlockPreemptionCallback c)
{
    return NULL;
}

void fmi3FreeInstance(fmi3Instance instance)
{
    free(instance);
}

fmi3Status fmi3EnterInitializationMode(fmi3Instance instance, fmi3Boolean has_tolerance, fmi3Float64 tolerance,
                                       fmi3Float64 start, fmi3Boolean has_stop, fmi3Float64 stop)
{
    SELF;
    REQUIRE(INSTANTIATED);
    self->now.mode = INITIALIZATION;
    self->now.t = start;
    return fmi3OK;
}

fmi3Status fmi3Reset(fmi3Instance instance)
{
    SELF;
    Instance *fresh = hybrid_new(self->now.exchange);
    fresh->now.event_mode = self->now.event_mode;
    self->now = fresh->now;
    free(fresh);
    return fmi3OK;
}

/* -- values ----------------------------------------------------------------------------------------------------- */

#define ACCESS(Type_, row_type, member)                                                                                \
    fmi3Status fmi3Get##Type_(fmi3Instance instance, const fmi3ValueReference rows[], size_t n, fmi3##Type_ v[],       \
                              size_t count)                                                                            \
    {                                                                                                                  \
        SELF;                                                                                                          \
        model_outputs(&self->now);                                                                                     \
        for (size_t i = 0; i < n; i++) {                                                                               \
            const Type type =                                                                                          \
                row_type == INT64 && rows[i] < model_row_count && model_rows[rows[i]].type == ENUMERATION              \
                    ? ENUMERATION                                                                                      \
                    : row_type;                                                                                        \
            const char *why = hybrid_objection(self, rows[i], type, false);                                            \
            if (why)                                                                                                   \
                return refuse(self, __func__, why, rows[i]);                                                           \
            v[i] = (fmi3##Type_)self->now.member[rows[i]];                                                             \
        }                                                                                                              \
        return fmi3OK;                                                                                                 \
    }                                                                                                                  \
    fmi3Status fmi3Set##Type_(fmi3Instance instance, const fmi3ValueReference rows[], size_t n, const fmi3##Type_ v[], \
                              size_t count)                                                                            \
    {                                                                                                                  \
        SELF;                                                                                                          \
        for (size_t i = 0; i < n; i++) {                                                                               \
            const Type type =                                                                                          \
                row_type == INT64 && rows[i] < model_row_count && model_rows[rows[i]].type == ENUMERATION              \
                    ? ENUMERATION                                                                                      \
                    : row_type;                                                                                        \
            const char *why = hybrid_objection(self, rows[i], type, true);                                             \
            if (!why) {                                                                                                \
                self->now.member[rows[i]] = v[i];                                                                      \
                why = model_objection(&self->now, rows[i]);                                                            \
            }                                                                                                          \
            if (why)                                                                                                   \
                return refuse(self, __func__, why, rows[i]);                                                           \
        }                                                                                                              \
        return fmi3OK;                                                                                                 \
    }

ACCESS(Float64, REAL, real)
ACCESS(Float32, FLOAT32, real)
ACCESS(Int8, INT8, integer)
ACCESS(UInt8, UINT8, integer)
ACCESS(Int16, INT16, integer)
ACCESS(UInt16, UINT16, integer)
ACCESS(Int32, INT32, integer)
ACCESS(UInt32, UINT32, integer)
ACCESS(Int64, INT64, integer)
ACCESS(UInt64, UINT64, integer)
ACCESS(Boolean, BOOLEAN, integer)

fmi3Status fmi3GetString(fmi3Instance instance, const fmi3ValueReference rows[], size_t n, fmi3String v[], size_t count)
{
    SELF;
    model_outputs(&self->now);
    for (size_t i = 0; i < n; i++) {
        const char *why = hybrid_objection(self, rows[i], STRING, false);
        if (why)
            return refuse(self, __func__, why, rows[i]);
        v[i] = self->now.text[rows[i]];
    }
    return fmi3OK;
}

fmi3Status fmi3SetString(fmi3Instance instance, const fmi3ValueReference rows[], size_t n, const fmi3String v[],
                         size_t count)
{
    SELF;
    for (size_t i = 0; i < n; i++) {
        const char *why = hybrid_objection(self, rows[i], STRING, true);
        if (why)
            return refuse(self, __func__, why, rows[i]);
        snprintf(self->now.text[rows[i]], MAX_BYTES, "%s", v[i]);
    }
    return fmi3OK;
}

fmi3Status fmi3GetBinary(fmi3Instance instance, const fmi3ValueReference rows[], size_t n, size_t sizes[],
                         fmi3Binary v[], size_t count)
{
    SELF;
    model_outputs(&self->now);
    for (size_t i = 0; i < n; i++) {
        const char *why = hybrid_objection(self, rows[i], BINARY, false);
        if (why)
            return refuse(self, __func__, why, rows[i]);
        sizes[i] = self->now.size[rows[i]];
        v[i] = (const fmi3Byte *)self->now.text[rows[i]];
    }
    return fmi3OK;
}

fmi3Status fmi3SetBinary(fmi3Instance instance, const fmi3ValueReference rows[], size_t n, const size_t sizes[],
                         const fmi3Binary v[], size_t count)
{
    SELF;
    for (size_t i = 0; i < n; i++) {
        const char *why = hybrid_objection(self, rows[i], BINARY, true);
        if (why || sizes[i] > MAX_BYTES)
            return refuse(self, __func__, why ? why : "too many bytes", rows[i]);
        self->now.size[rows[i]] = sizes[i];
        memcpy(self->now.text[rows[i]], v[i], sizes[i]);
    }
    return fmi3OK;
}

fmi3Status fmi3GetClock(fmi3Instance instance, const fmi3ValueReference rows[], size_t n, fmi3Clock v[])
{
    SELF;
    REQUIRE(EVENT);
    model_outputs(&self->now);
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
    return fmi3OK;
}

/* -- model exchange and co-simulation --------------------------------------------------------------------------- */

fmi3Status fmi3UpdateDiscreteStates(fmi3Instance instance, fmi3Boolean *again, fmi3Boolean *terminate,
                                    fmi3Boolean *nominals, fmi3Boolean *states, fmi3Boolean *defined, fmi3Float64 *next)
{
    SELF;
    REQUIRE(EVENT);
    *terminate = *nominals = *states = false;
    *again = hybrid_update(self, next);
    *defined = isfinite(*next);
    return fmi3OK;
}

fmi3Status fmi3SetTime(fmi3Instance instance, fmi3Float64 t)
{
    SELF;
    REQUIRE(CONTINUOUS | EVENT);
    self->now.t = t;
    return fmi3OK;
}

fmi3Status fmi3SetContinuousStates(fmi3Instance instance, const fmi3Float64 x[], size_t n)
{
    SELF;
    unsigned rows[MAX_ROWS];
    REQUIRE(CONTINUOUS);
    hybrid_states(rows);
    for (size_t i = 0; i < n; i++)
        self->now.real[rows[i]] = x[i];
    return fmi3OK;
}

fmi3Status fmi3GetContinuousStates(fmi3Instance instance, fmi3Float64 x[], size_t n)
{
    SELF;
    unsigned rows[MAX_ROWS];
    hybrid_states(rows);
    for (size_t i = 0; i < n; i++)
        x[i] = self->now.real[rows[i]];
    return fmi3OK;
}

fmi3Status fmi3GetContinuousStateDerivatives(fmi3Instance instance, fmi3Float64 slopes[], size_t n)
{
    hybrid_derivatives(instance, slopes);
    return fmi3OK;
}

fmi3Status fmi3GetNominalsOfContinuousStates(fmi3Instance instance, fmi3Float64 nominals[], size_t n)
{
    for (size_t i = 0; i < n; i++)
        nominals[i] = 1;
    return fmi3OK;
}

fmi3Status fmi3GetEventIndicators(fmi3Instance instance, fmi3Float64 z[], size_t n)
{
    SELF;
    model_outputs(&self->now);
    model_indicators(&self->now, z);
    return fmi3OK;
}

fmi3Status fmi3GetNumberOfContinuousStates(fmi3Instance instance, size_t *n)
{
    unsigned rows[MAX_ROWS];
    *n = hybrid_states(rows);
    return fmi3OK;
}

fmi3Status fmi3GetNumberOfEventIndicators(fmi3Instance instance, size_t *n)
{
    *n = model_indicator_count;
    return fmi3OK;
}

fmi3Status fmi3CompletedIntegratorStep(fmi3Instance instance, fmi3Boolean final, fmi3Boolean *event,
                                       fmi3Boolean *terminate)
{
    *event = *terminate = false;
    return fmi3OK;
}

fmi3Status fmi3DoStep(fmi3Instance instance, fmi3Float64 t, fmi3Float64 h, fmi3Boolean final, fmi3Boolean *event,
                      fmi3Boolean *terminate, fmi3Boolean *early, fmi3Float64 *reached)
{
    SELF;
    REQUIRE(STEP);
    *event = *terminate = *early = false;
    hybrid_step(self, t + h);
    *reached = t + h;
    return fmi3OK;
}

/* -- states ----------------------------------------------------------------------------------------------------- */

#include "../states3.h"

/* What the importer has to find in the binary, and is not to call. */
#define NOT_OFFERED(name, ...)   \
    fmi3Status name(__VA_ARGS__) \
    {                            \
        return fmi3Error;        \
    }
#define REFERENCES fmi3Instance instance, const fmi3ValueReference rows[], size_t n
NOT_OFFERED(fmi3GetIntervalDecimal, REFERENCES, fmi3Float64 v[], fmi3IntervalQualifier q[])
NOT_OFFERED(fmi3GetShiftDecimal, REFERENCES, fmi3Float64 v[])
NOT_OFFERED(fmi3SetShiftDecimal, REFERENCES, const fmi3Float64 v[])
NOT_OFFERED(fmi3SetIntervalDecimal, REFERENCES, const fmi3Float64 v[])
NOT_OFFERED(fmi3GetShiftFraction, REFERENCES, fmi3UInt64 c[], fmi3UInt64 r[])
NOT_OFFERED(fmi3SetShiftFraction, REFERENCES, const fmi3UInt64 c[], const fmi3UInt64 r[])
NOT_OFFERED(fmi3GetIntervalFraction, REFERENCES, fmi3UInt64 c[], fmi3UInt64 r[], fmi3IntervalQualifier q[])
NOT_OFFERED(fmi3SetIntervalFraction, REFERENCES, const fmi3UInt64 c[], const fmi3UInt64 r[])
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
