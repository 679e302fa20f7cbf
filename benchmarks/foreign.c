/* Two FMUs of which each gets the other's output, as a C programmer would step them: the calls that the engine makes
 * with Jacobi, logging off, memory from the C library; nothing is recorded. For FMI 2.0 and 3.0. */
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef struct {
    void *logger;
    void *(*allocate)(size_t, size_t);
    void (*release)(void *);
    void *step_finished;
    void *environment;
} Callbacks;

static void ignore2(void *environment, const char *name, int status, const char *category, const char *text, ...)
{
    (void)environment, (void)name, (void)status, (void)category, (void)text;
}

static void ignore3(void *environment, int status, const char *category, const char *text)
{
    (void)environment, (void)status, (void)category, (void)text;
}

static const unsigned u = 0, y = 1, x = 4;

static void must(int status, const char *what)
{
    if (status > 1) {
        fprintf(stderr, "foreign.c: %s returned %d\n", what, status);
        exit(1);
    }
}

static void *function(void *library, const char *name)
{
    void *address = dlsym(library, name);
    must(address ? 0 : 3, name);
    return address;
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double bench2(const char *path, const char *guid, long steps, double h, double outputs[2])
{
    static Callbacks callbacks = {NULL, calloc, free, NULL, NULL};
    callbacks.logger = (void *)ignore2;
    void *library = dlopen(path, RTLD_NOW);
    must(library ? 0 : 3, path);
    void *(*instantiate)(const char *, int, const char *, const char *, const Callbacks *, int, int) =
        function(library, "fmi2Instantiate");
    int (*set)(void *, const unsigned *, size_t, const double *) = function(library, "fmi2SetReal");
    int (*get)(void *, const unsigned *, size_t, double *) = function(library, "fmi2GetReal");
    int (*step)(void *, double, double, int) = function(library, "fmi2DoStep");
    void (*release)(void *) = function(library, "fmi2FreeInstance");
    void *one = instantiate("A", 1, guid, "", &callbacks, 0, 0), *two = instantiate("B", 1, guid, "", &callbacks, 0, 0);
    const double start = 1.0;
    must(set(one, &x, 1, &start), "fmi2SetReal");
    double a = 0.0, b = 0.0;
    const double began = now();
    for (long k = 0; k < steps; k++) {
        const double t = (double)k * h, to_one = b, to_two = a;
        must(set(one, &u, 1, &to_one), "fmi2SetReal");
        must(step(one, t, h, 1), "fmi2DoStep");
        must(get(one, &y, 1, &a), "fmi2GetReal");
        must(set(two, &u, 1, &to_two), "fmi2SetReal");
        must(step(two, t, h, 1), "fmi2DoStep");
        must(get(two, &y, 1, &b), "fmi2GetReal");
    }
    const double seconds = now() - began;
    outputs[0] = a, outputs[1] = b;
    release(one);
    release(two);
    dlclose(library);
    return seconds;
}

double bench3(const char *path, const char *token, long steps, double h, double outputs[2])
{
    void *library = dlopen(path, RTLD_NOW);
    must(library ? 0 : 3, path);
    void *(*instantiate)(const char *, const char *, const char *, bool, bool, bool, bool, const unsigned *, size_t,
                         void *, void *, void *) = function(library, "fmi3InstantiateCoSimulation");
    int (*set)(void *, const unsigned *, size_t, const double *, size_t) = function(library, "fmi3SetFloat64");
    int (*get)(void *, const unsigned *, size_t, double *, size_t) = function(library, "fmi3GetFloat64");
    int (*step)(void *, double, double, bool, bool *, bool *, bool *, double *) = function(library, "fmi3DoStep");
    void (*release)(void *) = function(library, "fmi3FreeInstance");
    void *logger = (void *)ignore3;
    void *one = instantiate("A", token, "", false, false, false, false, NULL, 0, NULL, logger, NULL);
    void *two = instantiate("B", token, "", false, false, false, false, NULL, 0, NULL, logger, NULL);
    const double start = 1.0;
    must(set(one, &x, 1, &start, 1), "fmi3SetFloat64");
    double a = 0.0, b = 0.0, last;
    bool event, end, early;
    const double began = now();
    for (long k = 0; k < steps; k++) {
        const double t = (double)k * h, to_one = b, to_two = a;
        must(set(one, &u, 1, &to_one, 1), "fmi3SetFloat64");
        must(step(one, t, h, true, &event, &end, &early, &last), "fmi3DoStep");
        must(get(one, &y, 1, &a, 1), "fmi3GetFloat64");
        must(set(two, &u, 1, &to_two, 1), "fmi3SetFloat64");
        must(step(two, t, h, true, &event, &end, &early, &last), "fmi3DoStep");
        must(get(two, &y, 1, &b, 1), "fmi3GetFloat64");
        must(end || early ? 3 : 0, "fmi3DoStep");
    }
    const double seconds = now() - began;
    outputs[0] = a, outputs[1] = b;
    release(one);
    release(two);
    dlclose(library);
    return seconds;
}
