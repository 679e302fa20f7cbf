/* FMI 1.0 co-simulation: every function checks its pointers and hands over to instance.h. The names of the functions
 * begin with the model's, FMI1_MODEL.
 */
#include <stddef.h> /* which FMPy's header uses, but does not include */

#include "fmi1Functions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "instance.h"

_Static_assert(fmi1OK == (int)DONE && fmi1Discard == (int)DISCARDED && fmi1Error == (int)REFUSED, "statuses differ");

#define EXPORT __attribute__((visibility("default")))
#define JOINED(model, function) model##_##function
#define EXPANDED(model, function) JOINED(model, function)
#define NAME(function) EXPANDED(FMI1_MODEL, function)
#define STATUS EXPORT fmi1Status

/* What fmi1InstantiateSlave is given by value, and its instance. */
typedef struct {
    fmi1CallbackFunctions functions;
    fmi1Component self;
    State start; /* of the last step */
} Importer;

#define INSTANCE(component, function) \
    Instance *instance = (component); \
    if (!instance)                    \
        return fmi1Error;             \
    instance->call = #function

/* The logger takes a printf format. */
static void send(const fmi1CallbackFunctions *functions, fmi1Component c, const char *name, fmi1Status status,
                 const char *message)
{
    char format[1024];
    size_t length = 0;
    for (; *message && length < sizeof format - 2; message++) {
        if (*message == '%')
            format[length++] = '%';
        format[length++] = *message;
    }
    format[length] = '\0';
    if (functions->logger)
        functions->logger(c, name, status, status == fmi1Discard ? "discard" : "error", format);
}

static void report(Instance *instance, Outcome outcome, const char *message)
{
    const Importer *importer = instance->importer;
    send(&importer->functions, importer->self, instance->name, (fmi1Status)outcome, message);
}

static fmi1Status status_of(Outcome outcome)
{
    return (fmi1Status)outcome;
}

EXPORT const char *NAME(fmiGetTypesPlatform)(void)
{
    return "standard32";
}

EXPORT const char *NAME(fmiGetVersion)(void)
{
    return "1.0";
}

/* Errors are always reported, and there is nothing else to log. */
STATUS NAME(fmiSetDebugLogging)(fmi1Component c, fmi1Boolean loggingOn)
{
    (void)loggingOn;
    return c ? fmi1OK : fmi1Error;
}

EXPORT fmi1Component NAME(fmiInstantiateSlave)(fmi1String instanceName, fmi1String fmuGUID, fmi1String fmuLocation,
                                               fmi1String mimeType, fmi1Real timeout, fmi1Boolean visible,
                                               fmi1Boolean interactive, fmi1CallbackFunctions functions,
                                               fmi1Boolean loggingOn)
{
    char token[TOKEN_SIZE], message[256];
    (void)fmuLocation, (void)mimeType, (void)timeout, (void)visible, (void)interactive, (void)loggingOn;
    model_token(token);
    if (!instanceName || !*instanceName) {
        send(&functions, NULL, "", fmi1Error, "fmiInstantiateSlave: the instance name is missing");
        return NULL;
    }
    if (!fmuGUID || strcmp(fmuGUID, token) != 0) {
        snprintf(message, sizeof message, "fmiInstantiateSlave: the guid is %.80s but this binary belongs to %s",
                 fmuGUID ? fmuGUID : "missing", token);
        send(&functions, NULL, instanceName, fmi1Error, message);
        return NULL;
    }
    Importer *importer = malloc(sizeof *importer);
    Instance *instance = importer ? instance_new(CO_SIMULATION, instanceName) : NULL;
    if (!instance) {
        free(importer);
        return NULL;
    }
    *importer = (Importer){.functions = functions, .self = instance};
    instance->importer = importer;
    instance->report = report;
    return instance;
}

EXPORT void NAME(fmiFreeSlaveInstance)(fmi1Component c)
{
    Instance *instance = c;
    if (!instance)
        return;
    free(instance->importer);
    instance_free(instance);
}

STATUS NAME(fmiInitializeSlave)(fmi1Component c, fmi1Real tStart, fmi1Boolean StopTimeDefined, fmi1Real tStop)
{
    INSTANCE(c, fmiInitializeSlave);
    Outcome outcome = instance_setup(instance, tStart, StopTimeDefined, tStop);
    if (outcome == DONE)
        outcome = instance_change_mode(instance, INSTANTIATED, INITIALIZATION);
    return status_of(outcome == DONE ? instance_exit_initialization(instance) : outcome);
}

STATUS NAME(fmiTerminateSlave)(fmi1Component c)
{
    INSTANCE(c, fmiTerminateSlave);
    return status_of(instance_change_mode(instance, STEP, TERMINATED));
}

STATUS NAME(fmiResetSlave)(fmi1Component c)
{
    INSTANCE(c, fmiResetSlave);
    instance_reset(instance);
    return fmi1OK;
}

