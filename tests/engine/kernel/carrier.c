/* A component with variables of all types of FMI 1.0, 2.0 and 3.0. Of every type it has inputs (references 0 … 3),
 * outputs that are what the inputs were when it last stepped (10 … 13), and outputs that are what they are (20 … 23);
 * hundreds do not count, since references of FMI 3.0 differ for variables of different types. */
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { N = 4, STEPPED = 10, PASSED = 20 };

#define TYPES(X)        \
    X(Float64, double)  \
    X(Float32, float)   \
    X(Int8, int8_t)     \
    X(UInt8, uint8_t)   \
    X(Int16, int16_t)   \
    X(UInt16, uint16_t) \
    X(Int32, int32_t)   \
    X(UInt32, uint32_t) \
    X(Int64, int64_t)   \
    X(UInt64, uint64_t) \
    X(Boolean, bool)    \
    X(String, Text)

typedef const char *Text;

typedef struct {
    size_t size;
    const char *data;
} Bytes;

typedef struct {
#define FIELDS(Name, type) type Name##_in[N], Name##_out[N];
    TYPES(FIELDS)
    FIELDS(Binary, Bytes)
#undef FIELDS
} Carrier;

static const char *copy(const char *text)
{
    char *result = malloc(strlen(text) + 1); /* never freed: tests are short */
    return strcpy(result, text);
}

Carrier *carrier_new(void)
{
    Carrier *c = calloc(1, sizeof *c);
    for (int i = 0; i < N; i++)
        c->String_in[i] = c->String_out[i] = "";
    return c;
}

/* Whoever made a text may change it as soon as a call has returned. */
#define KEEP_AS_IS(v) (v)
#define KEEP_COPY(v) copy(v)

#define DEFINE_SET(Name, type, keep)                                              \
    static int set_##Name(Carrier *c, const uint32_t *r, size_t n, const type *v) \
    {                                                                             \
        for (size_t i = 0; i < n; i++) {                                          \
            if (r[i] % 100 < N)                                                   \
                c->Name##_in[r[i] % 100] = keep(v[i]);                            \
            else if (r[i] % 100 - STEPPED < N)                                    \
                c->Name##_out[r[i] % 100 - STEPPED] = keep(v[i]);                 \
            else                                                                  \
                return 3;                                                         \
        }                                                                         \
        return 0;                                                                 \
    }
#define DEFINE_GET(Name, type)                                                    \
    static int get_##Name(const Carrier *c, const uint32_t *r, size_t n, type *v) \
    {                                                                             \
        for (size_t i = 0; i < n; i++) {                                          \
            if (r[i] % 100 < N)                                                   \
                v[i] = c->Name##_in[r[i] % 100];                                  \
            else if (r[i] % 100 - STEPPED < N)                                    \
                v[i] = c->Name##_out[r[i] % 100 - STEPPED];                       \
            else if (r[i] % 100 - PASSED < N)                                     \
                v[i] = c->Name##_in[r[i] % 100 - PASSED];                         \
            else                                                                  \
                return 3;                                                         \
        }                                                                         \
        return 0;                                                                 \
    }
#define DEFINE_NUMBER(Name, type) DEFINE_SET(Name, type, KEEP_AS_IS) DEFINE_GET(Name, type)
DEFINE_NUMBER(Float64, double)
DEFINE_NUMBER(Float32, float)
DEFINE_NUMBER(Int8, int8_t)
DEFINE_NUMBER(UInt8, uint8_t)
DEFINE_NUMBER(Int16, int16_t)
DEFINE_NUMBER(UInt16, uint16_t)
DEFINE_NUMBER(Int32, int32_t)
DEFINE_NUMBER(UInt32, uint32_t)
DEFINE_NUMBER(Int64, int64_t)
DEFINE_NUMBER(UInt64, uint64_t)
DEFINE_NUMBER(Boolean, bool)
DEFINE_SET(String, Text, KEEP_COPY)
DEFINE_GET(String, Text)

static Bytes copy_of(Bytes bytes)
{
    char *data = malloc(bytes.size + 1); /* likewise never freed */
    return (Bytes){bytes.size, memcpy(data, bytes.data, bytes.size)};
}
DEFINE_SET(Binary, Bytes, copy_of)
DEFINE_GET(Binary, Bytes)

static int step(Carrier *c)
{
#define STEP(Name, type) memcpy(c->Name##_out, c->Name##_in, sizeof c->Name##_in);
    TYPES(STEP)
    STEP(Binary, Bytes)
#undef STEP
    return 0;
}

static int save(const Carrier *c, void **state)
{
    if (!*state)
        *state = malloc(sizeof *c);
    memcpy(*state, c, sizeof *c);
    return 0;
}

