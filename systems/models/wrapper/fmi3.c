/* FMI 3.0: every function checks its pointers and hands over to instance.h. */
#include "fmi3Functions.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "instance.h"

_Static_assert(fmi3OK == (int)DONE && fmi3Discard == (int)DISCARDED && fmi3Error == (int)REFUSED, "statuses differ");

#define INSTANCE(pointer)           \
    Instance *instance = (pointer); \
    if (!instance)                  \
        return fmi3Error;           \
    instance->call = __func__

typedef struct {
    fmi3InstanceEnvironment environment;
    fmi3LogMessageCallback log_message;
    fmi3IntermediateUpdateCallback intermediate_update;
} Importer;

static void send(const Importer *importer, fmi3Status status, const char *message)
{
    if (importer->log_message)
        importer->log_message(importer->environment, status,
                              status == fmi3Discard ? "logStatusDiscard" : "logStatusError", message);
}

static void report(Instance *instance, Outcome outcome, const char *message)
{
    send(instance->importer, (fmi3Status)outcome, message);
}

static fmi3Status status_of(Outcome outcome)
{
    return (fmi3Status)outcome;
}

const char *fmi3GetVersion(void)
{
    return fmi3Version;
}

/* Errors are always reported, and there is nothing else to log. */
fmi3Status fmi3SetDebugLogging(fmi3Instance instance_, fmi3Boolean loggingOn, size_t nCategories,
                               const fmi3String categories[])
{
    INSTANCE(instance_);
    (void)loggingOn;
    if (nCategories > 0 && !categories)
        return status_of(refuse(instance, "the categories are a null pointer"));
    for (size_t i = 0; i < nCategories; i++)
        if (strcmp(categories[i], "logStatusError") != 0 && strcmp(categories[i], "logStatusDiscard") != 0)
            return status_of(refuse(instance, "there is no log category %.40s", categories[i]));
    return fmi3OK;
}

static Instance *instantiate(Interface interface, const char *call, fmi3String name, fmi3String token,
                             const Importer *importer)
{
    char own[TOKEN_SIZE], message[256];
    model_token(own);
    if (!name || !*name) {
        send(importer, fmi3Error, "the instance name is missing");
        return NULL;
    }
    if (!token || strcmp(token, own) != 0) {
        snprintf(message, sizeof message, "%s: the instantiation token is %.80s but this binary belongs to %s", call,
                 token ? token : "missing", own);
        send(importer, fmi3Error, message);
        return NULL;
    }
    Instance *instance = instance_new(interface, name);
    Importer *copy = malloc(sizeof *copy);
    if (!instance || !copy) {
        free(copy);
        if (instance)
            instance_free(instance);
        return NULL;
    }
    *copy = *importer;
    instance->call = call;
    instance->importer = copy;
    instance->report = report;
    return instance;
}

fmi3Instance fmi3InstantiateModelExchange(fmi3String instanceName, fmi3String instantiationToken,
                                          fmi3String resourcePath, fmi3Boolean visible, fmi3Boolean loggingOn,
                                          fmi3InstanceEnvironment instanceEnvironment,
                                          fmi3LogMessageCallback logMessage)
{
    (void)resourcePath, (void)visible, (void)loggingOn;
    const Importer importer = {instanceEnvironment, logMessage, NULL};
    if (model.step) {
        send(&importer, fmi3Error, "fmi3InstantiateModelExchange: only co-simulation is offered");
        return NULL;
    }
    return instantiate(MODEL_EXCHANGE, __func__, instanceName, instantiationToken, &importer);
}

static void intermediate_update(Instance *instance, double t, bool set_requested, bool get_allowed)
{
    const Importer *importer = instance->importer;
    bool early_return_requested = false;
    double early_return_time = t;
    importer->intermediate_update(importer->environment, t, set_requested, get_allowed, get_allowed, false,
                                  &early_return_requested, &early_return_time);
}

