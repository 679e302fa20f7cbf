/* FMI 2.0 around a model of hybrid.h. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fmi2Functions.h"
#include "hybrid.h"

#define SELF Instance *self = c
#pragma GCC diagnostic ignored "-Wunused-parameter"

static fmi2Status refuse(const Instance *self, const char *call, const char *why, unsigned row)
{
    const fmi2CallbackFunctions *callbacks = self->environment;
    char message[160];
    snprintf(message, sizeof message, "%s: %s (value reference %u)", call, why, row);
    callbacks->logger(callbacks->componentEnvironment, model_name, fmi2Error, "logStatusError", message);
    return fmi2Error;
}

#define REQUIRE(modes)               \
    if (!(self->now.mode & (modes))) \
    return refuse(self, __func__, "not in this mode", 0)
#define CHANGE(name, from, to)       \
    fmi2Status name(fmi2Component c) \
    {                                \
        SELF;                        \
        REQUIRE(from);               \
        self->now.mode = to;         \
        return fmi2OK;               \
    }
CHANGE(fmi2EnterInitializationMode, INSTANTIATED, INITIALIZATION)
CHANGE(fmi2ExitInitializationMode, INITIALIZATION, self->now.exchange ? EVENT : STEP)
CHANGE(fmi2EnterEventMode, CONTINUOUS, EVENT)
CHANGE(fmi2EnterContinuousTimeMode, EVENT, CONTINUOUS)
CHANGE(fmi2Terminate, EVENT | CONTINUOUS | STEP, TERMINATED)

const char *fmi2GetTypesPlatform(void)
{
    return "default";
}

const char *fmi2GetVersion(void)
{
    return "2.0";
}

fmi2Component fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String guid, fmi2String resources,
                              const fmi2CallbackFunctions *callbacks, fmi2Boolean visible, fmi2Boolean logging)
{
    if (strcmp(guid, model_name) != 0)
        return NULL;
    Instance *self = hybrid_new(type == fmi2ModelExchange);
    self->environment = callbacks;
    return self;
}

void fmi2FreeInstance(fmi2Component c)
{
    free(c);
}

fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean has_tolerance, fmi2Real tolerance, fmi2Real start,
                               fmi2Boolean has_stop, fmi2Real stop)
{
    SELF;
    REQUIRE(INSTANTIATED);
    self->now.t = start;
    return fmi2OK;
}

fmi2Status fmi2Reset(fmi2Component c)
{
    SELF;
    Instance *fresh = hybrid_new(self->now.exchange);
    self->now = fresh->now;
    free(fresh);
    return fmi2OK;
}

/* -- values ----------------------------------------------------------------------------------------------------- */

static Type type_of(unsigned row, Type type)
{
    return type == INT32 && row < model_row_count && model_rows[row].type == ENUMERATION ? ENUMERATION : type;
}