static int restore(Carrier *c, const void *state)
{
    memcpy(c, state, sizeof *c);
    return 0;
}

static int release(void **state)
{
    free(*state);
    *state = NULL;
    return 0;
}

/* -- FMI 3.0 -------------------------------------------------------------------------------------------------- */

#define FMI3(Name, type)                                                             \
    int fmi3Set##Name(void *c, const uint32_t *r, size_t n, const type *v, size_t m) \
    {                                                                                \
        return n == m ? set_##Name(c, r, n, v) : 3;                                  \
    }                                                                                \
    int fmi3Get##Name(void *c, const uint32_t *r, size_t n, type *v, size_t m)       \
    {                                                                                \
        return n == m ? get_##Name(c, r, n, v) : 3;                                  \
    }
FMI3(Float64, double)
FMI3(Float32, float)
FMI3(Int8, int8_t)
FMI3(UInt8, uint8_t)
FMI3(Int16, int16_t)
FMI3(UInt16, uint16_t)
FMI3(Int32, int32_t)
FMI3(UInt32, uint32_t)
FMI3(Int64, int64_t)
FMI3(UInt64, uint64_t)
FMI3(Boolean, bool)
FMI3(String, Text)

int fmi3SetBinary(void *c, const uint32_t *r, size_t n, const size_t *sizes, const char *const *v, size_t m)
{
    for (size_t i = 0; i < n; i++) {
        const Bytes bytes = {sizes[i], v[i]};
        if (n != m || set_Binary(c, &r[i], 1, &bytes))
            return 3;
    }
    return 0;
}

/* What it points to is what the next call overwrites. */
int fmi3GetBinary(void *c, const uint32_t *r, size_t n, size_t *sizes, const char **v, size_t m)
{
    static char room[N][64];
    memset(room, 'x', sizeof room);
    for (size_t i = 0; i < n; i++) {
        Bytes bytes = {0, NULL};
        if (n != m || n > N || get_Binary(c, &r[i], 1, &bytes) || bytes.size > sizeof room[i])
            return 3;
        sizes[i] = bytes.size;
        v[i] = bytes.size ? memcpy(room[i], bytes.data, bytes.size) : NULL;
    }
    return 0;
}

void *fmi3InstantiateCoSimulation(const char *name, const char *token, const char *resources, bool visible,
                                  bool logging, bool event_mode, bool early_return, const uint32_t *required,
                                  size_t n_required, void *environment, void *logger, void *update)
{
    (void)name, (void)token, (void)resources, (void)visible, (void)logging, (void)event_mode, (void)early_return;
    (void)required, (void)n_required, (void)environment, (void)logger, (void)update;
    return carrier_new();
}
void fmi3FreeInstance(void *c)
{
    free(c);
}
int fmi3DoStep(void *c, double t, double h, bool keep, bool *event, bool *terminate, bool *early, double *last)
{
    (void)keep, (void)event, (void)terminate, (void)early;
    *last = t + h;
    return step(c);
}
int fmi3GetFMUState(void *c, void **s)
{
    return save(c, s);
}
int fmi3SetFMUState(void *c, void *s)
{
    return restore(c, s);
}
int fmi3FreeFMUState(void *c, void **s)
{
    (void)c;
    return release(s);
}
int fmi3GetDirectionalDerivative(void *c, const uint32_t *z, size_t nz, const uint32_t *v, size_t nv, const double *dv,
                                 size_t ndv, double *dz, size_t ndz)
{
    (void)c, (void)z, (void)nz, (void)v, (void)nv, (void)dv, (void)ndv, (void)dz, (void)ndz;
    return 3;
}

/* -- FMI 2.0 -------------------------------------------------------------------------------------------------- */

