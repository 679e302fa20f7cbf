/* FMI 2.0: every function checks its pointers and hands over to instance.h. */
#include "fmi2Functions.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "instance.h"

_Static_assert(fmi2OK == (int)DONE && fmi2Discard == (int)DISCARDED && fmi2Error == (int)REFUSED, "statuses differ");

#define INSTANCE(component)           \
    Instance *instance = (component); \
    if (!instance)                    \
        return fmi2Error;             \
    instance->call = __func__

/* The logger takes a printf format. */
static void send(const fmi2CallbackFunctions *functions, const char *name, fmi2Status status, const char *message)
{
    char format[1024];
    size_t length = 0;
    for (; *message && length < sizeof format - 2; message++) {
        if (*message == '%')
            format[length++] = '%';
        format[length++] = *message;
    }
    format[length] = '\0';
    if (functions && functions->logger)
        functions->logger(functions->componentEnvironment, name, status,
                          status == fmi2Discard ? "logStatusDiscard" : "logStatusError", format);
}

static void report(Instance *instance, Outcome outcome, const char *message)
{
    send(instance->importer, instance->name, (fmi2Status)outcome, message);
}

static fmi2Status status_of(Outcome outcome)
{
    return (fmi2Status)outcome;
}

const char *fmi2GetTypesPlatform(void)
{
    return fmi2TypesPlatform;
}

const char *fmi2GetVersion(void)
{
    return fmi2Version;
}

/* Errors are always reported, and there is nothing else to log. */
fmi2Status fmi2SetDebugLogging(fmi2Component c, fmi2Boolean loggingOn, size_t nCategories,
                               const fmi2String categories[])
{
    INSTANCE(c);
    (void)loggingOn;
    if (nCategories > 0 && !categories)
        return status_of(refuse(instance, "the categories are a null pointer"));
    for (size_t i = 0; i < nCategories; i++)
        if (strcmp(categories[i], "logStatusError") != 0 && strcmp(categories[i], "logStatusDiscard") != 0)
            return status_of(refuse(instance, "there is no log category %.40s", categories[i]));
    return fmi2OK;
}

fmi2Component fmi2Instantiate(fmi2String instanceName, fmi2Type fmuType, fmi2String fmuGUID,
                              fmi2String fmuResourceLocation, const fmi2CallbackFunctions *functions,
                              fmi2Boolean visible, fmi2Boolean loggingOn)
{
    char token[TOKEN_SIZE], message[256];
    (void)fmuResourceLocation, (void)visible, (void)loggingOn;
    model_token(token);
    if (!instanceName || !*instanceName) {
        send(functions, "", fmi2Error, "fmi2Instantiate: the instance name is missing");
        return NULL;
    }
    if (!fmuGUID || strcmp(fmuGUID, token) != 0) {
        snprintf(message, sizeof message, "fmi2Instantiate: the guid is %.80s but this binary belongs to %s",
                 fmuGUID ? fmuGUID : "missing", token);
        send(functions, instanceName, fmi2Error, message);
        return NULL;
    }
    if (fmuType == fmi2CoSimulation && model.events) {
        send(functions, instanceName, fmi2Error, "fmi2Instantiate: only model exchange is offered, because of events");
        return NULL;
    }
    if (fmuType == fmi2ModelExchange && model.step) {
        send(functions, instanceName, fmi2Error, "fmi2Instantiate: only co-simulation is offered");
        return NULL;
    }
    Instance *instance = instance_new(fmuType == fmi2CoSimulation ? CO_SIMULATION : MODEL_EXCHANGE, instanceName);
    if (!instance)
        return NULL;
    instance->importer = (void *)functions; /* FMI: stays valid until fmi2FreeInstance */
    instance->report = report;
    return instance;
}

void fmi2FreeInstance(fmi2Component c)
{
    if (c)
        instance_free(c);
}

fmi2Status fmi2SetupExperiment(fmi2Component c, fmi2Boolean toleranceDefined, fmi2Real tolerance, fmi2Real startTime,
                               fmi2Boolean stopTimeDefined, fmi2Real stopTime)
{
    INSTANCE(c);
    (void)toleranceDefined, (void)tolerance; /* the integrator is always close to rounding error */
    return status_of(instance_setup(instance, startTime, stopTimeDefined, stopTime));
}

fmi2Status fmi2EnterInitializationMode(fmi2Component c)
{
    INSTANCE(c);
    return status_of(instance_change_mode(instance, INSTANTIATED, INITIALIZATION));
}

fmi2Status fmi2ExitInitializationMode(fmi2Component c)
{
    INSTANCE(c);
    return status_of(instance_exit_initialization(instance));
}