/* Computed variables are there from fmiInitializeSlave on only. */
STATUS NAME(fmiGetReal)(fmi1Component c, const fmi1ValueReference vr[], size_t nvr, fmi1Real value[])
{
    INSTANCE(c, fmiGetReal);
    const Outcome outcome = instance_require(instance, STEP | TERMINATED);
    return status_of(outcome == DONE ? instance_get(instance, vr, nvr, value) : outcome);
}

STATUS NAME(fmiSetReal)(fmi1Component c, const fmi1ValueReference vr[], size_t nvr, const fmi1Real value[])
{
    INSTANCE(c, fmiSetReal);
    return status_of(instance_set(instance, vr, nvr, value));
}

/* The models have real variables only. */
#define NO_VARIABLES_OF(Type, GetValue, SetValue)                                                                 \
    STATUS NAME(fmiGet##Type)(fmi1Component c, const fmi1ValueReference vr[], size_t nvr, GetValue value[])       \
    {                                                                                                             \
        INSTANCE(c, fmiGet##Type);                                                                                \
        (void)value;                                                                                              \
        return nvr == 0 ? fmi1OK                                                                                  \
                        : status_of(refuse(instance, "value reference %u is not of type " #Type, vr ? *vr : 0));  \
    }                                                                                                             \
    STATUS NAME(fmiSet##Type)(fmi1Component c, const fmi1ValueReference vr[], size_t nvr, const SetValue value[]) \
    {                                                                                                             \
        INSTANCE(c, fmiSet##Type);                                                                                \
        (void)value;                                                                                              \
        return nvr == 0 ? fmi1OK                                                                                  \
                        : status_of(refuse(instance, "value reference %u is not of type " #Type, vr ? *vr : 0));  \
    }

NO_VARIABLES_OF(Integer, fmi1Integer, fmi1Integer)
NO_VARIABLES_OF(Boolean, fmi1Boolean, fmi1Boolean)
NO_VARIABLES_OF(String, fmi1String, fmi1String)

STATUS NAME(fmiSetRealInputDerivatives)(fmi1Component c, const fmi1ValueReference vr[], size_t nvr,
                                        const fmi1Integer order[], const fmi1Real value[])
{
    INSTANCE(c, fmiSetRealInputDerivatives);
    return status_of(instance_set_input_derivatives(instance, vr, nvr, order, value));
}

STATUS NAME(fmiGetRealOutputDerivatives)(fmi1Component c, const fmi1ValueReference vr[], size_t nvr,
                                         const fmi1Integer order[], fmi1Real value[])
{
    INSTANCE(c, fmiGetRealOutputDerivatives);
    return status_of(instance_get_output_derivatives(instance, vr, nvr, order, value));
}

/* A step that is rejected is done again from where it began, with the inputs that are set now. */
static void go_back(Instance *instance, const State *start)
{
    const State now = instance->now;
    instance->now = *start;
    for (unsigned i = 0; i < model.variable_count; i++)
        if (model.variables[i].causality == INPUT) {
            instance->now.value[i] = now.value[i];
            instance->now.slope[i] = now.slope[i];
            instance->now.curvature[i] = now.curvature[i];
        }
    instance->now.stale = 1;
}

STATUS NAME(fmiDoStep)(fmi1Component c, fmi1Real currentCommunicationPoint, fmi1Real communicationStepSize,
                       fmi1Boolean newStep)
{
    INSTANCE(c, fmiDoStep);
    Importer *importer = instance->importer;
    if (newStep)
        importer->start = instance->now;
    else if (importer->start.mode == STEP)
        go_back(instance, &importer->start);
    else
        return status_of(refuse(instance, "there is no step to do again"));
    return status_of(instance_step(instance, currentCommunicationPoint, communicationStepSize));
}

STATUS NAME(fmiCancelStep)(fmi1Component c)
{
    INSTANCE(c, fmiCancelStep);
    return status_of(refuse(instance, "steps are not asynchronous, so none can be cancelled"));
}

STATUS NAME(fmiGetRealStatus)(fmi1Component c, const fmi1StatusKind s, fmi1Real *value)
{
    INSTANCE(c, fmiGetRealStatus);
    if (s != fmi1LastSuccessfulTime || !value)
        return status_of(discard(instance, "status kind %d is not available", (int)s));
    *value = instance->now.value[0];
    return fmi1OK;
}

/* Steps are never pending, so there is nothing else to ask for. */
#define NO_STATUS(Function, Type)                                                       \
    STATUS NAME(Function)(fmi1Component c, const fmi1StatusKind s, Type *value)         \
    {                                                                                   \
        INSTANCE(c, Function);                                                          \
        (void)value;                                                                    \
        return status_of(discard(instance, "status kind %d is not available", (int)s)); \
    }

NO_STATUS(fmiGetStatus, fmi1Status)
NO_STATUS(fmiGetIntegerStatus, fmi1Integer)
NO_STATUS(fmiGetBooleanStatus, fmi1Boolean)
NO_STATUS(fmiGetStringStatus, fmi1String)