int fmi2SetReal(void *c, const uint32_t *r, size_t n, const double *v)
{
    return set_Float64(c, r, n, v);
}
int fmi2GetReal(void *c, const uint32_t *r, size_t n, double *v)
{
    return get_Float64(c, r, n, v);
}
int fmi2SetInteger(void *c, const uint32_t *r, size_t n, const int32_t *v)
{
    return set_Int32(c, r, n, v);
}
int fmi2GetInteger(void *c, const uint32_t *r, size_t n, int32_t *v)
{
    return get_Int32(c, r, n, v);
}
int fmi2SetString(void *c, const uint32_t *r, size_t n, const Text *v)
{
    return set_String(c, r, n, v);
}
int fmi2GetString(void *c, const uint32_t *r, size_t n, Text *v)
{
    return get_String(c, r, n, v);
}
int fmi2SetBoolean(void *c, const uint32_t *r, size_t n, const int32_t *v)
{
    int status = 0;
    for (size_t i = 0; i < n && !status; i++) {
        const bool value = v[i] != 0;
        status = v[i] == 0 || v[i] == 1 ? set_Boolean(c, r + i, 1, &value) : 3;
    }
    return status;
}
int fmi2GetBoolean(void *c, const uint32_t *r, size_t n, int32_t *v)
{
    int status = 0;
    for (size_t i = 0; i < n && !status; i++) {
        bool value = false;
        status = get_Boolean(c, r + i, 1, &value);
        v[i] = value;
    }
    return status;
}
void *fmi2Instantiate(const char *name, int type, const char *guid, const char *resources, const void *callbacks,
                      int visible, int logging)
{
    (void)name, (void)type, (void)guid, (void)resources, (void)callbacks, (void)visible, (void)logging;
    return carrier_new();
}
void fmi2FreeInstance(void *c)
{
    free(c);
}
int fmi2DoStep(void *c, double t, double h, int keep)
{
    (void)t, (void)h, (void)keep;
    return step(c);
}
int fmi2SetRealInputDerivatives(void *c, const uint32_t *r, size_t n, const int *order, const double *v)
{
    (void)c, (void)r, (void)n, (void)order, (void)v;
    return 0;
}
int fmi2GetFMUstate(void *c, void **s)
{
    return save(c, s);
}
int fmi2SetFMUstate(void *c, void *s)
{
    return restore(c, s);
}
int fmi2FreeFMUstate(void *c, void **s)
{
    (void)c;
    return release(s);
}
int fmi2GetDirectionalDerivative(void *c, const uint32_t *z, size_t nz, const uint32_t *v, size_t nv, const double *dv,
                                 double *dz)
{
    (void)c, (void)z, (void)nz, (void)v, (void)nv, (void)dv, (void)dz;
    return 3;
}

/* -- FMI 1.0, where the model is called carrier ------------------------------------------------------------------ */

typedef struct {
    void (*logger)(void *, const char *, int, const char *, const char *, ...);
    void *(*allocate)(size_t, size_t);
    void (*release)(void *);
    void (*finished)(void *, int);
} Callbacks1;

int carrier_fmiSetReal(void *c, const uint32_t *r, size_t n, const double *v)
{
    return set_Float64(c, r, n, v);
}
int carrier_fmiGetReal(void *c, const uint32_t *r, size_t n, double *v)
{
    return get_Float64(c, r, n, v);
}
int carrier_fmiSetInteger(void *c, const uint32_t *r, size_t n, const int32_t *v)
{
    return set_Int32(c, r, n, v);
}
int carrier_fmiGetInteger(void *c, const uint32_t *r, size_t n, int32_t *v)
{
    return get_Int32(c, r, n, v);
}
int carrier_fmiSetString(void *c, const uint32_t *r, size_t n, const Text *v)
{
    return set_String(c, r, n, v);
}
int carrier_fmiGetString(void *c, const uint32_t *r, size_t n, Text *v)
{
    return get_String(c, r, n, v);
}
int carrier_fmiSetBoolean(void *c, const uint32_t *r, size_t n, const char *v)
{
    for (size_t i = 0; i < n; i++)
        if (v[i] != 0 && v[i] != 1)
            return 3;
    return set_Boolean(c, r, n, (const bool *)v);
}
int carrier_fmiGetBoolean(void *c, const uint32_t *r, size_t n, char *v)
{
    return get_Boolean(c, r, n, (bool *)v);
}
void *carrier_fmiInstantiateSlave(const char *name, const char *guid, const char *location, const char *mime,
                                  double timeout, char visible, char interactive, Callbacks1 callbacks, char logging)
{
    Carrier *c = carrier_new();
    (void)location, (void)mime, (void)timeout, (void)visible, (void)interactive, (void)logging;
    callbacks.logger(NULL, name, 0, "made", "%s of %s", name, guid);
    callbacks.logger(c, name, 0, "made", "%d %%", 100);
    return c;
}
void carrier_fmiFreeSlaveInstance(void *c)
{
    free(c);
}
int carrier_fmiInitializeSlave(void *c, double start, char stop_defined, double stop)
{
    (void)c, (void)start, (void)stop_defined, (void)stop;
    return 0;
}
int carrier_fmiTerminateSlave(void *c)
{
    (void)c;
    return 0;
}
int carrier_fmiResetSlave(void *c)
{
    Carrier *fresh = carrier_new();
    memcpy(c, fresh, sizeof *fresh);
    free(fresh);
    return 0;
}
int carrier_fmiDoStep(void *c, double t, double h, char new_step)
{
    (void)t, (void)h;
    return new_step == 1 ? step(c) : 3;
}
int carrier_fmiSetRealInputDerivatives(void *c, const uint32_t *r, size_t n, const int *order, const double *v)
{
    (void)c, (void)r, (void)n, (void)order, (void)v;
    return 0;
}