fmi2Status fmi2Terminate(fmi2Component c)
{
    INSTANCE(c);
    return status_of(instance_change_mode(instance, EVENT | CONTINUOUS_TIME | STEP, TERMINATED));
}

fmi2Status fmi2Reset(fmi2Component c)
{
    INSTANCE(c);
    instance_reset(instance);
    return fmi2OK;
}

fmi2Status fmi2GetReal(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, fmi2Real value[])
{
    INSTANCE(c);
    return status_of(instance_get(instance, vr, nvr, value));
}

fmi2Status fmi2SetReal(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, const fmi2Real value[])
{
    INSTANCE(c);
    return status_of(instance_set(instance, vr, nvr, value));
}

/* The models have real variables only. */
#define NO_VARIABLES_OF(Type, GetValue, SetValue)                                                                \
    fmi2Status fmi2Get##Type(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, GetValue value[])       \
    {                                                                                                            \
        INSTANCE(c);                                                                                             \
        (void)value;                                                                                             \
        return nvr == 0 ? fmi2OK                                                                                 \
                        : status_of(refuse(instance, "value reference %u is not of type " #Type, vr ? *vr : 0)); \
    }                                                                                                            \
    fmi2Status fmi2Set##Type(fmi2Component c, const fmi2ValueReference vr[], size_t nvr, const SetValue value[]) \
    {                                                                                                            \
        INSTANCE(c);                                                                                             \
        (void)value;                                                                                             \
        return nvr == 0 ? fmi2OK                                                                                 \
                        : status_of(refuse(instance, "value reference %u is not of type " #Type, vr ? *vr : 0)); \
    }

NO_VARIABLES_OF(Integer, fmi2Integer, fmi2Integer)
NO_VARIABLES_OF(Boolean, fmi2Boolean, fmi2Boolean)
NO_VARIABLES_OF(String, fmi2String, fmi2String)

fmi2Status fmi2GetFMUstate(fmi2Component c, fmi2FMUstate *FMUstate)
{
    INSTANCE(c);
    return status_of(instance_save(instance, FMUstate));
}

fmi2Status fmi2SetFMUstate(fmi2Component c, fmi2FMUstate FMUstate)
{
    INSTANCE(c);
    return status_of(instance_restore(instance, FMUstate));
}

fmi2Status fmi2FreeFMUstate(fmi2Component c, fmi2FMUstate *FMUstate)
{
    INSTANCE(c);
    instance_free_saved(FMUstate);
    return fmi2OK;
}

fmi2Status fmi2SerializedFMUstateSize(fmi2Component c, fmi2FMUstate FMUstate, size_t *size)
{
    INSTANCE(c);
    if (!FMUstate || !size)
        return status_of(refuse(instance, "the state or the place for its size is a null pointer"));
    *size = instance_serialized_size();
    return fmi2OK;
}

fmi2Status fmi2SerializeFMUstate(fmi2Component c, fmi2FMUstate FMUstate, fmi2Byte serializedState[], size_t size)
{
    INSTANCE(c);
    return status_of(instance_serialize(instance, FMUstate, serializedState, size));
}

fmi2Status fmi2DeSerializeFMUstate(fmi2Component c, const fmi2Byte serializedState[], size_t size,
                                   fmi2FMUstate *FMUstate)
{
    INSTANCE(c);
    return status_of(instance_deserialize(instance, serializedState, size, FMUstate));
}

fmi2Status fmi2GetDirectionalDerivative(fmi2Component c, const fmi2ValueReference vUnknown_ref[], size_t nUnknown,
                                        const fmi2ValueReference vKnown_ref[], size_t nKnown, const fmi2Real dvKnown[],
                                        fmi2Real dvUnknown[])
{
    INSTANCE(c);
    return status_of(
        instance_directional_derivative(instance, vUnknown_ref, nUnknown, vKnown_ref, nKnown, dvKnown, dvUnknown));
}

/* Model exchange */

fmi2Status fmi2EnterEventMode(fmi2Component c)
{
    INSTANCE(c);
    return status_of(instance_change_mode(instance, CONTINUOUS_TIME, EVENT));
}

fmi2Status fmi2NewDiscreteStates(fmi2Component c, fmi2EventInfo *eventInfo)
{
    INSTANCE(c);
    if (!eventInfo)
        return status_of(refuse(instance, "the event info is a null pointer"));
    EventAnswer answer;
    const Outcome outcome = instance_update_discrete(instance, &answer);
    *eventInfo = (fmi2EventInfo){
        .newDiscreteStatesNeeded = answer.discrete_changed,
        .valuesOfContinuousStatesChanged = answer.states_changed,
        .nextEventTimeDefined = isfinite(answer.next_time),
        .nextEventTime = isfinite(answer.next_time) ? answer.next_time : 0,
    };
    return status_of(outcome);
}

fmi2Status fmi2EnterContinuousTimeMode(fmi2Component c)
{
    INSTANCE(c);
    return status_of(instance_change_mode(instance, EVENT, CONTINUOUS_TIME));
}

fmi2Status fmi2CompletedIntegratorStep(fmi2Component c, fmi2Boolean noSetFMUStatePriorToCurrentPoint,
                                       fmi2Boolean *enterEventMode, fmi2Boolean *terminateSimulation)
{
    INSTANCE(c);
    (void)noSetFMUStatePriorToCurrentPoint;
    if (!enterEventMode || !terminateSimulation)
        return status_of(refuse(instance, "the place for an answer is a null pointer"));
    *enterEventMode = *terminateSimulation = fmi2False;
    return status_of(instance_require(instance, CONTINUOUS_TIME));
}

fmi2Status fmi2SetTime(fmi2Component c, fmi2Real time)
{
    INSTANCE(c);
    return status_of(instance_set_time(instance, time));
}

fmi2Status fmi2SetContinuousStates(fmi2Component c, const fmi2Real x[], size_t nx)
{
    INSTANCE(c);
    return status_of(instance_set_states(instance, x, nx));
}

fmi2Status fmi2GetDerivatives(fmi2Component c, fmi2Real derivatives[], size_t nx)
{
    INSTANCE(c);
    return status_of(instance_get_derivatives(instance, derivatives, nx));
}

fmi2Status fmi2GetEventIndicators(fmi2Component c, fmi2Real eventIndicators[], size_t ni)
{
    INSTANCE(c);
    return status_of(instance_get_indicators(instance, eventIndicators, ni));
}

fmi2Status fmi2GetContinuousStates(fmi2Component c, fmi2Real x[], size_t nx)
{
    INSTANCE(c);
    return status_of(instance_get_states(instance, x, nx));
}

fmi2Status fmi2GetNominalsOfContinuousStates(fmi2Component c, fmi2Real x_nominal[], size_t nx)
{
    INSTANCE(c);
    return status_of(instance_get_nominals(instance, x_nominal, nx));
}

/* Co-simulation */

fmi2Status fmi2SetRealInputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,
                                       const fmi2Integer order[], const fmi2Real value[])
{
    INSTANCE(c);
    return status_of(instance_set_input_derivatives(instance, vr, nvr, order, value));
}

fmi2Status fmi2GetRealOutputDerivatives(fmi2Component c, const fmi2ValueReference vr[], size_t nvr,
                                        const fmi2Integer order[], fmi2Real value[])
{
    INSTANCE(c);
    return status_of(instance_get_output_derivatives(instance, vr, nvr, order, value));
}

fmi2Status fmi2DoStep(fmi2Component c, fmi2Real currentCommunicationPoint, fmi2Real communicationStepSize,
                      fmi2Boolean noSetFMUStatePriorToCurrentPoint)
{
    INSTANCE(c);
    (void)noSetFMUStatePriorToCurrentPoint;
    return status_of(instance_step(instance, currentCommunicationPoint, communicationStepSize));
}

fmi2Status fmi2CancelStep(fmi2Component c)
{
    INSTANCE(c);
    return status_of(refuse(instance, "steps are not asynchronous, so none can be cancelled"));
}

/* Steps are never pending, so there is a status to ask for only in the two cases below. */
fmi2Status fmi2GetStatus(fmi2Component c, const fmi2StatusKind s, fmi2Status *value)
{
    INSTANCE(c);
    (void)s, (void)value;
    return status_of(discard(instance, "steps are not asynchronous, so none is pending"));
}

fmi2Status fmi2GetRealStatus(fmi2Component c, const fmi2StatusKind s, fmi2Real *value)
{
    INSTANCE(c);
    if (s != fmi2LastSuccessfulTime || !value)
        return status_of(discard(instance, "status kind %d is not available", (int)s));
    *value = instance->now.value[0];
    return fmi2OK;
}

fmi2Status fmi2GetIntegerStatus(fmi2Component c, const fmi2StatusKind s, fmi2Integer *value)
{
    INSTANCE(c);
    (void)value;
    return status_of(discard(instance, "status kind %d is not available", (int)s));
}

fmi2Status fmi2GetBooleanStatus(fmi2Component c, const fmi2StatusKind s, fmi2Boolean *value)
{
    INSTANCE(c);
    if (s != fmi2Terminated || !value)
        return status_of(discard(instance, "status kind %d is not available", (int)s));
    *value = fmi2False;
    return fmi2OK;
}

fmi2Status fmi2GetStringStatus(fmi2Component c, const fmi2StatusKind s, fmi2String *value)
{
    INSTANCE(c);
    (void)value;
    return status_of(discard(instance, "status kind %d is not available", (int)s));
}
