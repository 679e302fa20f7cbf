/* An FMU for the tests of binaries: it stores what it is given in all types of FMI 2.0 and 3.0, and remembers how it
 * was called. Setting an Int32 to 13 is an error, to 14 fatal, to 15 a warning; each is logged. */
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE = 64 };
/* What can be read of the calls, by value reference. */
enum { START = 40, STOP, TOLERANCE };
enum { STOP_DEFINED = 43, TOLERANCE_DEFINED };
enum { ENVIRONMENT = 45, CALLBACK, REQUIRED };

typedef void (*Logger2)(void *, const char *, int, const char *, const char *, ...);
typedef void (*Logger3)(void *, int, const char *, const char *);
typedef struct {
    Logger2 logger;
    void *(*allocate)(size_t, size_t);
    void (*release)(void *);
    void *step_finished;
    void *environment;
} Callbacks2;

typedef struct {
    const Callbacks2 *callbacks;
    Logger3 logger;
    void *environment;
    char name[64];
    double Float64[SIZE];
    float Float32[SIZE];
    int8_t Int8[SIZE];
    uint8_t UInt8[SIZE];
    int16_t Int16[SIZE];
    uint16_t UInt16[SIZE];
    int32_t Int32[SIZE];
    uint32_t UInt32[SIZE];
    int64_t Int64[SIZE];
    uint64_t UInt64[SIZE];
    bool Boolean[SIZE];
    char *String[SIZE];
    struct {
        size_t size;
        uint8_t *data;
    } Binary[SIZE];
} Instance;

static void say(Instance *t, int status, int number)
{
    if (t->callbacks)
        t->callbacks->logger(t->callbacks->environment, t->name, status, "logStatus", "%s does not like %d (%.2f)",
                             "Int32", number, 0.5);
    else
        t->logger(t->environment, status, "logStatus", "Int32 does not like it");
}

static int check_integer(Instance *t, int32_t value)
{
    int status = value == 13 ? 3 : value == 14 ? 4 : value == 15 ? 1 : 0;
    if (status)
        say(t, status, value);
    return status;
}

static char *copy(const char *text)
{
    char *result = malloc(strlen(text) + 1);
    return strcpy(result, text);
}

static Instance *make(const char *name)
{
    Instance *t = calloc(1, sizeof *t);
    strncpy(t->name, name, sizeof t->name - 1);
    for (int i = 0; i < SIZE; i++)
        t->String[i] = copy("");
    return t;
}

static void destroy(Instance *t)
{
    for (int i = 0; i < SIZE; i++)
        free(t->String[i]), free(t->Binary[i].data);
    if (t->callbacks)
        t->callbacks->logger(t->callbacks->environment, t->name, 0, "", "freed");
    else
        t->logger(t->environment, 0, "", "freed");
    free(t);
}

static int begin(Instance *t, bool has_tolerance, double tolerance, double start, bool has_stop, double stop)
{
    t->Float64[START] = start, t->Float64[STOP] = stop, t->Float64[TOLERANCE] = tolerance;
    t->Boolean[STOP_DEFINED] = has_stop, t->Boolean[TOLERANCE_DEFINED] = has_tolerance;
    return 0;
}

/* -- FMI 2.0 -------------------------------------------------------------------------------------------------- */

void *fmi2Instantiate(const char *name, int type, const char *guid, const char *resources, const Callbacks2 *callbacks,
                      int visible, int logging)
{
    (void)visible, (void)logging;
    if (strcmp(guid, "{typed}") != 0 || type != 1 || strncmp(resources, "file:///", 8) != 0) {
        callbacks->logger(callbacks->environment, name, 3, "logStatus", "wrong guid %s", guid);
        return NULL;
    }
    Instance *t = make(name);
    t->callbacks = callbacks;
    return t;
}

void fmi2FreeInstance(void *c)
{
    destroy(c);
}
int fmi2SetupExperiment(void *c, int has_tolerance, double tolerance, double start, int has_stop, double stop)
{
    return begin(c, has_tolerance, tolerance, start, has_stop, stop);
}
int fmi2Terminate(void *c)
{
    return check_integer(c, ((Instance *)c)->Int32[63]);
}

#define ACCESS2(Name, type, field)                                   \
    int fmi2Get##Name(void *c, const uint32_t *r, size_t n, type *v) \
    {                                                                \
        for (size_t i = 0; i < n; i++)                               \
            v[i] = (type)((Instance *)c)->field[r[i]];               \
        return 0;                                                    \
    }
#define STORE2(Name, type, field)                                          \
    int fmi2Set##Name(void *c, const uint32_t *r, size_t n, const type *v) \
    {                                                                      \
        for (size_t i = 0; i < n; i++)                                     \
            ((Instance *)c)->field[r[i]] = v[i];                           \
        return 0;                                                          \
    }
