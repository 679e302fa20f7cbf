#include "instance.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *mode_name(Mode mode)
{
    switch (mode) {
    case INSTANTIATED: return "instantiated";
    case INITIALIZATION: return "initialization mode";
    case EVENT: return "event mode";
    case CONTINUOUS_TIME: return "continuous-time mode";
    case STEP: return "step mode";
    case INTERMEDIATE_UPDATE: return "intermediate update mode";
    case TERMINATED: return "terminated";
    }
    return "an unknown mode";
}

Outcome instance_complain(Instance *instance, Outcome outcome, const char *format, ...)
{
    char message[512];
    const int length = snprintf(message, sizeof message, "%s: ", instance->call);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message + length, sizeof message - (size_t)length, format, arguments);
    va_end(arguments);
    instance->report(instance, outcome, message);
    return outcome;
}

Outcome instance_require(Instance *instance, unsigned modes)
{
    if (instance->now.mode & modes)
        return DONE;
    char allowed[256] = "";
    for (unsigned mode = INSTANTIATED; mode <= TERMINATED; mode <<= 1)
        if (mode & modes) {
            strcat(allowed, *allowed ? ", " : "");
            strcat(allowed, mode_name((Mode)mode));
        }
    return refuse(instance, "not allowed in the present state (%s); allowed: %s", mode_name(instance->now.mode),
                  *allowed ? allowed : "never");
}

static unsigned settable_modes(const Variable *variable, Interface interface)
{
    const unsigned before = INSTANTIATED | INITIALIZATION;
    const unsigned between = interface == MODEL_EXCHANGE ? EVENT : STEP;
    switch (variable->causality) {
    case INPUT: return before | between | CONTINUOUS_TIME | INTERMEDIATE_UPDATE;
    case TUNABLE_PARAMETER: return before | between;
    case FIXED_PARAMETER: return before;
    case LOCAL:
    case OUTPUT: return variable->initial == EXACT ? before : 0;
    case INDEPENDENT: break;
    }
    return 0;
}

Instance *instance_new(Interface interface, const char *name)
{
    Instance *instance = calloc(1, sizeof *instance);
    char *copy = malloc(strlen(name) + 1);
    if (!instance || !copy) {
        free(instance);
        free(copy);
        return NULL;
    }
    instance->interface = interface;
    instance->name = strcpy(copy, name);
    for (unsigned i = 0; i < model.variable_count; i++) {
        const Variable *variable = &model.variables[i];
        instance->settable[i] = (Mode)settable_modes(variable, interface);
        if (variable->derivative_of) {
            const double nominal = model.variables[variable->derivative_of].nominal;
            instance->nominal[instance->state_count] = nominal > 0 ? nominal : 1;
            instance->state[instance->state_count] = variable->derivative_of;
            instance->derivative[instance->state_count++] = i;
        }
    }
    instance_reset(instance);
    return instance;
}

void instance_free(Instance *instance)
{
    free(instance->name);
    free(instance);
}

void instance_reset(Instance *instance)
{
    memset(&instance->now, 0, sizeof instance->now);
    instance->now.mode = INSTANTIATED;
    instance->now.stale = true;
    instance->now.stop_time = INFINITY;
    for (size_t i = 0; i < model.variable_count; i++)
        instance->now.value[i] = model.variables[i].start;
}

void instance_evaluate(Instance *instance)
{
    State *now = &instance->now;
    if (!now->stale)
        return;
    if (now->mode & (INSTANTIATED | INITIALIZATION))
        model_initial(now->value);
    model_equations(now->value);
    now->stale = false;
}

Outcome instance_check_references(Instance *instance, const unsigned reference[], size_t n)
{
    if (n > 0 && !reference)
        return refuse(instance, "the value references are a null pointer");
    for (size_t i = 0; i < n; i++)
        if (reference[i] >= model.variable_count)
            return refuse(instance, "value reference %u is unknown; %s has 0 to %zu", reference[i], model.name,
                          model.variable_count - 1);
    return DONE;
}

static Outcome check_values(Instance *instance, const unsigned reference[], size_t n, const double value[])
{
    if (n > 0 && !value)
        return refuse(instance, "the values are a null pointer");
    return instance_check_references(instance, reference, n);
}

static Outcome check_intermediate_access(Instance *instance, const unsigned reference[], size_t n, bool allowed)
{
    if (instance->now.mode != INTERMEDIATE_UPDATE)
        return DONE;
    for (size_t i = 0; i < n; i++)
        if (!allowed || !instance->intermediate[reference[i]])
            return refuse(instance,
                          "%s is not accessible in this intermediate update; either it is not among the "
                          "required intermediate variables or its flag in the callback is false",
                          model.variables[reference[i]].name);
    return DONE;
}

Outcome instance_get(Instance *instance, const unsigned reference[], size_t n, double value[])
{
    Outcome outcome = check_values(instance, reference, n, value);
    if (outcome == DONE)
        outcome = check_intermediate_access(instance, reference, n, instance->intermediate_get);
    if (outcome != DONE)
        return outcome;
    instance_evaluate(instance);
    for (size_t i = 0; i < n; i++)
        value[i] = instance->now.value[reference[i]];
    return DONE;
}

static Outcome refuse_set(Instance *instance, unsigned reference)
{
    const char *name = model.variables[reference].name;
    if (!instance->settable[reference])
        return refuse(instance, "%s is computed by the model and cannot be set", name);
    return refuse(instance, "%s cannot be set in the present state (%s)", name, mode_name(instance->now.mode));
}

