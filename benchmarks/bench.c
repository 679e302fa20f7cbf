/* The dual-mass oscillator as a C programmer would write it for these two FMUs alone: the same FMI 2.0 calls, in the
 * same number and grouping, as the engine makes with Jacobi; nothing is recorded. */
#include <dlfcn.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

typedef void (*Logger)(void *, const char *, int, const char *, const char *, ...);
typedef struct {
    Logger logger;
    void *(*allocate)(size_t, size_t);
    void (*release)(void *);
    void *step_finished;
    void *environment;
} Callbacks;

typedef struct {
    void *library, *component;
    int (*set)(void *, const unsigned *, size_t, const double *);
    int (*get)(void *, const unsigned *, size_t, double *);
    int (*set_rates)(void *, const unsigned *, size_t, const int *, const double *);
    int (*step)(void *, double, double, int);
    int (*save)(void *, void **), (*restore)(void *, void *), (*forget)(void *, void **);
} Fmu;

/* What bench.py says of an FMU: its library, and the values to set before it starts. */
typedef struct {
    const char *library, *guid, *resources;
    const unsigned *references;
    const double *values;
    size_t count;
} Setup;

static void print(void *environment, const char *name, int status, const char *category, const char *text, ...)
{
    (void)environment, (void)status, (void)category;
    va_list arguments;
    va_start(arguments, text);
    fprintf(stderr, "%s: ", name);
    vfprintf(stderr, text, arguments);
    fputc('\n', stderr);
    va_end(arguments);
}

static const Callbacks callbacks = {print, calloc, free, NULL, NULL};

static void must(int status, const char *what)
{
    if (status > 1) {
        fprintf(stderr, "bench.c: %s returned %d\n", what, status);
        exit(1);
    }
}

static void *function(const Fmu *fmu, const char *name)
{
    void *address = dlsym(fmu->library, name);
    must(address ? 0 : 3, name);
    return address;
}

static Fmu start(const Setup *setup, const char *name)
{
    Fmu fmu = {.library = dlopen(setup->library, RTLD_NOW)};
    must(fmu.library ? 0 : 3, setup->library);
    void *(*instantiate)(const char *, int, const char *, const char *, const Callbacks *, int, int) =
        function(&fmu, "fmi2Instantiate");
    int (*experiment)(void *, int, double, double, int, double) = function(&fmu, "fmi2SetupExperiment");
    int (*enter)(void *) = function(&fmu, "fmi2EnterInitializationMode");
    fmu.set = function(&fmu, "fmi2SetReal");
    fmu.get = function(&fmu, "fmi2GetReal");
    fmu.set_rates = function(&fmu, "fmi2SetRealInputDerivatives");
    fmu.step = function(&fmu, "fmi2DoStep");
    fmu.save = function(&fmu, "fmi2GetFMUstate");
    fmu.restore = function(&fmu, "fmi2SetFMUstate");
    fmu.forget = function(&fmu, "fmi2FreeFMUstate");
    fmu.component = instantiate(name, 1, setup->guid, setup->resources, &callbacks, 0, 1);
    must(fmu.component ? 0 : 3, "fmi2Instantiate");
    must(fmu.set(fmu.component, setup->references, setup->count, setup->values), "fmi2SetReal");
    must(experiment(fmu.component, 0, 0.0, 0.0, 0, 0.0), "fmi2SetupExperiment");
    must(enter(fmu.component), "fmi2EnterInitializationMode");
    return fmu;
}

static void initialized(const Fmu *fmu)
{
    int (*leave)(void *) = function(fmu, "fmi2ExitInitializationMode");
    must(leave(fmu->component), "fmi2ExitInitializationMode");
}

static void stop(const Fmu *fmu)
{
    int (*terminate)(void *) = function(fmu, "fmi2Terminate");
    void (*release)(void *) = function(fmu, "fmi2FreeInstance");
    must(terminate(fmu->component), "fmi2Terminate");
    release(fmu->component);
    dlclose(fmu->library);
}

/* Value references, in the order of the calls. */
typedef struct {
    unsigned force_in, motion_out[3]; /* System1: F; x1, v1, a1 */
    unsigned motion_in[3], force_out; /* System2: x1, v1, a1; F */
} References;

/* The loop {a1, F}, torn at a1: m = {x1, v1, a1}. */
static void consistent(const Fmu *one, const Fmu *two, const References *r, double m[3], double *force, double chord)
{
    for (int iteration = 0; iteration < 20; iteration++) {
        const double guess = m[2], in[3] = {m[0], m[1], m[2]};
        must(two->set(two->component, r->motion_in, 3, in), "fmi2SetReal");
        must(two->get(two->component, &r->force_out, 1, force), "fmi2GetReal");
        must(one->set(one->component, &r->force_in, 1, force), "fmi2SetReal");
        must(one->get(one->component, &r->motion_out[2], 1, &m[2]), "fmi2GetReal");
        const double residual = m[2] - guess;
        if (fabs(residual) <= 1e-12 * fmax(fabs(guess), 5.0))
            return;
        m[2] = guess - chord * residual;
    }
    must(3, "the algebraic loop");
}

