/* FMI 1.0 for Steady, without fmiResetSlave, as some tools export. */
#include "instance.h"

static void unresettable(Instance *instance)
{
    instance->now.mode = TERMINATED;
}

#define instance_reset(instance) return unresettable(instance), status_of(refuse(instance, "there is no way back"))
#include "fmi1.c"
