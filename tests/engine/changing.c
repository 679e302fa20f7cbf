/* A component whose output of type Binary (reference 1) has another content of SIZE bytes after each step. */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { SIZE = 1024 };

static uint8_t content[SIZE];
static uint64_t steps;

void *fmi3InstantiateCoSimulation(void)
{
    return &steps;
}

int fmi3DoStep(void *c, double t, double h, bool no_set_prior, bool *event, bool *terminate, bool *early, double *last)
{
    (void)c, (void)no_set_prior;
    *event = *terminate = *early = false;
    *last = t + h;
    ++steps;
    memcpy(content, &steps, sizeof steps);
    return 0;
}

int fmi3GetBinary(void *c, const uint32_t *r, size_t n, size_t *sizes, const uint8_t **v, size_t count)
{
    (void)c, (void)r, (void)n;
    for (size_t i = 0; i < count; ++i) {
        sizes[i] = SIZE;
        v[i] = content;
    }
    return 0;
}
