/* An FMI 2.0 component that is as small as one with an input can be. References: Real 0 u, 1 y, which is what u was
 * when it last stepped, plus the time then: so the numbers in a trace differ, as those of real systems do. */
#include <stddef.h>

typedef struct {
    double real[2];
} Component;

#include "../tests/fmu/fmi2_life.h"

int fmi2SetReal(void *c, const unsigned *r, size_t n, const double *v)
{
    for (size_t i = 0; i < n; i++)
        ((Component *)c)->real[r[i]] = v[i];
    return 0;
}
int fmi2GetReal(void *c, const unsigned *r, size_t n, double *v)
{
    for (size_t i = 0; i < n; i++)
        v[i] = ((const Component *)c)->real[r[i]];
    return 0;
}
int fmi2DoStep(void *c, double t, double h, int keep)
{
    Component *tiny = c;
    (void)h, (void)keep;
    tiny->real[1] = tiny->real[0] + t;
    return 0;
}