#define ACCESS(Type_, row_type, member)                                                                          \
    fmi2Status fmi2Get##Type_(fmi2Component c, const fmi2ValueReference rows[], size_t n, fmi2##Type_ v[])       \
    {                                                                                                            \
        SELF;                                                                                                    \
        model_outputs(&self->now);                                                                               \
        for (size_t i = 0; i < n; i++) {                                                                         \
            const char *why = hybrid_objection(self, rows[i], type_of(rows[i], row_type), false);                \
            if (why)                                                                                             \
                return refuse(self, __func__, why, rows[i]);                                                     \
            v[i] = (fmi2##Type_)self->now.member[rows[i]];                                                       \
        }                                                                                                        \
        return fmi2OK;                                                                                           \
    }                                                                                                            \
    fmi2Status fmi2Set##Type_(fmi2Component c, const fmi2ValueReference rows[], size_t n, const fmi2##Type_ v[]) \
    {                                                                                                            \
        SELF;                                                                                                    \
        for (size_t i = 0; i < n; i++) {                                                                         \
            const char *why = hybrid_objection(self, rows[i], type_of(rows[i], row_type), true);                 \
            if (!why) {                                                                                          \
                self->now.member[rows[i]] = v[i];                                                                \
                why = model_objection(&self->now, rows[i]);                                                      \
            }                                                                                                    \
            if (why)                                                                                             \
                return refuse(self, __func__, why, rows[i]);                                                     \
        }                                                                                                        \
        return fmi2OK;                                                                                           \
    }

ACCESS(Real, REAL, real)
ACCESS(Integer, INT32, integer)
ACCESS(Boolean, BOOLEAN, integer)

fmi2Status fmi2GetString(fmi2Component c, const fmi2ValueReference rows[], size_t n, fmi2String v[])
{
    SELF;
    model_outputs(&self->now);
    for (size_t i = 0; i < n; i++) {
        const char *why = hybrid_objection(self, rows[i], STRING, false);
        if (why)
            return refuse(self, __func__, why, rows[i]);
        v[i] = self->now.text[rows[i]];
    }
    return fmi2OK;
}

fmi2Status fmi2SetString(fmi2Component c, const fmi2ValueReference rows[], size_t n, const fmi2String v[])
{
    SELF;
    for (size_t i = 0; i < n; i++) {
        const char *why = hybrid_objection(self, rows[i], STRING, true);
        if (why)
            return refuse(self, __func__, why, rows[i]);
        snprintf(self->now.text[rows[i]], MAX_BYTES, "%s", v[i]);
    }
    return fmi2OK;
}

/* -- model exchange and co-simulation --------------------------------------------------------------------------- */

fmi2Status fmi2NewDiscreteStates(fmi2Component c, fmi2EventInfo *info)
{
    SELF;
    REQUIRE(EVENT);
    double next;
    const bool again = hybrid_update(self, &next);
    *info = (fmi2EventInfo){.newDiscreteStatesNeeded = again, .nextEventTimeDefined = isfinite(next)};
    info->nextEventTime = next;
    return fmi2OK;
}

fmi2Status fmi2SetTime(fmi2Component c, fmi2Real t)
{
    SELF;
    REQUIRE(CONTINUOUS | EVENT);
    self->now.t = t;
    return fmi2OK;
}

fmi2Status fmi2SetContinuousStates(fmi2Component c, const fmi2Real x[], size_t n)
{
    SELF;
    unsigned rows[MAX_ROWS];
    REQUIRE(CONTINUOUS);
    hybrid_states(rows);
    for (size_t i = 0; i < n; i++)
        self->now.real[rows[i]] = x[i];
    return fmi2OK;
}

fmi2Status fmi2GetContinuousStates(fmi2Component c, fmi2Real x[], size_t n)
{
    SELF;
    unsigned rows[MAX_ROWS];
    hybrid_states(rows);
    for (size_t i = 0; i < n; i++)
        x[i] = self->now.real[rows[i]];
    return fmi2OK;
}

fmi2Status fmi2GetDerivatives(fmi2Component c, fmi2Real slopes[], size_t n)
{
    hybrid_derivatives(c, slopes);
    return fmi2OK;
}

fmi2Status fmi2GetNominalsOfContinuousStates(fmi2Component c, fmi2Real nominals[], size_t n)
{
    for (size_t i = 0; i < n; i++)
        nominals[i] = 1;
    return fmi2OK;
}

fmi2Status fmi2GetEventIndicators(fmi2Component c, fmi2Real z[], size_t n)
{
    SELF;
    model_outputs(&self->now);
    model_indicators(&self->now, z);
    return fmi2OK;
}

fmi2Status fmi2CompletedIntegratorStep(fmi2Component c, fmi2Boolean final, fmi2Boolean *event, fmi2Boolean *terminate)
{
    *event = *terminate = fmi2False;
    return fmi2OK;
}

fmi2Status fmi2DoStep(fmi2Component c, fmi2Real t, fmi2Real h, fmi2Boolean final)
{
    SELF;
    REQUIRE(STEP);
    hybrid_step(self, t + h);
    return fmi2OK;
}

/* -- states ----------------------------------------------------------------------------------------------------- */

fmi2Status fmi2GetFMUstate(fmi2Component c, fmi2FMUstate *state)
{
    SELF;
    if (!*state)
        *state = malloc(sizeof self->now);
    memcpy(*state, &self->now, sizeof self->now);
    return fmi2OK;
}

fmi2Status fmi2SetFMUstate(fmi2Component c, fmi2FMUstate state)
{
    SELF;
    memcpy(&self->now, state, sizeof self->now);
    return fmi2OK;
}

fmi2Status fmi2FreeFMUstate(fmi2Component c, fmi2FMUstate *state)
{
    free(*state);
    *state = NULL;
    return fmi2OK;
}

fmi2Status fmi2SerializedFMUstateSize(fmi2Component c, fmi2FMUstate state, size_t *size)
{
    *size = sizeof(State);
    return fmi2OK;
}

fmi2Status fmi2SerializeFMUstate(fmi2Component c, fmi2FMUstate state, fmi2Byte bytes[], size_t size)
{
    memcpy(bytes, state, size);
    return fmi2OK;
}

fmi2Status fmi2DeSerializeFMUstate(fmi2Component c, const fmi2Byte bytes[], size_t size, fmi2FMUstate *state)
{
    *state = malloc(sizeof(State));
    memcpy(*state, bytes, size);
    return fmi2OK;
}

/* What the importer has to find in the binary, and is not to call. */
#define NOT_OFFERED(name, ...)   \
    fmi2Status name(__VA_ARGS__) \
    {                            \
        return fmi2Error;        \
    }
#define REFERENCES fmi2Component c, const fmi2ValueReference rows[], size_t n
NOT_OFFERED(fmi2SetDebugLogging, fmi2Component c, fmi2Boolean on, size_t n, const fmi2String categories[])
NOT_OFFERED(fmi2GetDirectionalDerivative, REFERENCES, const fmi2ValueReference b[], size_t m, const fmi2Real seed[],
            fmi2Real found[])
NOT_OFFERED(fmi2SetRealInputDerivatives, REFERENCES, const fmi2Integer order[], const fmi2Real v[])
NOT_OFFERED(fmi2GetRealOutputDerivatives, REFERENCES, const fmi2Integer order[], fmi2Real v[])
NOT_OFFERED(fmi2CancelStep, fmi2Component c)
NOT_OFFERED(fmi2GetStatus, fmi2Component c, const fmi2StatusKind kind, fmi2Status *v)
NOT_OFFERED(fmi2GetRealStatus, fmi2Component c, const fmi2StatusKind kind, fmi2Real *v)
NOT_OFFERED(fmi2GetIntegerStatus, fmi2Component c, const fmi2StatusKind kind, fmi2Integer *v)
NOT_OFFERED(fmi2GetBooleanStatus, fmi2Component c, const fmi2StatusKind kind, fmi2Boolean *v)
NOT_OFFERED(fmi2GetStringStatus, fmi2Component c, const fmi2StatusKind kind, fmi2String *v)
