/* A co-simulation step: input polynomials, integration, and the intermediate update of FMI 3.0. */
#include <math.h>
#include <string.h>

#include "instance.h"
#include "integrate.h"

/* The model over one step: everything but the states is given by the time s since its start. */
typedef struct {
    const Instance *instance;
    double start_time;
    size_t input_count;
    unsigned input[MAX_VARIABLES];
    double u0[MAX_VARIABLES], u1[MAX_VARIABLES], u2[MAX_VARIABLES]; /* u(s) = u0 + u1 s + u2 s^2/2 */
    double value[MAX_VARIABLES];
} Course;

static void set_inputs(Course *course, double s)
{
    for (size_t i = 0; i < course->input_count; i++)
        course->value[course->input[i]] = course->u0[i] + s * (course->u1[i] + s * (course->u2[i] / 2));
}

static void slopes(void *context, double s, const double x[], double slope[])
{
    Course *course = context;
    const Instance *instance = course->instance;
    course->value[0] = course->start_time + s;
    set_inputs(course, s);
    for (size_t i = 0; i < instance->state_count; i++)
        course->value[instance->state[i]] = x[i];
    model_equations(course->value);
    for (size_t i = 0; i < instance->state_count; i++)
        slope[i] = course->value[instance->derivative[i]];
}

static void collect_inputs(Course *course)
{
    const State *now = &course->instance->now;
    for (unsigned i = 0; i < model.variable_count; i++)
        if (model.variables[i].causality == INPUT) {
            course->u0[course->input_count] = now->value[i];
            course->u1[course->input_count] = now->slope[i];
            course->u2[course->input_count] = now->curvature[i];
            course->input[course->input_count++] = i;
        }
}

static void call_intermediate_update(Instance *instance, double t, bool set, bool get)
{
    const Mode mode = instance->now.mode;
    instance->now.mode = INTERMEDIATE_UPDATE;
    instance->intermediate_set = set;
    instance->intermediate_get = get;
    instance->intermediate_update(instance, t, set, get);
    instance->intermediate_set = instance->intermediate_get = false;
    instance->now.mode = mode;
}

static bool wants_intermediate(const Instance *instance, bool input)
{
    if (instance->intermediate_update)
        for (size_t i = 0; i < model.variable_count; i++)
            if (instance->intermediate[i] && (model.variables[i].causality == INPUT) == input)
                return true;
    return false;
}

/* Asks the importer for the inputs at the start, middle and end of the step; the polynomial through the three
 * values is exact for inputs that are polynomials of order <= 2. The stored inputs stay what they were. */
static void sample_inputs(Instance *instance, Course *course, double h)
{
    double sample[3][MAX_VARIABLES], before[MAX_VARIABLES];
    memcpy(before, instance->now.value, sizeof before);
    for (int k = 0; k < 3; k++) {
        call_intermediate_update(instance, course->start_time + h * k / 2, true, false);
        memcpy(sample[k], instance->now.value, sizeof sample[k]);
    }
    memcpy(instance->now.value, before, sizeof before);
    for (size_t i = 0; i < course->input_count; i++) {
        const unsigned row = course->input[i];
        if (!instance->intermediate[row])
            continue;
        const double a = sample[0][row], b = sample[1][row], c = sample[2][row];
        course->u0[i] = a;
        course->u1[i] = (4 * (b - a) - (c - a)) / h;
        course->u2[i] = 4 * ((a - b) + (c - b)) / (h * h);
    }
}

static void commit(Instance *instance, Course *course, double t, double h, const double x[])
{
    State *now = &instance->now;
    set_inputs(course, h);
    for (size_t i = 0; i < course->input_count; i++) {
        const unsigned row = course->input[i];
        now->value[row] = course->value[row];
        now->rate[row] = course->u1[i] + course->u2[i] * h;
        now->slope[row] = now->curvature[row] = 0;
    }
    for (size_t i = 0; i < instance->state_count; i++)
        now->value[instance->state[i]] = x[i];
    now->value[0] = t + h;
    now->stale = true;
}