fmi3Instance fmi3InstantiateCoSimulation(fmi3String instanceName, fmi3String instantiationToken,
                                         fmi3String resourcePath, fmi3Boolean visible, fmi3Boolean loggingOn,
                                         fmi3Boolean eventModeUsed, fmi3Boolean earlyReturnAllowed,
                                         const fmi3ValueReference requiredIntermediateVariables[],
                                         size_t nRequiredIntermediateVariables,
                                         fmi3InstanceEnvironment instanceEnvironment, fmi3LogMessageCallback logMessage,
                                         fmi3IntermediateUpdateCallback intermediateUpdate)
{
    (void)resourcePath, (void)visible, (void)loggingOn, (void)earlyReturnAllowed;
    const Importer importer = {instanceEnvironment, logMessage, intermediateUpdate};
    if (model.events) {
        send(&importer, fmi3Error, "fmi3InstantiateCoSimulation: only model exchange is offered, because of events");
        return NULL;
    }
    Instance *instance = instantiate(CO_SIMULATION, __func__, instanceName, instantiationToken, &importer);
    if (!instance)
        return NULL;
    const size_t n = nRequiredIntermediateVariables;
    Outcome outcome = instance_check_references(instance, requiredIntermediateVariables, n);
    if (outcome == DONE && eventModeUsed)
        outcome = refuse(instance, "eventModeUsed is true but there is no event mode in co-simulation");
    for (size_t i = 0; i < n && outcome == DONE; i++) {
        const Variable *variable = &model.variables[requiredIntermediateVariables[i]];
        if (variable->causality != INPUT && variable->causality != OUTPUT)
            outcome = refuse(instance, "%s has no intermediate values; inputs and outputs have", variable->name);
        instance->intermediate[requiredIntermediateVariables[i]] = true;
    }
    if (outcome != DONE) {
        fmi3FreeInstance(instance);
        return NULL;
    }
    if (intermediateUpdate)
        instance->intermediate_update = intermediate_update;
    return instance;
}

fmi3Instance fmi3InstantiateScheduledExecution(fmi3String instanceName, fmi3String instantiationToken,
                                               fmi3String resourcePath, fmi3Boolean visible, fmi3Boolean loggingOn,
                                               fmi3InstanceEnvironment instanceEnvironment,
                                               fmi3LogMessageCallback logMessage, fmi3ClockUpdateCallback clockUpdate,
                                               fmi3LockPreemptionCallback lockPreemption,
                                               fmi3UnlockPreemptionCallback unlockPreemption)
{
    (void)instanceName, (void)instantiationToken, (void)resourcePath, (void)visible, (void)loggingOn;
    (void)clockUpdate, (void)lockPreemption, (void)unlockPreemption;
    const Importer importer = {instanceEnvironment, logMessage, NULL};
    send(&importer, fmi3Error, "fmi3InstantiateScheduledExecution: only model exchange and co-simulation are offered");
    return NULL;
}

void fmi3FreeInstance(fmi3Instance instance_)
{
    Instance *instance = instance_;
    if (!instance)
        return;
    free(instance->importer);
    instance_free(instance);
}

fmi3Status fmi3EnterInitializationMode(fmi3Instance instance_, fmi3Boolean toleranceDefined, fmi3Float64 tolerance,
                                       fmi3Float64 startTime, fmi3Boolean stopTimeDefined, fmi3Float64 stopTime)
{
    INSTANCE(instance_);
    (void)toleranceDefined, (void)tolerance; /* the integrator is always close to rounding error */
    const Outcome outcome = instance_setup(instance, startTime, stopTimeDefined, stopTime);
    if (outcome != DONE)
        return status_of(outcome);
    return status_of(instance_change_mode(instance, INSTANTIATED, INITIALIZATION));
}

fmi3Status fmi3ExitInitializationMode(fmi3Instance instance_)
{
    INSTANCE(instance_);
    return status_of(instance_exit_initialization(instance));
}

fmi3Status fmi3EnterEventMode(fmi3Instance instance_)
{
    INSTANCE(instance_);
    return status_of(instance_change_mode(instance, CONTINUOUS_TIME, EVENT));
}

fmi3Status fmi3Terminate(fmi3Instance instance_)
{
    INSTANCE(instance_);
    return status_of(instance_change_mode(instance, EVENT | CONTINUOUS_TIME | STEP, TERMINATED));
}

fmi3Status fmi3Reset(fmi3Instance instance_)
{
    INSTANCE(instance_);
    const Outcome outcome = instance_require(instance, ~(unsigned)INTERMEDIATE_UPDATE);
    if (outcome == DONE)
        instance_reset(instance);
    return status_of(outcome);
}

