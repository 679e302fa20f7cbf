/* An FMU with the habits of OpenModelica's, for FMI 2.0 and 3.0: it declares log categories and logs every call of
 * which the category is on, allocates and frees memory through the callbacks in each step, and has 1 000 variables more
 * than it needs. A first-order lag, der(x) = u - x by one step of Euler's method, y = x.
 *
 * Reference 0 is u, 1 y, 2 the habit (below), 3 the time from which on it has that, 4 and following x and multiples. */
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { U, Y, HABIT, WHEN, X, EXTRA = 1000, COUNT = X + 1 + EXTRA };
enum { OK, WARNING, DISCARD, ERROR };

/* Of which chatty_fmu.py has the names. */
enum {
    NONE,
    WARN,           /* a warning in each step */
    FAIL,           /* refuses steps, and says why under logStatusError */
    FAIL_SILENTLY,  /* likewise, and says why under logEvents only */
    LOG_ODDLY,      /* texts and categories that none should log */
    CRASH,          /* after a last word */
    LOG_IN_THREADS, /* warnings, from several threads at once */
    REFUSE_LOGGING, /* fmi…SetDebugLogging is refused; `when` does not matter */
    FAIL_ELSEWHERE  /* refuses steps, and says why under a category that it does not declare */
};

static const char *const categories[] = {"logEvents",      "logStatusWarning", "logStatusDiscard",
                                         "logStatusError", "logStatusFatal",   "logFmiCall"};
enum { EVENTS, CATEGORY_WARNING, CATEGORY_DISCARD, CATEGORY_ERROR, CATEGORY_FATAL, CALL, CATEGORIES };

typedef struct {
    void (*logger)(void *, const char *, int, const char *, const char *, ...);
    void *(*allocate)(size_t, size_t);
    void (*release)(void *);
    void *step_finished;
    void *environment;
} Callbacks2;

typedef struct {
    const Callbacks2 *callbacks; /* of FMI 2.0 */
    void (*logger)(void *, int, const char *, const char *);
    void *environment;
    char name[64];
    bool on[CATEGORIES];
    double v[COUNT];
} Component;

/* FMI 2.0 formats in the importer, FMI 3.0 here. */
static void say(Component *t, int status, int category, const char *format, ...)
{
    if (!t->on[category])
        return;
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (t->callbacks)
        t->callbacks->logger(t->callbacks->environment, t->name, status, categories[category], "%s", text);
    else
        t->logger(t->environment, status, categories[category], text);
}

static void say_plainly(Component *t, int status, const char *category, const char *text)
{
    if (t->callbacks)
        t->callbacks->logger(t->callbacks->environment, t->name, status, category, text);
    else
        t->logger(t->environment, status, category, text);
}

static Component *make(const char *name, bool logging)
{
    Component *t = calloc(1, sizeof *t);
    strncpy(t->name, name, sizeof t->name - 1);
    for (int i = 0; i < CATEGORIES; i++)
        t->on[i] = logging;
    return t;
}

static int set_logging(Component *t, bool on, size_t n, const char *const *names)
{
    if (t->v[HABIT] == REFUSE_LOGGING || strcmp(t->name, "Deaf") == 0)
        return ERROR;
    for (int i = 0; i < CATEGORIES; i++)
        t->on[i] = false; /* also if there are no names: as OpenModelica's do */
    for (size_t k = 0; k < n; k++)
        for (int i = 0; i < CATEGORIES; i++)
            if (strcmp(names[k], categories[i]) == 0)
                t->on[i] = on;
    return OK;
}

static void log_oddly(Component *t)
{
    char *lengthy = malloc(100001);
    memset(lengthy, 'x', 100000);
    lengthy[100000] = '\0';
    say_plainly(t, WARNING, NULL, "no category");
    say_plainly(t, WARNING, "logStatusWarning", NULL);
    say_plainly(t, WARNING, "logStatusWarning", "caf\xe9, and half of a character: \xe2\x82");
    say_plainly(t, WARNING, "logStatusWarning", lengthy);
    say_plainly(t, 77, "of its own", "a status that FMI does not know");
    say_plainly(t, WARNING, "a \"category\", quoted", "two\nlines, and \"quotes\"\n");
    free(lengthy);
}

static void *log_warnings(void *c)
{
    for (int i = 0; i < 100; i++)
        say(c, WARNING, CATEGORY_WARNING, "warning number %d", i);
    return NULL;
}

static void log_in_threads(Component *t)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, log_warnings, t);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

static int be_oneself(Component *t, double time)
{
    switch ((int)t->v[HABIT]) {
    case WARN: say(t, WARNING, CATEGORY_WARNING, "#r0# is %.3f at t = %g s", t->v[U], time); return OK;
    case FAIL: say(t, ERROR, CATEGORY_ERROR, "no solution for %s", t->name); return ERROR;
    case FAIL_SILENTLY: say(t, ERROR, EVENTS, "no solution for %s", t->name); return ERROR;
    case FAIL_ELSEWHERE: say_plainly(t, ERROR, "solver", "no root below 7.5"); return ERROR;
    case LOG_ODDLY: log_oddly(t); return OK;
    case CRASH: say_plainly(t, OK, "logEvents", "a last word"); abort();
    case LOG_IN_THREADS: log_in_threads(t); return OK;
    default: return OK;
    }
}

