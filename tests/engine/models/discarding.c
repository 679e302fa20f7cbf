/* FMI 2.0 for Logarithm: setting u (row 1) to what the logarithm is not defined for is discarded, as FMI allows. */
#include "instance.h"

static Outcome discarding_set(Instance *instance, const unsigned reference[], size_t n, const double value[])
{
    for (size_t i = 0; i < n; i++)
        if (reference[i] == 1 && !(value[i] > 0))
            return instance_complain(instance, DISCARDED, "u = %g, must be positive", value[i]);
    return instance_set(instance, reference, n, value);
}

#define instance_set discarding_set
#include "fmi2.c"