static Outcome check_count(Instance *instance, size_t references, size_t values)
{
    if (references == values)
        return DONE;
    return refuse(instance, "%zu values for %zu value references; all variables are scalars", values, references);
}

fmi3Status fmi3GetFloat64(fmi3Instance instance_, const fmi3ValueReference valueReferences[], size_t nValueReferences,
                          fmi3Float64 values[], size_t nValues)
{
    INSTANCE(instance_);
    const Outcome outcome = check_count(instance, nValueReferences, nValues);
    if (outcome != DONE)
        return status_of(outcome);
    return status_of(instance_get(instance, valueReferences, nValueReferences, values));
}

fmi3Status fmi3SetFloat64(fmi3Instance instance_, const fmi3ValueReference valueReferences[], size_t nValueReferences,
                          const fmi3Float64 values[], size_t nValues)
{
    INSTANCE(instance_);
    const Outcome outcome = check_count(instance, nValueReferences, nValues);
    if (outcome != DONE)
        return status_of(outcome);
    return status_of(instance_set(instance, valueReferences, nValueReferences, values));
}

/* The models have variables of type Float64 only. */
static fmi3Status no_such(Instance *instance, const char *type, const fmi3ValueReference references[], size_t n)
{
    if (n == 0)
        return fmi3OK;
    return status_of(refuse(instance, "value reference %u is not of type %s", references ? *references : 0, type));
}

