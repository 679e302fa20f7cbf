/* Birth and death of an FMI 2.0 component that needs nothing but memory: for models that define `Component`. */
#include <stdlib.h>

void *fmi2Instantiate(const char *name, int type, const char *guid, const char *resources, const void *callbacks,
                      int visible, int logging)
{
    (void)name, (void)type, (void)guid, (void)resources, (void)callbacks, (void)visible, (void)logging;
    return calloc(1, sizeof(Component));
}
void fmi2FreeInstance(void *c)
{
    free(c);
}
