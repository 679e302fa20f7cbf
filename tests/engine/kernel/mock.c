/* A component for the tests of the kernels, as bare FMI 2.0 and 3.0 functions over one struct.
 *
 * Inputs have the references 0 … 3, outputs 10 … 13. Each state integrates its input, exactly for inputs that are
 * quadratic in time, and y = x + D u + c u³. Everything that was asked of it is counted, and everything can fail. */
#define _POSIX_C_SOURCE 199309L
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <time.h>

enum { N = 4, FIRST_OUTPUT = 10 };
enum { SET, GET, SET_RATES, DO_STEP, GET_STATE, SET_STATE, FREE_STATE, DIRECTIONAL, FUNCTIONS };

typedef void (*IntermediateUpdate)(void *, double, bool, bool, bool, bool, bool *, double *);

typedef struct {
    double u[N], first[N], second[N], x[N];
    double feedthrough[N][N];
    double nan_from; /* outputs are nan from this time on */
    double last_t, last_h;
    int32_t last_no_set_state;
    int32_t calls[FUNCTIONS];
    int32_t fail[FUNCTIONS];      /* status to return; 0: work */
    int32_t fail_from[FUNCTIONS]; /* first call that returns it */
    int32_t event, terminate, early_return;
    double time;
    void *environment;
    IntermediateUpdate update;
    double seconds; /* that a step works at least; negative: that it sleeps */
    double reached; /* where it says that it has returned early; 0: at the end of the step */
    double cubic[N];
    double lie;     /* what directional derivatives are too large by */
    double least;   /* of the first input; below it, outputs are not to be had, */
    int32_t beyond; /* with this status; 0: everywhere */
    double noise;   /* outputs are off by up to this, each time otherwise: no state brings that back */
    uint32_t seed;
} Mock;

static double stray(Mock *m)
{
    m->seed = m->seed * 1664525u + 1013904223u;
    return m->noise * (m->seed / 2147483648.0 - 1.0);
}

static int refused(Mock *m, int function)
{
    m->calls[function]++;
    return m->fail[function] != 0 && m->calls[function] >= m->fail_from[function] ? m->fail[function] : 0;
}

static int set(Mock *m, const uint32_t *r, size_t n, const double *v)
{
    int status = refused(m, SET);
    if (status > 1)
        return status;
    for (size_t i = 0; i < n; i++) {
        if (r[i] >= N)
            return 3;
        m->u[r[i]] = v[i];
    }
    return status;
}

static int get(Mock *m, const uint32_t *r, size_t n, double *v)
{
    int status = refused(m, GET);
    if (status > 1)
        return status;
    if (m->beyond && m->u[0] < m->least)
        return m->beyond;
    for (size_t i = 0; i < n; i++) {
        unsigned k = r[i] - FIRST_OUTPUT;
        if (k >= N)
            return 3;
        double y = m->x[k] + m->cubic[k] * m->u[k] * m->u[k] * m->u[k];
        for (int j = 0; j < N; j++)
            y += m->feedthrough[k][j] * m->u[j];
        v[i] = m->time >= m->nan_from ? NAN : m->noise != 0.0 ? y + stray(m) : y;
    }
    return status;
}

static int begin_step(Mock *m, double t, double h, int no_set_state)
{
    m->last_t = t, m->last_h = h, m->last_no_set_state = no_set_state;
    m->time = t + h;
    struct timespec now = {0, (long)(-1e9 * m->seconds)};
    if (m->seconds < 0.0)
        nanosleep(&now, NULL);
    clock_gettime(CLOCK_MONOTONIC, &now);
    const double end = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec + m->seconds;
    while (m->seconds > 0.0 && (double)now.tv_sec + 1e-9 * (double)now.tv_nsec < end)
        clock_gettime(CLOCK_MONOTONIC, &now);
    return refused(m, DO_STEP);
}

static int get_state(Mock *m, void **state)
{
    int status = refused(m, GET_STATE);
    if (status > 1)
        return status;
    if (!*state)
        *state = malloc(sizeof(Mock));
    *(Mock *)*state = *m;
    return status;
}

static int set_state(Mock *m, void *state)
{
    int status = refused(m, SET_STATE);
    if (status > 1)
        return status;
    const Mock *s = state;
    for (int i = 0; i < N; i++)
        m->u[i] = s->u[i], m->first[i] = s->first[i], m->second[i] = s->second[i], m->x[i] = s->x[i];
    m->time = s->time;
    return status;
}

static int free_state(Mock *m, void **state)
{
    free(*state);
    *state = NULL;
    return refused(m, FREE_STATE);
}

