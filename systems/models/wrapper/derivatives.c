/* Directional derivatives and total time derivatives, from the model's equations in complex numbers:
 * f(x + i e d) = f(x) + i e f'(x) d + O(e^2), and with e = 1e-100 the remainder vanishes in double precision. */
#include "instance.h"

static const double EPSILON = 1e-100;

static void perturb(double complex v[], unsigned row, double by)
{
    ((double *)&v[row])[1] += EPSILON * by; // the imaginary part, which CMPLX would set; Windows does not have that
}

static void copy_values(const Instance *instance, double complex v[])
{
    for (size_t i = 0; i < model.variable_count; i++)
        v[i] = instance->now.value[i];
}

static bool is_state(const Instance *instance, unsigned row)
{
    for (size_t i = 0; i < instance->state_count; i++)
        if (instance->state[i] == row)
            return true;
    return false;
}

/* FMI: in initialization mode the knowns are what may be set; later they are inputs, states and time. */
static Outcome check_known(Instance *instance, unsigned row)
{
    const Variable *variable = &model.variables[row];
    if (variable->causality == INDEPENDENT || instance->settable[row] & instance->now.mode)
        return DONE;
    if (instance->now.mode != INITIALIZATION && (variable->causality == INPUT || is_state(instance, row)))
        return DONE;
    return refuse(instance, "%s is not a known variable in the present state", variable->name);
}

static Outcome check_unknown(Instance *instance, unsigned row)
{
    const Causality causality = model.variables[row].causality;
    if (causality == OUTPUT || causality == LOCAL)
        return DONE;
    return refuse(instance, "%s is not an unknown: it is neither an output nor computed", model.variables[row].name);
}

static Outcome check_both(Instance *instance, const unsigned unknown[], size_t unknown_count, const unsigned known[],
                          size_t known_count)
{
    Outcome outcome = instance_require(instance, INITIALIZATION | EVENT | CONTINUOUS_TIME | STEP | TERMINATED);
    if (outcome == DONE)
        outcome = instance_check_references(instance, unknown, unknown_count);
    if (outcome == DONE)
        outcome = instance_check_references(instance, known, known_count);
    for (size_t i = 0; i < unknown_count && outcome == DONE; i++)
        outcome = check_unknown(instance, unknown[i]);
    for (size_t i = 0; i < known_count && outcome == DONE; i++)
        outcome = check_known(instance, known[i]);
    return outcome;
}

Outcome instance_directional_derivative(Instance *instance, const unsigned unknown[], size_t unknown_count,
                                        const unsigned known[], size_t known_count, const double seed[],
                                        double sensitivity[])
{
    const Outcome outcome = check_both(instance, unknown, unknown_count, known, known_count);
    if (outcome != DONE)
        return outcome;
    if ((known_count > 0 && !seed) || (unknown_count > 0 && !sensitivity))
        return refuse(instance, "the seed or the place for the sensitivity is a null pointer");
    double complex v[MAX_VARIABLES];
    copy_values(instance, v);
    for (size_t i = 0; i < known_count; i++)
        perturb(v, known[i], seed[i]);
    if (instance->now.mode == INITIALIZATION)
        model_initial_complex(v);
    model_equations_complex(v);
    for (size_t i = 0; i < unknown_count; i++)
        sensitivity[i] = cimag(v[unknown[i]]) / EPSILON;
    return DONE;
}

/* One product per known: the sensitivity of a weighted sum of the unknowns. */
Outcome instance_adjoint_derivative(Instance *instance, const unsigned unknown[], size_t unknown_count,
                                    const unsigned known[], size_t known_count, const double seed[],
                                    double sensitivity[])
{
    if ((unknown_count > 0 && !seed) || (known_count > 0 && !sensitivity))
        return refuse(instance, "the seed or the place for the sensitivity is a null pointer");
    if (unknown_count > MAX_VARIABLES)
        return refuse(instance, "there are not that many unknowns");
    const Outcome outcome = check_both(instance, unknown, unknown_count, known, known_count);
    if (outcome != DONE)
        return outcome;
    for (size_t k = 0; k < known_count; k++) {
        const double one = 1;
        double column[MAX_VARIABLES];
        instance_directional_derivative(instance, unknown, unknown_count, &known[k], 1, &one, column);
        sensitivity[k] = 0;
        for (size_t i = 0; i < unknown_count; i++)
            sensitivity[k] += seed[i] * column[i];
    }
    return DONE;
}

/* dy/dt = dy/dx f(x, u, t) + dy/du du/dt + dy/dt, in one evaluation. */
static void total_time_derivative(Instance *instance, double complex v[])
{
    const State *now = &instance->now;
    instance_evaluate(instance);
    copy_values(instance, v);
    perturb(v, 0, 1);
    for (unsigned i = 0; i < model.variable_count; i++)
        if (model.variables[i].causality == INPUT)
            perturb(v, i, now->rate[i]);
    for (size_t i = 0; i < instance->state_count; i++)
        perturb(v, instance->state[i], now->value[instance->derivative[i]]);
    model_equations_complex(v);
}

Outcome instance_get_output_derivatives(Instance *instance, const unsigned reference[], size_t n, const int order[],
                                        double value[])
{
    Outcome outcome = instance_require(instance, STEP | TERMINATED);
    if (outcome == DONE)
        outcome = instance_check_references(instance, reference, n);
    if (outcome != DONE)
        return outcome;
    if (instance->interface != CO_SIMULATION)
        return refuse(instance, "this instance was made for model exchange");
    if (n > 0 && (!order || !value))
        return refuse(instance, "the orders or the place for the values are a null pointer");
    for (size_t i = 0; i < n; i++) {
        if (model.variables[reference[i]].causality != OUTPUT)
            return refuse(instance, "%s is not an output", model.variables[reference[i]].name);
        if (order[i] != 1)
            return refuse(instance, "order %d of %s is not available; the highest order is 1", order[i],
                          model.variables[reference[i]].name);
    }
    double complex v[MAX_VARIABLES];
    total_time_derivative(instance, v);
    for (size_t i = 0; i < n; i++)
        value[i] = cimag(v[reference[i]]) / EPSILON;
    return DONE;
}