ACCESS2(Real, double, Float64)
STORE2(Real, double, Float64)
ACCESS2(Integer, int, Int32)
ACCESS2(Boolean, int, Boolean)
STORE2(Boolean, int, Boolean)
ACCESS2(String, const char *, String)

int fmi2SetInteger(void *c, const uint32_t *r, size_t n, const int *v)
{
    int status = 0;
    for (size_t i = 0; i < n; i++) {
        ((Instance *)c)->Int32[r[i]] = v[i];
        if (r[i] != 63)
            status = check_integer(c, v[i]);
    }
    return status;
}

static int set_strings(Instance *t, const uint32_t *r, size_t n, const char *const *v)
{
    for (size_t i = 0; i < n; i++) {
        free(t->String[r[i]]);
        t->String[r[i]] = copy(v[i]);
    }
    return 0;
}
int fmi2SetString(void *c, const uint32_t *r, size_t n, const char *const *v)
{
    return set_strings(c, r, n, v);
}

/* -- FMI 3.0 -------------------------------------------------------------------------------------------------- */

void *fmi3InstantiateCoSimulation(const char *name, const char *token, const char *resources, bool visible,
                                  bool logging, bool event_mode, bool early_return, const uint32_t *required,
                                  size_t n_required, void *environment, Logger3 logger, void *update)
{
    (void)visible, (void)logging;
    size_t length = strlen(resources);
    if (strcmp(token, "{typed}") != 0 || event_mode || early_return || resources[length - 1] != '/') {
        logger(environment, 3, "logStatus", "wrong token");
        return NULL;
    }
    Instance *t = make(name);
    t->logger = logger;
    t->environment = environment;
    t->UInt64[ENVIRONMENT] = (uintptr_t)environment;
    t->UInt64[CALLBACK] = (uintptr_t)update;
    for (size_t i = 0; i < n_required; i++)
        t->UInt64[REQUIRED] = 100 * t->UInt64[REQUIRED] + required[i];
    return t;
}

void fmi3FreeInstance(void *c)
{
    destroy(c);
}
int fmi3EnterInitializationMode(void *c, bool has_tolerance, double tolerance, double start, bool has_stop, double stop)
{
    return begin(c, has_tolerance, tolerance, start, has_stop, stop);
}
int fmi3Terminate(void *c)
{
    return check_integer(c, ((Instance *)c)->Int32[63]);
}

#define ACCESS3(Name, type)                                                    \
    int fmi3Get##Name(void *c, const uint32_t *r, size_t n, type *v, size_t m) \
    {                                                                          \
        for (size_t i = 0; i < n; i++)                                         \
            v[i] = ((Instance *)c)->Name[r[i]];                                \
        return n == m ? 0 : 3;                                                 \
    }
#define STORE3(Name, type)                                                           \
    int fmi3Set##Name(void *c, const uint32_t *r, size_t n, const type *v, size_t m) \
    {                                                                                \
        for (size_t i = 0; i < n; i++)                                               \
            ((Instance *)c)->Name[r[i]] = v[i];                                      \
        return n == m ? 0 : 3;                                                       \
    }
#define BOTH3(Name, type) ACCESS3(Name, type) STORE3(Name, type)
BOTH3(Float64, double)
BOTH3(Float32, float)
BOTH3(Int8, int8_t)
BOTH3(UInt8, uint8_t)
BOTH3(Int16, int16_t)
BOTH3(UInt16, uint16_t)
ACCESS3(Int32, int32_t)
BOTH3(UInt32, uint32_t)
BOTH3(Int64, int64_t)
BOTH3(UInt64, uint64_t)
BOTH3(Boolean, bool)
typedef const char *Text;
ACCESS3(String, Text)

int fmi3SetInt32(void *c, const uint32_t *r, size_t n, const int32_t *v, size_t m)
{
    return n == m ? fmi2SetInteger(c, r, n, v) : 3;
}

int fmi3SetString(void *c, const uint32_t *r, size_t n, const char *const *v, size_t m)
{
    return n == m ? set_strings(c, r, n, v) : 3;
}

int fmi3SetBinary(void *c, const uint32_t *r, size_t n, const size_t *sizes, const uint8_t *const *v, size_t m)
{
    Instance *t = c;
    for (size_t i = 0; i < n; i++) {
        free(t->Binary[r[i]].data);
        t->Binary[r[i]].size = sizes[i];
        t->Binary[r[i]].data = malloc(sizes[i] + 1);
        memcpy(t->Binary[r[i]].data, v[i], sizes[i]);
    }
    return n == m ? 0 : 3;
}

int fmi3GetBinary(void *c, const uint32_t *r, size_t n, size_t *sizes, const uint8_t **v, size_t m)
{
    Instance *t = c;
    for (size_t i = 0; i < n; i++)
        sizes[i] = t->Binary[r[i]].size, v[i] = t->Binary[r[i]].data;
    return n == m ? 0 : 3;
}
