/* A room with a heater (ROOM), and the thermostat that switches it: FMI 2.0 co-simulation, the least that runs. */
#include <math.h>
#include <stdlib.h>

typedef struct {
    double T, low, high;
    int on;
} Model;

void *fmi2Instantiate(const char *name, int kind, const char *guid, const char *resources, const void *callbacks,
                      int visible, int logging)
{
    Model *m = calloc(1, sizeof *m);
    m->T = 18;
    m->low = 20;
    m->high = 22;
    m->on = 1;
    return m;
}

void fmi2FreeInstance(void *m)
{
    free(m);
}

static double *real(Model *m, unsigned reference)
{
    return reference == 0 ? &m->T : reference == 1 ? &m->low : &m->high;
}

int fmi2GetReal(void *m, const unsigned *references, size_t n, double *values)
{
    for (size_t k = 0; k < n; k++)
        values[k] = *real(m, references[k]);
    return 0;
}

int fmi2SetReal(void *m, const unsigned *references, size_t n, const double *values)
{
    for (size_t k = 0; k < n; k++)
        *real(m, references[k]) = values[k];
    return 0;
}

int fmi2GetBoolean(void *m, const unsigned *references, size_t n, int *values)
{
    for (size_t k = 0; k < n; k++)
        values[k] = ((Model *)m)->on;
    return 0;
}

int fmi2SetBoolean(void *m, const unsigned *references, size_t n, const int *values)
{
    for (size_t k = 0; k < n; k++)
        ((Model *)m)->on = values[k];
    return 0;
}

int fmi2DoStep(void *model, double t, double h, int no_return)
{
    Model *m = model;
#ifdef ROOM
    double end = m->on ? 35 : 5;
    m->T = end + (m->T - end) * exp(-h / 100);
#else
    if (m->T <= m->low)
        m->on = 1;
    if (m->T >= m->high)
        m->on = 0;
#endif
    return 0;
}
