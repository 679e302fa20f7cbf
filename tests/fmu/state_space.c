/* x' = A x + B u, y = C x + D u with arrays of FMI 3.0: co-simulation, exact for inputs that are held over a step, and
 * model exchange. It follows inputs that vary if there is somebody to ask for them. The token holds the sizes, e.g.
 * "{state space 2 1 1}"; if it begins with "{sized" they are start values of structural parameters.
 *
 * Refuses what FMI forbids: arrays in part, sizes outside of configuration mode, and anything else inside of it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 0, ERROR = 3 };
enum { N = 1, M = 2, P = 3, A = 10, B, C, D, X0, U = 20, Y, X, DX };
enum { ARRAYS = 9 };
typedef enum { INSTANTIATED, CONFIGURATION, INITIALIZATION, RUNNING } Mode;

typedef void IntermediateUpdate(void *environment, double time, bool set_requested, bool get_allowed, bool finished,
                                bool can_return, bool *return_requested, double *return_time);

typedef struct {
    uint64_t n, m, p, sizes[3]; /* at first n, m, p are these */
    Mode mode;
    bool exchange, sized;
    size_t total;
    double *values; /* all arrays, in the order below */
    double time;
    void *environment;
    IntermediateUpdate *update;
} Model;

static size_t size_of(const Model *model, unsigned reference)
{
    switch (reference) {
    case A: return model->n * model->n;
    case B: return model->n * model->m;
    case C: return model->p * model->n;
    case D: return model->p * model->m;
    case X0:
    case X:
    case DX: return model->n;
    case U: return model->m;
    case Y: return model->p;
    default: return 0;
    }
}

static const unsigned references[ARRAYS] = {A, B, C, D, X0, U, Y, X, DX};

static double *place_of(const Model *model, unsigned reference)
{
    double *place = model->values;
    for (int i = 0; i < ARRAYS; ++i) {
        if (references[i] == reference)
            return place;
        place += size_of(model, references[i]);
    }
    return NULL;
}

/* A stable default at any size: A = -1, B, C, D full of 1, 1, 0, and x0 = 1. */
static void allocate(Model *model)
{
    model->total = 0;
    for (int i = 0; i < ARRAYS; ++i)
        model->total += size_of(model, references[i]);
    free(model->values);
    model->values = calloc(model->total + 1, sizeof *model->values);
    for (uint64_t i = 0; i < model->n; ++i) {
        place_of(model, A)[i * model->n + i] = -1;
        place_of(model, X0)[i] = place_of(model, X)[i] = 1;
    }
    for (size_t i = 0; i < size_of(model, B); ++i)
        place_of(model, B)[i] = 1;
    for (size_t i = 0; i < size_of(model, C); ++i)
        place_of(model, C)[i] = 1;
}

/* out = F a + G b */
static void combine(double *out, uint64_t rows, const double *F, const double *a, uint64_t na, const double *G,
                    const double *b, uint64_t nb)
{
    for (uint64_t i = 0; i < rows; ++i) {
        double sum = 0;
        for (uint64_t j = 0; j < na; ++j)
            sum += F[i * na + j] * a[j];
        for (uint64_t j = 0; j < nb; ++j)
            sum += G[i * nb + j] * b[j];
        out[i] = sum;
    }
}

static void slopes(Model *model, double *out, const double *x, const double *u)
{
    combine(out, model->n, place_of(model, A), x, model->n, place_of(model, B), u, model->m);
}

static void outputs(Model *model, double *out, const double *x, const double *u)
{
    combine(out, model->p, place_of(model, C), x, model->n, place_of(model, D), u, model->m);
}

static Model *instantiate(const char *token, bool exchange)
{
    Model *model = calloc(1, sizeof *model);
    unsigned long long n = 0, m = 0, p = 0;
    model->sized = strncmp(token, "{sized", 6) == 0;
    if (sscanf(strpbrk(token, "0123456789"), "%llu %llu %llu", &n, &m, &p) != 3)
        return NULL;
    model->sizes[0] = model->n = n;
    model->sizes[1] = model->m = m;
    model->sizes[2] = model->p = p;
    model->exchange = exchange;
    allocate(model);
    return model;
}

int fmi3Reset(Model *model)
{
    model->n = model->sizes[0];
    model->m = model->sizes[1];
    model->p = model->sizes[2];
    model->mode = INSTANTIATED;
    allocate(model);
    return OK;
}

void *fmi3InstantiateCoSimulation(const char *name, const char *token, const char *path, bool visible, bool logging,
                                  bool events, bool early, const unsigned *required, size_t count, void *environment,
                                  void *log, IntermediateUpdate *update)
{
    Model *model = instantiate(token, false);
    if (model) {
        model->environment = environment;
        model->update = update;
    }
    return model;
}

