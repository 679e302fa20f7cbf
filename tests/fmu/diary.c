/* An FMU for FMI 2.0 that tells how its library and its folder were used before: outputs `gain` (of the compiler),
   `loads` (instances since the library was loaded) and `visits` (lines that instances have written to a file in the
   folder of resources, if the parameter `writes` is 1) and `told` (the parameter `factor`). With KEEPS_ITSELF the
   library stays loaded. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static double values[5];
static int loads;
static char place[4096];

void *fmi2Instantiate(const char *name, int type, const char *guid, const char *location, const void *functions,
                      int visible, int logging)
{
    (void)name, (void)type, (void)guid, (void)functions, (void)visible, (void)logging;
    snprintf(place, sizeof place, "%s/diary", strstr(location, "/tmp") ? strstr(location, "://") + 3 : location);
    values[0] = GAIN;
    values[1] = ++loads;
#ifdef KEEPS_ITSELF
    Dl_info own;
    if (dladdr(&loads, &own))
        dlopen(own.dli_fname, RTLD_LAZY | RTLD_NODELETE);
#endif
    return values;
}

int fmi2SetReal(void *instance, const unsigned *references, size_t count, const double *given)
{
    (void)instance;
    for (size_t i = 0; i < count; ++i)
        values[references[i]] = given[i];
    return 0;
}

int fmi2GetReal(void *instance, const unsigned *references, size_t count, double *found)
{
    (void)instance;
    for (size_t i = 0; i < count; ++i)
        found[i] = values[references[i] == 5 ? 4 : references[i]];
    return 0;
}

int fmi2ExitInitializationMode(void *instance)
{
    (void)instance;
    if (values[3] == 1) {
        FILE *diary = fopen(place, "r+b");
        if (!diary)
            return 3;
        int visits = fgetc(diary) + 1;
        rewind(diary);
        fputc(visits, diary);
        fclose(diary);
        values[2] = visits;
    }
    return 0;
}

int fmi2DoStep(void *instance, double t, double h, int final)
{
    (void)instance, (void)t, (void)h, (void) final;
    return 0;
}