Outcome instance_set(Instance *instance, const unsigned reference[], size_t n, const double value[])
{
    State *now = &instance->now;
    Outcome outcome = check_values(instance, reference, n, value);
    if (outcome == DONE)
        outcome = check_intermediate_access(instance, reference, n, instance->intermediate_set);
    if (outcome != DONE)
        return outcome;
    for (size_t i = 0; i < n; i++)
        if (!(instance->settable[reference[i]] & now->mode))
            return refuse_set(instance, reference[i]);
    for (size_t i = 0; i < n; i++) {
        now->value[reference[i]] = value[i];
        now->rate[reference[i]] = now->slope[reference[i]];
    }
    now->stale = true;
    return DONE;
}

Outcome instance_setup(Instance *instance, double start_time, bool has_stop_time, double stop_time)
{
    const Outcome outcome = instance_require(instance, INSTANTIATED);
    if (outcome != DONE)
        return outcome;
    if (!isfinite(start_time))
        return refuse(instance, "the start time is %g; it must be finite", start_time);
    if (has_stop_time && !(stop_time >= start_time))
        return refuse(instance, "the stop time %g is before the start time %g", stop_time, start_time);
    instance->now.value[0] = start_time;
    instance->now.stop_time = has_stop_time ? stop_time : INFINITY;
    instance->now.stale = true;
    return DONE;
}

Outcome instance_change_mode(Instance *instance, unsigned from, Mode to)
{
    const Outcome outcome = instance_require(instance, from);
    if (outcome == DONE)
        instance->now.mode = to;
    return outcome;
}

Outcome instance_exit_initialization(Instance *instance)
{
    const Outcome outcome = instance_require(instance, INITIALIZATION);
    if (outcome != DONE)
        return outcome;
    instance_evaluate(instance); /* the last time that the calculated states follow from inputs and parameters */
    instance->now.mode = instance->interface == MODEL_EXCHANGE ? EVENT : STEP;
    return DONE;
}

static Outcome check_state_vector(Instance *instance, const double x[], size_t n, unsigned modes)
{
    if (n != instance->state_count)
        return refuse(instance, "%zu states were given; %s has %zu", n, model.name, instance->state_count);
    if (n > 0 && !x)
        return refuse(instance, "the vector is a null pointer");
    if (instance->interface != MODEL_EXCHANGE)
        return refuse(instance, "this instance was made for co-simulation");
    return instance_require(instance, modes);
}

Outcome instance_set_time(Instance *instance, double t)
{
    const Outcome outcome = instance_require(instance, EVENT | CONTINUOUS_TIME);
    if (outcome != DONE)
        return outcome;
    if (!isfinite(t))
        return refuse(instance, "the time is %g; it must be finite", t);
    instance->now.value[0] = t;
    instance->now.stale = true;
    return DONE;
}

Outcome instance_get_states(Instance *instance, double x[], size_t n)
{
    const Outcome outcome = check_state_vector(instance, x, n, INITIALIZATION | EVENT | CONTINUOUS_TIME | TERMINATED);
    if (outcome != DONE)
        return outcome;
    instance_evaluate(instance);
    for (size_t i = 0; i < n; i++)
        x[i] = instance->now.value[instance->state[i]];
    return DONE;
}

Outcome instance_set_states(Instance *instance, const double x[], size_t n)
{
    const Outcome outcome = check_state_vector(instance, x, n, CONTINUOUS_TIME);
    if (outcome != DONE)
        return outcome;
    for (size_t i = 0; i < n; i++)
        instance->now.value[instance->state[i]] = x[i];
    instance->now.stale = true;
    return DONE;
}

Outcome instance_get_nominals(Instance *instance, double nominal[], size_t n)
{
    const Outcome outcome =
        check_state_vector(instance, nominal, n, INITIALIZATION | EVENT | CONTINUOUS_TIME | TERMINATED);
    if (outcome != DONE)
        return outcome;
    for (size_t i = 0; i < n; i++)
        nominal[i] = instance->nominal[i];
    return DONE;
}

Outcome instance_get_derivatives(Instance *instance, double slope[], size_t n)
{
    const Outcome outcome =
        check_state_vector(instance, slope, n, INITIALIZATION | EVENT | CONTINUOUS_TIME | TERMINATED);
    if (outcome != DONE)
        return outcome;
    instance_evaluate(instance);
    for (size_t i = 0; i < n; i++)
        slope[i] = instance->now.value[instance->derivative[i]];
    return DONE;
}

Outcome instance_get_indicators(Instance *instance, double indicator[], size_t n)
{
    if (n != model.indicator_count)
        return refuse(instance, "%zu event indicators were asked for; %s has %zu", n, model.name,
                      model.indicator_count);
    if (n > 0 && !indicator)
        return refuse(instance, "the vector is a null pointer");
    const Outcome outcome = instance_require(instance, INITIALIZATION | EVENT | CONTINUOUS_TIME | TERMINATED);
    if (outcome != DONE)
        return outcome;
    instance_evaluate(instance);
    for (size_t i = 0; i < n; i++)
        indicator[i] = instance->now.value[model.indicators[i]];
    return DONE;
}

Outcome instance_update_discrete(Instance *instance, EventAnswer *answer)
{
    *answer = (EventAnswer){.next_time = INFINITY};
    const Outcome outcome = instance_require(instance, EVENT);
    if (outcome != DONE || !model.events)
        return outcome;
    instance_evaluate(instance);
    double after[MAX_VARIABLES];
    memcpy(after, instance->now.value, sizeof after);
    answer->next_time = model.events(after);
    for (size_t i = 0; i < model.variable_count; i++)
        if (model.variables[i].discrete && after[i] != instance->now.value[i])
            answer->discrete_changed = true;
    for (size_t i = 0; i < instance->state_count; i++)
        if (after[instance->state[i]] != instance->now.value[instance->state[i]])
            answer->states_changed = true;
    memcpy(instance->now.value, after, sizeof after);
    instance->now.stale = true;
    return DONE;
}