static int directional(Mock *m, const uint32_t *z, size_t nz, const uint32_t *v, size_t nv, const double *dv,
                       double *dz)
{
    int status = refused(m, DIRECTIONAL);
    if (status > 1)
        return status;
    for (size_t i = 0; i < nz; i++) {
        dz[i] = 0.0;
        for (size_t j = 0; j < nv; j++)
            dz[i] += (m->feedthrough[z[i] - FIRST_OUTPUT][v[j]] + m->lie) * dv[j];
        for (size_t j = 0; j < nv; j++)
            if (v[j] == z[i] - FIRST_OUTPUT)
                dz[i] += 3.0 * m->cubic[v[j]] * m->u[v[j]] * m->u[v[j]] * dv[j];
    }
    return status;
}

/* -- FMI 2.0 -------------------------------------------------------------------------------------------------- */

int fmi2SetReal(void *c, const uint32_t *r, size_t n, const double *v)
{
    return set(c, r, n, v);
}
int fmi2GetReal(void *c, const uint32_t *r, size_t n, double *v)
{
    return get(c, r, n, v);
}
int fmi2GetFMUstate(void *c, void **s)
{
    return get_state(c, s);
}
int fmi2SetFMUstate(void *c, void *s)
{
    return set_state(c, s);
}
int fmi2FreeFMUstate(void *c, void **s)
{
    return free_state(c, s);
}

int fmi2SetRealInputDerivatives(void *c, const uint32_t *r, size_t n, const int *order, const double *v)
{
    Mock *m = c;
    int status = refused(m, SET_RATES);
    if (status > 1)
        return status;
    for (size_t i = 0; i < n; i++) {
        if (r[i] >= N || order[i] < 1 || order[i] > 2)
            return 3;
        (order[i] == 1 ? m->first : m->second)[r[i]] = v[i];
    }
    return status;
}

int fmi2DoStep(void *c, double t, double h, int no_set_state)
{
    Mock *m = c;
    int status = begin_step(m, t, h, no_set_state);
    if (status > 1)
        return status;
    for (int i = 0; i < N; i++) {
        m->x[i] += h * (m->u[i] + h * (m->first[i] / 2 + h * m->second[i] / 6));
        m->u[i] += h * (m->first[i] + h * m->second[i] / 2);
    }
    return status;
}

int fmi2GetDirectionalDerivative(void *c, const uint32_t *z, size_t nz, const uint32_t *v, size_t nv, const double *dv,
                                 double *dz)
{
    return directional(c, z, nz, v, nv, dv, dz);
}

/* -- FMI 3.0 -------------------------------------------------------------------------------------------------- */

int fmi3SetFloat64(void *c, const uint32_t *r, size_t n, const double *v, size_t nv)
{
    return n == nv ? set(c, r, n, v) : 3;
}

int fmi3GetFloat64(void *c, const uint32_t *r, size_t n, double *v, size_t nv)
{
    return n == nv ? get(c, r, n, v) : 3;
}

int fmi3GetFMUState(void *c, void **s)
{
    return get_state(c, s);
}
int fmi3SetFMUState(void *c, void *s)
{
    return set_state(c, s);
}
int fmi3FreeFMUState(void *c, void **s)
{
    return free_state(c, s);
}

static void ask(Mock *m, double t)
{
    bool early = true;
    double until = 0.0;
    if (m->update)
        m->update(m->environment, t, true, true, false, false, &early, &until);
}

int fmi3DoStep(void *c, double t, double h, bool no_set_state, bool *event, bool *terminate, bool *early, double *last)
{
    Mock *m = c;
    int status = begin_step(m, t, h, no_set_state);
    double u[3][N];
    for (int k = 0; k < 3; k++) {
        ask(m, t + k * h / 2);
        for (int i = 0; i < N; i++)
            u[k][i] = m->u[i];
    }
    /* Simpson's rule */
    for (int i = 0; i < N; i++)
        m->x[i] += h / 6 * (u[0][i] + 4 * u[1][i] + u[2][i]);
    *event = m->event, *terminate = m->terminate, *early = m->early_return,
    *last = m->reached != 0 ? m->reached : t + h;
    return status;
}

int fmi3GetDirectionalDerivative(void *c, const uint32_t *z, size_t nz, const uint32_t *v, size_t nv, const double *dv,
                                 size_t ndv, double *dz, size_t ndz)
{
    return ndv == nv && ndz == nz ? directional(c, z, nz, v, nv, dv, dz) : 3;
}