void *fmi3InstantiateModelExchange(const char *name, const char *token, const char *path, bool visible, bool logging,
                                   void *environment, void *log)
{
    return instantiate(token, true);
}

void fmi3FreeInstance(Model *model)
{
    free(model->values);
    free(model);
}

static int change(Model *model, Mode from, Mode to)
{
    if (model->mode != from)
        return ERROR;
    model->mode = to;
    return OK;
}

int fmi3EnterConfigurationMode(Model *model)
{
    return model->sized ? change(model, INSTANTIATED, CONFIGURATION) : ERROR;
}

int fmi3ExitConfigurationMode(Model *model)
{
    return change(model, CONFIGURATION, INSTANTIATED);
}

int fmi3EnterInitializationMode(Model *model, bool defined, double tolerance, double start, bool stops, double stop)
{
    model->time = start;
    return change(model, INSTANTIATED, INITIALIZATION);
}

int fmi3ExitInitializationMode(Model *model)
{
    memcpy(place_of(model, X), place_of(model, X0), model->n * sizeof(double));
    return change(model, INITIALIZATION, RUNNING);
}

int fmi3SetUInt64(Model *model, const unsigned *vr, size_t count, const uint64_t *values, size_t n)
{
    if (model->mode != CONFIGURATION || n != count)
        return ERROR;
    for (size_t i = 0; i < count; ++i)
        switch (vr[i]) {
        case N: model->n = values[i]; break;
        case M: model->m = values[i]; break;
        case P: model->p = values[i]; break;
        default: return ERROR;
        }
    allocate(model);
    return OK;
}

int fmi3GetUInt64(Model *model, const unsigned *vr, size_t count, uint64_t *values, size_t n)
{
    if (n != count)
        return ERROR;
    for (size_t i = 0; i < count; ++i)
        values[i] = vr[i] == N ? model->n : vr[i] == M ? model->m : model->p;
    return OK;
}

static size_t sizes(const Model *model, const unsigned *vr, size_t count)
{
    size_t total = 0;
    for (size_t i = 0; i < count; ++i)
        total += size_of(model, vr[i]);
    return total;
}

int fmi3SetFloat64(Model *model, const unsigned *vr, size_t count, const double *values, size_t n)
{
    if (model->mode == CONFIGURATION || sizes(model, vr, count) != n)
        return ERROR;
    for (size_t i = 0; i < count; ++i) {
        if (vr[i] == Y || vr[i] == DX || (vr[i] != U && model->mode == RUNNING) || !size_of(model, vr[i]))
            return ERROR;
        memcpy(place_of(model, vr[i]), values, size_of(model, vr[i]) * sizeof(double));
        if (vr[i] == X0)
            memcpy(place_of(model, X), values, model->n * sizeof(double));
        values += size_of(model, vr[i]);
    }
    return OK;
}

int fmi3GetFloat64(Model *model, const unsigned *vr, size_t count, double *values, size_t n)
{
    if (model->mode < INITIALIZATION || (vr[0] != 0 && sizes(model, vr, count) != n))
        return ERROR;
    outputs(model, place_of(model, Y), place_of(model, X), place_of(model, U));
    slopes(model, place_of(model, DX), place_of(model, X), place_of(model, U));
    for (size_t i = 0; i < count; ++i) {
        if (vr[i] == 0) {
            *values++ = model->time;
            continue;
        }
        memcpy(values, place_of(model, vr[i]), size_of(model, vr[i]) * sizeof(double));
        values += size_of(model, vr[i]);
    }
    return OK;
}

/* Sum of the Taylor series of x(t + h) for constant u: exact. */
static void advance(Model *model, double h)
{
    double *term = calloc(2 * model->n + 1, sizeof *term), *next = term + model->n, *x = place_of(model, X);
    slopes(model, term, x, place_of(model, U));
    for (uint64_t i = 0; i < model->n; ++i)
        term[i] *= h;
    for (int k = 2; k < 60; ++k) {
        for (uint64_t i = 0; i < model->n; ++i)
            x[i] += term[i];
        combine(next, model->n, place_of(model, A), term, model->n, NULL, NULL, 0);
        for (uint64_t i = 0; i < model->n; ++i)
            term[i] = next[i] * h / k;
    }
    free(term);
}