#define NO_VARIABLES_OF(Type)                                                                    \
    fmi3Status fmi3Get##Type(fmi3Instance instance_, const fmi3ValueReference valueReferences[], \
                             size_t nValueReferences, fmi3##Type values[], size_t nValues)       \
    {                                                                                            \
        INSTANCE(instance_);                                                                     \
        (void)values, (void)nValues;                                                             \
        return no_such(instance, #Type, valueReferences, nValueReferences);                      \
    }                                                                                            \
    fmi3Status fmi3Set##Type(fmi3Instance instance_, const fmi3ValueReference valueReferences[], \
                             size_t nValueReferences, const fmi3##Type values[], size_t nValues) \
    {                                                                                            \
        INSTANCE(instance_);                                                                     \
        (void)values, (void)nValues;                                                             \
        return no_such(instance, #Type, valueReferences, nValueReferences);                      \
    }

NO_VARIABLES_OF(Float32)
NO_VARIABLES_OF(Int8)
NO_VARIABLES_OF(UInt8)
NO_VARIABLES_OF(Int16)
NO_VARIABLES_OF(UInt16)
NO_VARIABLES_OF(Int32)
NO_VARIABLES_OF(UInt32)
NO_VARIABLES_OF(Int64)
NO_VARIABLES_OF(UInt64)
NO_VARIABLES_OF(Boolean)
NO_VARIABLES_OF(String)

fmi3Status fmi3GetBinary(fmi3Instance instance_, const fmi3ValueReference valueReferences[], size_t nValueReferences,
                         size_t valueSizes[], fmi3Binary values[], size_t nValues)
{
    INSTANCE(instance_);
    (void)valueSizes, (void)values, (void)nValues;
    return no_such(instance, "Binary", valueReferences, nValueReferences);
}

fmi3Status fmi3SetBinary(fmi3Instance instance_, const fmi3ValueReference valueReferences[], size_t nValueReferences,
                         const size_t valueSizes[], const fmi3Binary values[], size_t nValues)
{
    INSTANCE(instance_);
    (void)valueSizes, (void)values, (void)nValues;
    return no_such(instance, "Binary", valueReferences, nValueReferences);
}

/* All functions about clocks begin with the same arguments. */
#define NO_CLOCKS(Function, ...)                                                                                     \
    fmi3Status Function(fmi3Instance instance_, const fmi3ValueReference valueReferences[], size_t nValueReferences, \
                        __VA_ARGS__)                                                                                 \
    {                                                                                                                \
        INSTANCE(instance_);                                                                                         \
        (void)first;                                                                                                 \
        return no_such(instance, "Clock", valueReferences, nValueReferences);                                        \
    }
#define NO_CLOCKS_2(Function, second_, ...)                                                                          \
    fmi3Status Function(fmi3Instance instance_, const fmi3ValueReference valueReferences[], size_t nValueReferences, \
                        __VA_ARGS__, second_)                                                                        \
    {                                                                                                                \
        INSTANCE(instance_);                                                                                         \
        (void)first, (void)second;                                                                                   \
        return no_such(instance, "Clock", valueReferences, nValueReferences);                                        \
    }

NO_CLOCKS(fmi3GetClock, fmi3Clock first[])
NO_CLOCKS(fmi3SetClock, const fmi3Clock first[])
NO_CLOCKS(fmi3GetShiftDecimal, fmi3Float64 first[])
NO_CLOCKS(fmi3SetShiftDecimal, const fmi3Float64 first[])
NO_CLOCKS(fmi3SetIntervalDecimal, const fmi3Float64 first[])
NO_CLOCKS_2(fmi3GetIntervalDecimal, fmi3IntervalQualifier second[], fmi3Float64 first[])
NO_CLOCKS_2(fmi3GetShiftFraction, fmi3UInt64 second[], fmi3UInt64 first[])
NO_CLOCKS_2(fmi3SetShiftFraction, const fmi3UInt64 second[], const fmi3UInt64 first[])
NO_CLOCKS_2(fmi3SetIntervalFraction, const fmi3UInt64 second[], const fmi3UInt64 first[])

fmi3Status fmi3GetIntervalFraction(fmi3Instance instance_, const fmi3ValueReference valueReferences[],
                                   size_t nValueReferences, fmi3UInt64 counters[], fmi3UInt64 resolutions[],
                                   fmi3IntervalQualifier qualifiers[])
{
    INSTANCE(instance_);
    (void)counters, (void)resolutions, (void)qualifiers;
    return no_such(instance, "Clock", valueReferences, nValueReferences);
}

/* What the capability flags in modelDescription.xml exclude. */
static fmi3Status not_offered(Instance *instance, const char *why)
{
    return status_of(refuse(instance, "not offered: %s", why));
}

fmi3Status fmi3GetNumberOfVariableDependencies(fmi3Instance instance_, fmi3ValueReference valueReference,
                                               size_t *nDependencies)
{
    INSTANCE(instance_);
    (void)valueReference, (void)nDependencies;
    return not_offered(instance, "providesPerElementDependencies is false");
}

fmi3Status fmi3GetVariableDependencies(fmi3Instance instance_, fmi3ValueReference dependent,
                                       size_t elementIndicesOfDependent[], fmi3ValueReference independents[],
                                       size_t elementIndicesOfIndependents[], fmi3DependencyKind dependencyKinds[],
                                       size_t nDependencies)
{
    INSTANCE(instance_);
    (void)dependent, (void)elementIndicesOfDependent, (void)independents, (void)elementIndicesOfIndependents;
    (void)dependencyKinds, (void)nDependencies;
    return not_offered(instance, "providesPerElementDependencies is false");
}

fmi3Status fmi3EnterConfigurationMode(fmi3Instance instance_)
{
    INSTANCE(instance_);
    return not_offered(instance, "there are no structural parameters");
}

fmi3Status fmi3ExitConfigurationMode(fmi3Instance instance_)
{
    INSTANCE(instance_);
    return not_offered(instance, "there are no structural parameters");
}

fmi3Status fmi3EvaluateDiscreteStates(fmi3Instance instance_)
{
    INSTANCE(instance_);
    return not_offered(instance, "providesEvaluateDiscreteStates is false");
}

fmi3Status fmi3EnterStepMode(fmi3Instance instance_)
{
    INSTANCE(instance_);
    return not_offered(instance, "hasEventMode is false");
}

fmi3Status fmi3ActivateModelPartition(fmi3Instance instance_, fmi3ValueReference clockReference,
                                      fmi3Float64 activationTime)
{
    INSTANCE(instance_);
    (void)clockReference, (void)activationTime;
    return not_offered(instance, "there is no scheduled execution");
}

fmi3Status fmi3GetFMUState(fmi3Instance instance_, fmi3FMUState *FMUState)
{
    INSTANCE(instance_);
    return status_of(instance_save(instance, FMUState));
}

fmi3Status fmi3SetFMUState(fmi3Instance instance_, fmi3FMUState FMUState)
{
    INSTANCE(instance_);
    return status_of(instance_restore(instance, FMUState));
}

fmi3Status fmi3FreeFMUState(fmi3Instance instance_, fmi3FMUState *FMUState)
{
    INSTANCE(instance_);
    instance_free_saved(FMUState);
    return fmi3OK;
}

fmi3Status fmi3SerializedFMUStateSize(fmi3Instance instance_, fmi3FMUState FMUState, size_t *size)
{
    INSTANCE(instance_);
    if (!FMUState || !size)
        return status_of(refuse(instance, "the state or the place for its size is a null pointer"));
    *size = instance_serialized_size();
    return fmi3OK;
}

fmi3Status fmi3SerializeFMUState(fmi3Instance instance_, fmi3FMUState FMUState, fmi3Byte serializedState[], size_t size)
{
    INSTANCE(instance_);
    return status_of(instance_serialize(instance, FMUState, (char *)serializedState, size));
}

fmi3Status fmi3DeserializeFMUState(fmi3Instance instance_, const fmi3Byte serializedState[], size_t size,
                                   fmi3FMUState *FMUState)
{
    INSTANCE(instance_);
    return status_of(instance_deserialize(instance, (const char *)serializedState, size, FMUState));
}

fmi3Status fmi3GetDirectionalDerivative(fmi3Instance instance_, const fmi3ValueReference unknowns[], size_t nUnknowns,
                                        const fmi3ValueReference knowns[], size_t nKnowns, const fmi3Float64 seed[],
                                        size_t nSeed, fmi3Float64 sensitivity[], size_t nSensitivity)
{
    INSTANCE(instance_);
    Outcome outcome = check_count(instance, nKnowns, nSeed);
    if (outcome == DONE)
        outcome = check_count(instance, nUnknowns, nSensitivity);
    if (outcome != DONE)
        return status_of(outcome);
    return status_of(
        instance_directional_derivative(instance, unknowns, nUnknowns, knowns, nKnowns, seed, sensitivity));
}

fmi3Status fmi3GetAdjointDerivative(fmi3Instance instance_, const fmi3ValueReference unknowns[], size_t nUnknowns,
                                    const fmi3ValueReference knowns[], size_t nKnowns, const fmi3Float64 seed[],
                                    size_t nSeed, fmi3Float64 sensitivity[], size_t nSensitivity)
{
    INSTANCE(instance_);
    Outcome outcome = check_count(instance, nUnknowns, nSeed);
    if (outcome == DONE)
        outcome = check_count(instance, nKnowns, nSensitivity);
    if (outcome != DONE)
        return status_of(outcome);
    return status_of(instance_adjoint_derivative(instance, unknowns, nUnknowns, knowns, nKnowns, seed, sensitivity));
}

/* Model exchange */

fmi3Status fmi3UpdateDiscreteStates(fmi3Instance instance_, fmi3Boolean *discreteStatesNeedUpdate,
                                    fmi3Boolean *terminateSimulation, fmi3Boolean *nominalsOfContinuousStatesChanged,
                                    fmi3Boolean *valuesOfContinuousStatesChanged, fmi3Boolean *nextEventTimeDefined,
                                    fmi3Float64 *nextEventTime)
{
    INSTANCE(instance_);
    if (!discreteStatesNeedUpdate || !terminateSimulation || !nominalsOfContinuousStatesChanged ||
        !valuesOfContinuousStatesChanged || !nextEventTimeDefined || !nextEventTime)
        return status_of(refuse(instance, "the place for an answer is a null pointer"));
    EventAnswer answer;
    const Outcome outcome = instance_update_discrete(instance, &answer);
    *terminateSimulation = *nominalsOfContinuousStatesChanged = false;
    *discreteStatesNeedUpdate = answer.discrete_changed;
    *valuesOfContinuousStatesChanged = answer.states_changed;
    *nextEventTimeDefined = isfinite(answer.next_time);
    *nextEventTime = *nextEventTimeDefined ? answer.next_time : 0;
    return status_of(outcome);
}

fmi3Status fmi3EnterContinuousTimeMode(fmi3Instance instance_)
{
    INSTANCE(instance_);
    return status_of(instance_change_mode(instance, EVENT, CONTINUOUS_TIME));
}

fmi3Status fmi3CompletedIntegratorStep(fmi3Instance instance_, fmi3Boolean noSetFMUStatePriorToCurrentPoint,
                                       fmi3Boolean *enterEventMode, fmi3Boolean *terminateSimulation)
{
    INSTANCE(instance_);
    (void)noSetFMUStatePriorToCurrentPoint;
    if (!enterEventMode || !terminateSimulation)
        return status_of(refuse(instance, "the place for an answer is a null pointer"));
    *enterEventMode = *terminateSimulation = false;
    return status_of(instance_require(instance, CONTINUOUS_TIME));
}

fmi3Status fmi3SetTime(fmi3Instance instance_, fmi3Float64 time)
{
    INSTANCE(instance_);
    return status_of(instance_set_time(instance, time));
}

fmi3Status fmi3SetContinuousStates(fmi3Instance instance_, const fmi3Float64 continuousStates[],
                                   size_t nContinuousStates)
{
    INSTANCE(instance_);
    return status_of(instance_set_states(instance, continuousStates, nContinuousStates));
}

fmi3Status fmi3GetContinuousStateDerivatives(fmi3Instance instance_, fmi3Float64 derivatives[],
                                             size_t nContinuousStates)
{
    INSTANCE(instance_);
    return status_of(instance_get_derivatives(instance, derivatives, nContinuousStates));
}

fmi3Status fmi3GetEventIndicators(fmi3Instance instance_, fmi3Float64 eventIndicators[], size_t nEventIndicators)
{
    INSTANCE(instance_);
    return status_of(instance_get_indicators(instance, eventIndicators, nEventIndicators));
}

fmi3Status fmi3GetContinuousStates(fmi3Instance instance_, fmi3Float64 continuousStates[], size_t nContinuousStates)
{
    INSTANCE(instance_);
    return status_of(instance_get_states(instance, continuousStates, nContinuousStates));
}

fmi3Status fmi3GetNominalsOfContinuousStates(fmi3Instance instance_, fmi3Float64 nominals[], size_t nContinuousStates)
{
    INSTANCE(instance_);
    return status_of(instance_get_nominals(instance, nominals, nContinuousStates));
}

static fmi3Status answer_count(Instance *instance, size_t *place, size_t count)
{
    if (!place)
        return status_of(refuse(instance, "the place for the number is a null pointer"));
    *place = count;
    return fmi3OK;
}

fmi3Status fmi3GetNumberOfEventIndicators(fmi3Instance instance_, size_t *nEventIndicators)
{
    INSTANCE(instance_);
    return answer_count(instance, nEventIndicators, model.indicator_count);
}

fmi3Status fmi3GetNumberOfContinuousStates(fmi3Instance instance_, size_t *nContinuousStates)
{
    INSTANCE(instance_);
    return answer_count(instance, nContinuousStates, instance->state_count);
}

/* Co-simulation */

fmi3Status fmi3GetOutputDerivatives(fmi3Instance instance_, const fmi3ValueReference valueReferences[],
                                    size_t nValueReferences, const fmi3Int32 orders[], fmi3Float64 values[],
                                    size_t nValues)
{
    INSTANCE(instance_);
    const Outcome outcome = check_count(instance, nValueReferences, nValues);
    if (outcome != DONE)
        return status_of(outcome);
    return status_of(instance_get_output_derivatives(instance, valueReferences, nValueReferences, orders, values));
}

fmi3Status fmi3DoStep(fmi3Instance instance_, fmi3Float64 currentCommunicationPoint, fmi3Float64 communicationStepSize,
                      fmi3Boolean noSetFMUStatePriorToCurrentPoint, fmi3Boolean *eventHandlingNeeded,
                      fmi3Boolean *terminateSimulation, fmi3Boolean *earlyReturn, fmi3Float64 *lastSuccessfulTime)
{
    INSTANCE(instance_);
    (void)noSetFMUStatePriorToCurrentPoint;
    if (!eventHandlingNeeded || !terminateSimulation || !earlyReturn || !lastSuccessfulTime)
        return status_of(refuse(instance, "the place for an answer is a null pointer"));
    const Outcome outcome = instance_step(instance, currentCommunicationPoint, communicationStepSize);
    *eventHandlingNeeded = *terminateSimulation = *earlyReturn = false;
    *lastSuccessfulTime = instance->now.value[0];
    return status_of(outcome);
}
