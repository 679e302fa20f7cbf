/* From birth to death of an FMI 2.0 component that needs nothing but memory: for models that define `Component`. */
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