static Outcome check_step(Instance *instance, double t, double h)
{
    if (instance->interface != CO_SIMULATION)
        return refuse(instance, "this instance was made for model exchange");
    const Outcome outcome = instance_require(instance, STEP);
    if (outcome != DONE)
        return outcome;
    if (!(h > 0) || !isfinite(h))
        return refuse(instance, "the communication step size is %g; it must be positive and finite", h);
    /* Times that were summed up in different ways differ by rounding errors. */
    const double slack = 1e-9 * fmax(fmax(1, fabs(instance->now.value[0])), h);
    if (!(fabs(t - instance->now.value[0]) <= slack))
        return refuse(instance, "the communication point is %.17g but the instance is at %.17g", t,
                      instance->now.value[0]);
    if (t + h > instance->now.stop_time + slack)
        return refuse(instance, "the step to %.17g leads past the stop time %.17g", t + h, instance->now.stop_time);
    return DONE;
}

/* By the scheme of the model itself. */
static Outcome step_of_model(Instance *instance, double t, double h)
{
    State *now = &instance->now;
    double value[MAX_VARIABLES];
    memcpy(value, now->value, sizeof value);
    value[0] = t;
    model.step(value, h);
    for (size_t i = 0; i < model.variable_count; i++)
        if (!isfinite(value[i]))
            return discard(instance, "the step from t = %.17g to %.17g makes %s infinite or nan", t, t + h,
                           model.variables[i].name);
    memcpy(now->value, value, sizeof value);
    now->value[0] = t + h;
    now->stale = true;
    return DONE;
}

Outcome instance_step(Instance *instance, double t, double h)
{
    const Outcome outcome = check_step(instance, t, h);
    if (outcome != DONE)
        return outcome;
    if (model.step)
        return step_of_model(instance, t, h);
    Course course = {.instance = instance, .start_time = t};
    double x[MAX_STATES];
    collect_inputs(&course);
    if (wants_intermediate(instance, true))
        sample_inputs(instance, &course, h);
    memcpy(course.value, instance->now.value, sizeof course.value);
    for (size_t i = 0; i < instance->state_count; i++)
        x[i] = instance->now.value[instance->state[i]];
    if (instance->state_count > 0 && !integrate(instance->state_count, x, h, instance->nominal, slopes, &course))
        return discard(instance,
                       "no solution from t = %.17g to %.17g: a state derivative is not finite or the "
                       "internal step became too small; check inputs and parameters or try a smaller step",
                       t, t + h);
    commit(instance, &course, t, h, x);
    if (wants_intermediate(instance, false))
        call_intermediate_update(instance, t + h, false, true);
    return DONE;
}

Outcome instance_set_input_derivatives(Instance *instance, const unsigned reference[], size_t n, const int order[],
                                       const double value[])
{
    State *now = &instance->now;
    Outcome outcome = instance_require(instance, INSTANTIATED | INITIALIZATION | STEP);
    if (outcome == DONE)
        outcome = instance_check_references(instance, reference, n);
    if (outcome != DONE)
        return outcome;
    if (instance->interface != CO_SIMULATION)
        return refuse(instance, "this instance was made for model exchange");
    if (n > 0 && model.step)
        return refuse(instance, "inputs are held over a step; their derivatives cannot be set");
    if (n > 0 && (!order || !value))
        return refuse(instance, "the orders or the values are a null pointer");
    for (size_t i = 0; i < n; i++) {
        if (model.variables[reference[i]].causality != INPUT)
            return refuse(instance, "%s is not an input", model.variables[reference[i]].name);
        if (order[i] < 1 || order[i] > 2)
            return refuse(instance, "order %d of %s is not supported; use 1 or 2", order[i],
                          model.variables[reference[i]].name);
    }
    for (size_t i = 0; i < n; i++)
        if (order[i] == 1)
            now->slope[reference[i]] = now->rate[reference[i]] = value[i];
        else
            now->curvature[reference[i]] = value[i];
    return DONE;
}