/* Inputs that vary are asked for in the middle of four parts of a step. */
int fmi3DoStep(Model *model, double t, double h, bool no_way_back, bool *event, bool *terminate, bool *early,
               double *reached)
{
    if (model->mode != RUNNING)
        return ERROR;
    for (int k = 0; model->update && k < 4; ++k) {
        bool requested = false;
        double when = 0;
        model->update(model->environment, t + (k + 0.5) * h / 4, true, false, false, false, &requested, &when);
        advance(model, h / 4);
    }
    if (!model->update)
        advance(model, h);
    *event = *terminate = *early = false;
    *reached = model->time = t + h;
    return OK;
}

/* Knowns are states and inputs, unknowns outputs and state derivatives; each array as a whole. */
int fmi3GetDirectionalDerivative(Model *model, const unsigned *unknowns, size_t nu, const unsigned *knowns, size_t nk,
                                 const double *seed, size_t ns, double *found, size_t nf)
{
    if (sizes(model, unknowns, nu) != nf || sizes(model, knowns, nk) != ns)
        return ERROR;
    double *dx = calloc(model->n + model->m + 1, sizeof *dx), *du = dx + model->n;
    for (size_t i = 0; i < nk; ++i) {
        if (knowns[i] != U && knowns[i] != X)
            return ERROR;
        memcpy(knowns[i] == U ? du : dx, seed, size_of(model, knowns[i]) * sizeof *seed);
        seed += size_of(model, knowns[i]);
    }
    for (size_t i = 0; i < nu; ++i) {
        (unknowns[i] == Y ? outputs : slopes)(model, found, dx, du);
        found += size_of(model, unknowns[i]);
    }
    free(dx);
    return OK;
}

/* -- states of the FMU ------------------------------------------------------------------------------------------- */

/* The values, the time and the mode. */
static size_t state_size(const Model *model)
{
    return (model->total + 2) * sizeof(double);
}

int fmi3GetFMUState(Model *model, void **state)
{
    double *numbers = *state = *state ? *state : malloc(state_size(model));
    memcpy(numbers, model->values, model->total * sizeof(double));
    numbers[model->total] = model->time;
    numbers[model->total + 1] = model->mode;
    return OK;
}

int fmi3SetFMUState(Model *model, const double *state)
{
    memcpy(model->values, state, model->total * sizeof(double));
    model->time = state[model->total];
    model->mode = (Mode)state[model->total + 1];
    return OK;
}

int fmi3FreeFMUState(Model *model, void **state)
{
    free(*state);
    *state = NULL;
    return OK;
}

int fmi3SerializedFMUStateSize(Model *model, void *state, size_t *size)
{
    *size = state_size(model);
    return OK;
}

int fmi3SerializeFMUState(Model *model, void *state, uint8_t *bytes, size_t size)
{
    memcpy(bytes, state, size);
    return OK;
}

int fmi3DeserializeFMUState(Model *model, const uint8_t *bytes, size_t size, void **state)
{
    if (size != state_size(model))
        return ERROR;
    *state = malloc(size);
    memcpy(*state, bytes, size);
    return OK;
}

/* -- model exchange ---------------------------------------------------------------------------------------------- */

int fmi3EnterEventMode(Model *model)
{
    return OK;
}
int fmi3EnterContinuousTimeMode(Model *model)
{
    return OK;
}

int fmi3UpdateDiscreteStates(Model *model, bool *again, bool *terminate, bool *nominals, bool *states, bool *defined,
                             double *next)
{
    *again = *terminate = *nominals = *states = *defined = false;
    return OK;
}

int fmi3SetTime(Model *model, double t)
{
    model->time = t;
    return OK;
}

int fmi3SetContinuousStates(Model *model, const double *x, size_t n)
{
    if (n != model->n)
        return ERROR;
    memcpy(place_of(model, X), x, n * sizeof *x);
    return OK;
}

int fmi3GetContinuousStates(Model *model, double *x, size_t n)
{
    memcpy(x, place_of(model, X), n * sizeof *x);
    return n == model->n ? OK : ERROR;
}

int fmi3GetContinuousStateDerivatives(Model *model, double *out, size_t n)
{
    slopes(model, out, place_of(model, X), place_of(model, U));
    return n == model->n ? OK : ERROR;
}

int fmi3GetNominalsOfContinuousStates(Model *model, double *out, size_t n)
{
    for (size_t i = 0; i < n; ++i)
        out[i] = 1;
    return OK;
}

int fmi3GetEventIndicators(Model *model, double *out, size_t n)
{
    return n ? ERROR : OK;
}

int fmi3CompletedIntegratorStep(Model *model, bool no_way_back, bool *event, bool *terminate)
{
    *event = *terminate = false;
    return OK;
}

int fmi3GetNumberOfContinuousStates(Model *model, size_t *n)
{
    *n = model->n;
    return OK;
}

int fmi3GetNumberOfEventIndicators(Model *model, size_t *n)
{
    *n = 0;
    return OK;
}
