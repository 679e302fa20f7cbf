/* An FMI 2.0 component that is as small as one with an input can be. References: Real 0 u, 1 y, which is what u was
 * when it last stepped, plus the time then: so the numbers in a trace differ, as those of real systems do. */
#include <stdlib.h>

typedef struct {
    double real[2];
} Tiny;

void *fmi2Instantiate(const char *name, int type, const char *guid, const char *resources, const void *callbacks,
                      int visible, int logging)
{
    (void)name, (void)type, (void)guid, (void)resources, (void)callbacks, (void)visible, (void)logging;
    return calloc(1, sizeof(Tiny));
}
void fmi2FreeInstance(void *c)
{
    free(c);
}
int fmi2SetupExperiment(void *c, int tolerance_defined, double tolerance, double start, int stop_defined, double stop)
{
    (void)c, (void)tolerance_defined, (void)tolerance, (void)start, (void)stop_defined, (void)stop;
    return 0;
}
int fmi2EnterInitializationMode(void *c)
{
    (void)c;
    return 0;
}
int fmi2ExitInitializationMode(void *c)
{
    (void)c;
    return 0;
}
int fmi2Terminate(void *c)
{
    (void)c;
    return 0;
}
int fmi2SetReal(void *c, const unsigned *r, size_t n, const double *v)
{
    for (size_t i = 0; i < n; i++)
        ((Tiny *)c)->real[r[i]] = v[i];
    return 0;
}
int fmi2GetReal(void *c, const unsigned *r, size_t n, double *v)
{
    for (size_t i = 0; i < n; i++)
        v[i] = ((const Tiny *)c)->real[r[i]];
    return 0;
}
int fmi2DoStep(void *c, double t, double h, int keep)
{
    Tiny *tiny = c;
    (void)h, (void)keep;
    tiny->real[1] = tiny->real[0] + t;
    return 0;
}
