/* An FMI 2.0 component that switches: y = on ? a u + b : c u + d and is = u > 1, both of its inputs at the same
 * instant. References: Real 0 u, 1 y, 2 … 5 a b c d; Boolean 0 on, 1 is. */
#include <stddef.h>

typedef struct {
    double real[6];
    int on;
} Component;

#include "../fmu/fmi2_life.h"

int fmi2SetReal(void *c, const unsigned *r, size_t n, const double *v)
{
    for (size_t i = 0; i < n; i++)
        ((Component *)c)->real[r[i]] = v[i];
    return 0;
}
int fmi2GetReal(void *c, const unsigned *r, size_t n, double *v)
{
    const Component *relay = c;
    const double *p = relay->real;
    for (size_t i = 0; i < n; i++)
        v[i] = r[i] != 1 ? p[r[i]] : relay->on ? p[2] * p[0] + p[3] : p[4] * p[0] + p[5];
    return 0;
}
int fmi2SetBoolean(void *c, const unsigned *r, size_t n, const int *v)
{
    for (size_t i = 0; i < n; i++)
        if (r[i] == 0)
            ((Component *)c)->on = v[i];
    return 0;
}
int fmi2GetBoolean(void *c, const unsigned *r, size_t n, int *v)
{
    const Component *relay = c;
    for (size_t i = 0; i < n; i++)
        v[i] = r[i] == 0 ? relay->on : relay->real[0] > 1;
    return 0;
}
int fmi2DoStep(void *c, double t, double h, int keep)
{
    (void)c, (void)t, (void)h, (void)keep;
    return 0;
}
