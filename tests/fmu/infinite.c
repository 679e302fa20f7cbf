/* An FMU for FMI 2.0 and 3.0 whose output says which of its parameters have arrived: 100 for one that is INF, 10 for
 * one that is -INF, 1 for one that is NaN, and 1000 for a text "INF". Reference 0 is y, then big, negative, undefined
 * and the text. */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { Y, BIG, NEGATIVE, UNDEFINED, TEXT };

typedef struct {
    double v[TEXT];
    char text[16];
} Component;

void *fmi2Instantiate(const char *name, int kind, const char *token, const char *place, const void *callbacks,
                      int visible, int logging)
{
    (void)name, (void)kind, (void)token, (void)place, (void)callbacks, (void)visible, (void)logging;
    return calloc(1, sizeof(Component));
}

void *fmi3InstantiateCoSimulation(void)
{
    return calloc(1, sizeof(Component));
}
void fmi2FreeInstance(void *c)
{
    free(c);
}
void fmi3FreeInstance(void *c)
{
    free(c);
}
int fmi2DoStep(void *c, double t, double h, int last)
{
    return (void)c, (void)t, (void)h, (void)last, 0;
}

int fmi3DoStep(void *c, double t, double h, bool last, bool *event, bool *end, bool *early, double *reached)
{
    (void)c, (void)last;
    *event = *end = *early = false;
    *reached = t + h;
    return 0;
}

int fmi2SetReal(void *c, const uint32_t references[], size_t n, const double values[])
{
    for (size_t i = 0; i < n; i++)
        ((Component *)c)->v[references[i]] = values[i];
    return 0;
}

int fmi2GetReal(void *c, const uint32_t references[], size_t n, double values[])
{
    Component *t = c;
    t->v[Y] = 100 * (t->v[BIG] == INFINITY) + 10 * (t->v[NEGATIVE] == -INFINITY) + (isnan(t->v[UNDEFINED]) != 0) +
              1000 * (strcmp(t->text, "INF") == 0);
    for (size_t i = 0; i < n; i++)
        values[i] = t->v[references[i]];
    return 0;
}

int fmi2SetString(void *c, const uint32_t references[], size_t n, const char *const values[])
{
    (void)references;
    if (n > 0)
        strncpy(((Component *)c)->text, values[0], sizeof((Component *)c)->text - 1);
    return 0;
}

int fmi2GetString(void *c, const uint32_t references[], size_t n, const char *values[])
{
    for (size_t i = 0; i < n; i++)
        values[i] = ((Component *)c)->text;
    return (void)references, 0;
}

int fmi3SetFloat64(void *c, const uint32_t references[], size_t n, const double values[], size_t m)
{
    return (void)m, fmi2SetReal(c, references, n, values);
}

int fmi3GetFloat64(void *c, const uint32_t references[], size_t n, double values[], size_t m)
{
    return (void)m, fmi2GetReal(c, references, n, values);
}

int fmi3SetString(void *c, const uint32_t references[], size_t n, const char *const values[], size_t m)
{
    return (void)m, fmi2SetString(c, references, n, values);
}

int fmi3GetString(void *c, const uint32_t references[], size_t n, const char *values[], size_t m)
{
    return (void)m, fmi2GetString(c, references, n, values);
}