static int step(Component *t, double time, double h)
{
    double *blocks[3];
    for (int i = 0; i < 3; i++)
        blocks[i] = t->callbacks ? t->callbacks->allocate(100, sizeof(double)) : calloc(100, sizeof(double));
    t->v[X] += h * (t->v[U] - t->v[X]);
    t->v[Y] = t->v[X];
    for (int i = 1; i <= EXTRA; i++)
        t->v[X + i] = i * t->v[X] + blocks[i % 3][i % 100];
    for (int i = 0; i < 3; i++)
        (t->callbacks ? t->callbacks->release : free)(blocks[i]);
    return time >= t->v[WHEN] - h / 2 ? be_oneself(t, time) : OK;
}

static int get(Component *t, const char *call, const uint32_t *r, size_t n, double *v)
{
    for (size_t i = 0; i < n; i++) {
        v[i] = t->v[r[i]];
        if (t->on[CALL])
            say(t, OK, CALL, "%s: #r%u# = %.16g", call, r[i], v[i]);
    }
    return OK;
}

static int set(Component *t, const char *call, const uint32_t *r, size_t n, const double *v)
{
    for (size_t i = 0; i < n; i++) {
        t->v[r[i]] = v[i];
        if (t->on[CALL])
            say(t, OK, CALL, "%s: #r%u# = %.16g", call, r[i], v[i]);
    }
    return OK;
}

/* -- FMI 2.0 ------------------------------------------------------------------------------------------------------ */

void *fmi2Instantiate(const char *name, int type, const char *guid, const char *resources, const Callbacks2 *callbacks,
                      int visible, int logging)
{
    (void)type, (void)resources, (void)visible;
    if (strcmp(guid, "{chatty}") != 0) {
        if (logging)
            callbacks->logger(callbacks->environment, name, ERROR, "logStatusError", "wrong guid %s", guid);
        return NULL;
    }
    Component *t = make(name, logging);
    t->callbacks = callbacks;
    say(t, OK, CALL, "fmi2Instantiate: %s", name);
    return t;
}
void fmi2FreeInstance(void *c)
{
    say(c, OK, CALL, "fmi2FreeInstance");
    free(c);
}
int fmi2SetDebugLogging(void *c, int on, size_t n, const char *const *names)
{
    return set_logging(c, on, n, names);
}
int fmi2Reset(void *c)
{
    memset(((Component *)c)->v, 0, sizeof((Component *)c)->v);
    return OK;
}
int fmi2GetReal(void *c, const uint32_t *r, size_t n, double *v)
{
    return get(c, "fmi2GetReal", r, n, v);
}
int fmi2SetReal(void *c, const uint32_t *r, size_t n, const double *v)
{
    return set(c, "fmi2SetReal", r, n, v);
}
int fmi2DoStep(void *c, double time, double h, int final)
{
    (void) final;
    say(c, OK, CALL, "fmi2DoStep: t = %.16g, h = %.16g", time, h);
    return step(c, time, h);
}

/* -- FMI 3.0 ------------------------------------------------------------------------------------------------------ */

void *fmi3InstantiateCoSimulation(const char *name, const char *token, const char *resources, bool visible,
                                  bool logging, bool event_mode, bool early_return, const uint32_t *required,
                                  size_t n_required, void *environment,
                                  void (*logger)(void *, int, const char *, const char *), void *update)
{
    (void)resources, (void)visible, (void)event_mode, (void)early_return, (void)required, (void)n_required;
    (void)update;
    if (strcmp(token, "{chatty}") != 0) {
        if (logging)
            logger(environment, ERROR, "logStatusError", "wrong token");
        return NULL;
    }
    Component *t = make(name, logging);
    t->logger = logger;
    t->environment = environment;
    say(t, OK, CALL, "fmi3InstantiateCoSimulation: %s", name);
    return t;
}
void fmi3FreeInstance(void *c)
{
    say(c, OK, CALL, "fmi3FreeInstance");
    free(c);
}
int fmi3SetDebugLogging(void *c, bool on, size_t n, const char *const *names)
{
    return set_logging(c, on, n, names);
}
int fmi3Reset(void *c)
{
    return fmi2Reset(c);
}
int fmi3GetFloat64(void *c, const uint32_t *r, size_t n, double *v, size_t m)
{
    return n == m ? get(c, "fmi3GetFloat64", r, n, v) : ERROR;
}
int fmi3SetFloat64(void *c, const uint32_t *r, size_t n, const double *v, size_t m)
{
    return n == m ? set(c, "fmi3SetFloat64", r, n, v) : ERROR;
}
int fmi3DoStep(void *c, double time, double h, bool final, bool *event, bool *end, bool *early, double *last)
{
    (void) final;
    *event = *end = *early = false;
    *last = time + h;
    say(c, OK, CALL, "fmi3DoStep: t = %.16g, h = %.16g", time, h);
    return step(c, time, h);
}