/* CPU time of this thread: other processes on the machine do not count. */
static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* CPU seconds for `steps` macro steps; `final` gets x1, v1, a1, F at their end. */
double bench(const Setup *setup1, const Setup *setup2, const References *r, long steps, double h, double chord,
             int extrapolate, double final[4])
{
    const Fmu one = start(setup1, "System1"), two = start(setup2, "System2");
    double m[3] = {0.0}, force = 0.0, before[4] = {0.0}, t_before = 0.0;
    must(one.get(one.component, r->motion_out, 2, m), "fmi2GetReal");
    consistent(&one, &two, r, m, &force, chord);
    initialized(&one);
    initialized(&two);

    const int first_order[3] = {1, 1, 1};
    const double began = now();
    for (long k = 0; k < steps; k++) {
        const double t = (double)k * h;
        const double u[4] = {m[0], m[1], m[2], force};
        double rate[4] = {0.0};
        if (extrapolate && k > 0)
            for (int i = 0; i < 4; i++)
                rate[i] = (u[i] - before[i]) / (t - t_before);
        const int moves1 = rate[3] != 0.0, moves2 = rate[0] != 0.0 || rate[1] != 0.0 || rate[2] != 0.0;

        must(one.set(one.component, &r->force_in, 1, &u[3]), "fmi2SetReal");
        if (moves1)
            must(one.set_rates(one.component, &r->force_in, 1, first_order, &rate[3]), "fmi2SetRealInputDerivatives");
        must(one.step(one.component, t, h, 1), "fmi2DoStep");
        must(one.get(one.component, r->motion_out, 3, m), "fmi2GetReal");

        must(two.set(two.component, r->motion_in, 3, u), "fmi2SetReal");
        if (moves2)
            must(two.set_rates(two.component, r->motion_in, 3, first_order, rate), "fmi2SetRealInputDerivatives");
        must(two.step(two.component, t, h, 1), "fmi2DoStep");
        must(two.get(two.component, &r->force_out, 1, &force), "fmi2GetReal");

        consistent(&one, &two, r, m, &force, chord);
        for (int i = 0; i < 4; i++)
            before[i] = u[i];
        t_before = t;
    }
    const double seconds = now() - began;

    for (int i = 0; i < 3; i++)
        final[i] = m[i];
    final[3] = force;
    stop(&one);
    stop(&two);
    return seconds;
}

/* The same with steps that are repeated until what goes into the inputs at their end is what comes out for them; inputs
 * are interpolated linearly. `final` gets the mean number of iterations as well. */
double bench_iterated(const Setup *setup1, const Setup *setup2, const References *r, long steps, double h, double chord,
                      const double nominal[4], double limit, double final[5])
{
    const Fmu one = start(setup1, "System1"), two = start(setup2, "System2");
    void *state1 = NULL, *state2 = NULL;
    double m[3] = {0.0}, force = 0.0, past[3][4] = {{0.0}};
    must(one.get(one.component, r->motion_out, 2, m), "fmi2GetReal");
    consistent(&one, &two, r, m, &force, chord);
    initialized(&one);
    initialized(&two);

    const int first_order[3] = {1, 1, 1};
    long iterations = 0;
    const double began = now();
    for (long k = 0; k < steps; k++) {
        const double t = (double)k * h;
        double x[4], allowed[4];
        for (int i = 0; i < 4; i++)
            past[2][i] = past[1][i], past[1][i] = past[0][i], past[0][i] = i < 3 ? m[i] : force;
        for (int i = 0; i < 4; i++) {
            const double d01 = k > 0 ? (past[0][i] - past[1][i]) / h : 0.0;
            const double curvature = k > 1 ? (d01 - (past[1][i] - past[2][i]) / h) / (2.0 * h) : 0.0;
            x[i] = past[0][i] + h * (d01 + curvature * h) + h * h * curvature;
            allowed[i] = limit * fmax(fabs(x[i]), nominal[i]);
        }
        must(one.save(one.component, &state1), "fmi2GetFMUstate");
        must(two.save(two.component, &state2), "fmi2GetFMUstate");
        for (;;) {
            double rate[4], worst = 0.0;
            for (int i = 0; i < 4; i++)
                rate[i] = (x[i] - past[0][i]) / h;
            must(one.set(one.component, &r->force_in, 1, &past[0][3]), "fmi2SetReal");
            must(one.set_rates(one.component, &r->force_in, 1, first_order, &rate[3]), "fmi2SetRealInputDerivatives");
            must(one.step(one.component, t, h, 0), "fmi2DoStep");
            must(one.get(one.component, r->motion_out, 3, m), "fmi2GetReal");
            must(two.set(two.component, r->motion_in, 3, past[0]), "fmi2SetReal");
            must(two.set_rates(two.component, r->motion_in, 3, first_order, rate), "fmi2SetRealInputDerivatives");
            must(two.step(two.component, t, h, 0), "fmi2DoStep");
            must(two.get(two.component, &r->force_out, 1, &force), "fmi2GetReal");
            consistent(&one, &two, r, m, &force, chord);
            iterations++;
            for (int i = 0; i < 4; i++)
                worst = fmax(worst, fabs((i < 3 ? m[i] : force) - x[i]) / allowed[i]);
            if (worst <= 1.0)
                break;
            for (int i = 0; i < 4; i++)
                x[i] = i < 3 ? m[i] : force;
            must(one.restore(one.component, state1), "fmi2SetFMUstate");
            must(two.restore(two.component, state2), "fmi2SetFMUstate");
        }
    }
    const double seconds = now() - began;

    for (int i = 0; i < 3; i++)
        final[i] = m[i];
    final[3] = force;
    final[4] = (double)iterations / (double)steps;
    must(one.forget(one.component, &state1), "fmi2FreeFMUstate");
    must(two.forget(two.component, &state2), "fmi2FreeFMUstate");
    stop(&one);
    stop(&two);
    return seconds;
}
