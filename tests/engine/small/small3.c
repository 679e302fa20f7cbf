/* FMI 3.0 around the model of small.h. */
#include "fmi3Functions.h"

typedef fmi3ValueReference VR;
typedef fmi3Status Status;
#include "small.h"
#include "step.h"

typedef fmi3Instance C;

typedef fmi3Float64 D;

typedef fmi3Boolean B;

typedef fmi3FMUState Saved;

#define FMI(Name) fmi3##Name
#define FMU_STATE(before, after) fmi3##before##FMUState##after
#include "alike.h"

const char *fmi3GetVersion(void)
{
    return "3.0";
}

C fmi3InstantiateModelExchange(fmi3String name, fmi3String tk, fmi3String res, B vis, B log, fmi3InstanceEnvironment e,
                               fmi3LogMessageCallback l)
{
    (void)tk;
    (void)res;
    (void)vis;
    (void)log;
    (void)e;
    (void)l;
    Instance *s = born(name, false);
    s->mode = INSTANTIATED;
    return s;
}

C fmi3InstantiateCoSimulation(fmi3String name, fmi3String tk, fmi3String res, B vis, B log, B em, B er, const VR rq[],
                              size_t n, fmi3InstanceEnvironment e, fmi3LogMessageCallback l,
                              fmi3IntermediateUpdateCallback u)
{
    (void)tk;
    (void)res;
    (void)vis;
    (void)log;
    (void)em;
    (void)er;
    (void)rq;
    (void)n;
    (void)e;
    (void)l;
    (void)u;
    Instance *s = born(name, true);
    s->mode = INSTANTIATED;
    s->v.event_mode = em;
    return s;
}

Status fmi3EnterInitializationMode(C c, B td, D tol, D t, B sd, D stop)
{
    IN(c);
    (void)td;
    (void)tol;
    say("enter_init %.17g stop %d %.17g", t, sd, stop);
    v->time = t;
    s->mode = INIT;
    return 0;
}

Status fmi3ExitInitializationMode(C c)
{
    IN(c);
    say("exit_init");
    s->mode = s->cs && !v->event_mode ? STEP : EVENT;
    calc(v);
    return on_exit_init(v);
}

Status fmi3Reset(C c)
{
    IN(c);
    say("reset");
    bool em = v->event_mode;
    v_start(v);
    v->event_mode = em;
    s->mode = INSTANTIATED;
    return 0;
}

static Status get_any(C c, const VR r[], size_t n, void *x, size_t nx)
{
    IN(c);
    calc(v);
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        if (r[i] >= ROWS)
            return ERROR;
        size_t w = widths[rows[r[i]].type] * count(s, r[i]);
        memcpy((char *)x + k, at(s, r[i]), w);
        k += w;
        say("get %s", names[r[i]]);
    }
    if (n && k != nx * widths[rows[r[0]].type]) {
        say("WRONG SIZE");
        return ERROR;
    }
    return got(v);
}

static Status set_any(C c, const VR r[], size_t n, const void *x, size_t nx)
{
    IN(c);
    size_t k = 0;
    for (size_t i = 0; i < n; i++) {
        if (r[i] >= ROWS)
            return ERROR;
        size_t w = widths[rows[r[i]].type] * count(s, r[i]);
        memcpy(at(s, r[i]), (const char *)x + k, w);
        k += w;
        if (rows[r[i]].type == F64)
            tell("set", r[i], *(double *)at(s, r[i]));
        else
            say("set %s", names[r[i]]);
    }
    if (n && k != nx * widths[rows[r[0]].type]) {
        say("WRONG SIZE");
        return ERROR;
    }
    return check(v);
}

#define ACCESS(Kind, ctype)                                                       \
    Status fmi3Get##Kind(C c, const VR r[], size_t n, ctype x[], size_t nx)       \
    {                                                                             \
        return get_any(c, r, n, x, nx);                                           \
    }                                                                             \
    Status fmi3Set##Kind(C c, const VR r[], size_t n, const ctype x[], size_t nx) \
    {                                                                             \
        return set_any(c, r, n, x, nx);                                           \
    }
/* clang-format off */
ACCESS(Float64, fmi3Float64)
ACCESS(Float32, fmi3Float32)
ACCESS(Int8, fmi3Int8)
ACCESS(UInt8, fmi3UInt8)
ACCESS(Int16, fmi3Int16)
ACCESS(UInt16, fmi3UInt16)
ACCESS(Int32, fmi3Int32)
ACCESS(UInt32, fmi3UInt32)
ACCESS(Int64, fmi3Int64)
ACCESS(UInt64, fmi3UInt64)
ACCESS(Boolean, fmi3Boolean)
/* clang-format on */

Status fmi3GetString(C c, const VR r[], size_t n, fmi3String x[], size_t nx)
{
    IN(c);
    (void)nx;
    calc(v);
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < count(s, r[i]); j++)
            x[k++] = ((char **)at(s, r[i]))[j];
    return k == nx ? got(v) : ERROR;
}

Status fmi3SetString(C c, const VR r[], size_t n, const fmi3String x[], size_t nx)
{
    IN(c);
    (void)nx;
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < count(s, r[i]); j++) {
            say("set %s %s", names[r[i]], x[k]);
            set_text((char **)at(s, r[i]) + j, x[k++]);
        }
    return k == nx ? check(v) : ERROR;
}

Status fmi3GetBinary(C c, const VR r[], size_t n, size_t z[], fmi3Binary x[], size_t nx)
{
    IN(c);
    (void)nx;
    calc(v);
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < count(s, r[i]); j++, k++) {
            Bytes b = ((Bytes *)at(s, r[i]))[j];
            x[k] = b.p;
            z[k] = b.n;
        }
    return k == nx ? got(v) : ERROR;
}

Status fmi3SetBinary(C c, const VR r[], size_t n, const size_t z[], const fmi3Binary x[], size_t nx)
{
    IN(c);
    (void)nx;
    size_t k = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < count(s, r[i]); j++, k++) {
            say("set %s bytes %zu", names[r[i]], z[k]);
            set_bytes((Bytes *)at(s, r[i]) + j, x[k], z[k]);
        }
    return k == nx ? check(v) : ERROR;
}

Status fmi3GetClock(C c, const VR r[], size_t n, fmi3Clock x[])
{
    IN(c);
    for (size_t i = 0; i < n; i++) {
        x[i] = *(bool *)at(s, r[i]);
        say("get_clock %s %d", names[r[i]], x[i]);
        *(bool *)at(s, r[i]) = false;
    }
    return 0;
}

Status fmi3SetClock(C c, const VR r[], size_t n, const fmi3Clock x[])
{
    IN(c);
    for (size_t i = 0; i < n; i++) {
        *(bool *)at(s, r[i]) = x[i];
        say("set_clock %s %d at %.17g", names[r[i]], x[i], v->time);
    }
    calc(v);
    return 0;
}

Status fmi3SerializeFMUState(C c, fmi3FMUState f, fmi3Byte b[], size_t n)
{
    (void)c;
    (void)n;
    packed(f, (char *)b);
    return 0;
}

Status fmi3DeserializeFMUState(C c, const fmi3Byte b[], size_t n, fmi3FMUState *f)
{
    (void)c;
    (void)n;
    *f = unpacked((const char *)b);
    return 0;
}

Status fmi3GetDirectionalDerivative(C c, const VR z[], size_t nz, const VR x[], size_t nx, const D dx[], size_t ndx,
                                    D dz[], size_t ndz)
{
    IN(c);
    (void)ndx;
    (void)ndz;
    for (size_t i = 0; i < nz; i++) {
        dz[i] = 0;
        for (size_t j = 0; j < nx; j++)
            dz[i] += partial(v, z[i], x[j]) * dx[j];
    }
    say("directional");
    return 0;
}

Status fmi3EnterConfigurationMode(C c)
{
    IN(c);
    say("enter_config");
    s->mode = CONFIG;
    return 0;
}

Status fmi3ExitConfigurationMode(C c)
{
    IN(c);
    say("exit_config");
    s->mode = INSTANTIATED;
    return 0;
}

Status fmi3GetIntervalDecimal(C c, const VR r[], size_t n, D x[], fmi3IntervalQualifier q[])
{
    IN(c);
    for (size_t i = 0; i < n; i++) {
        int k = 0;
        x[i] = 0;
        k = interval(v, r[i], &x[i]);
        q[i] = k;
        say("get_interval %s %.17g %d", names[r[i]], x[i], k);
    }
    return 0;
}

Status fmi3GetIntervalFraction(C c, const VR r[], size_t n, fmi3UInt64 a[], fmi3UInt64 b[], fmi3IntervalQualifier q[])
{
    IN(c);
    for (size_t i = 0; i < n; i++) {
        q[i] = interval_fraction(v, r[i], &a[i], &b[i]);
        say("get_interval_fraction %s", names[r[i]]);
    }
    return 0;
}

Status fmi3GetShiftDecimal(C c, const VR r[], size_t n, D x[])
{
    IN(c);
    for (size_t i = 0; i < n; i++)
        x[i] = shift(v, r[i]);
    return 0;
}

Status fmi3SetIntervalDecimal(C c, const VR r[], size_t n, const D x[])
{
    IN(c);
    for (size_t i = 0; i < n; i++)
        say("set_interval %s %.17g", names[r[i]], x[i]);
    return 0;
}

Status fmi3SetIntervalFraction(C c, const VR r[], size_t n, const fmi3UInt64 a[], const fmi3UInt64 b[])
{
    IN(c);
    for (size_t i = 0; i < n; i++)
        say("set_interval %s %llu/%llu", names[r[i]], (unsigned long long)a[i], (unsigned long long)b[i]);
    return 0;
}

Status fmi3SetShiftDecimal(C c, const VR r[], size_t n, const D x[])
{
    IN(c);
    for (size_t i = 0; i < n; i++)
        say("set_shift %s %.17g", names[r[i]], x[i]);
    return 0;
}

Status fmi3SetShiftFraction(C c, const VR r[], size_t n, const fmi3UInt64 a[], const fmi3UInt64 b[])
{
    IN(c);
    for (size_t i = 0; i < n; i++)
        say("set_shift %s %llu/%llu", names[r[i]], (unsigned long long)a[i], (unsigned long long)b[i]);
    return 0;
}

Status fmi3UpdateDiscreteStates(C c, B *again, B *term, B *nom, B *val, B *def, D *next)
{
    IN(c);
    calc(v);
    Event a = {0};
    Status st = event(v, &a);
    for (VR r = 0; r < ROWS; r++)
        if (rows[r].type == CLK && clock_input[r])
            *(bool *)at(s, r) = false;
    calc(v);
    say("new_discrete %.17g again %d", v->time, a.again);
    *again = a.again;
    *term = a.terminate;
    *nom = a.nominals;
    *val = a.states;
    *def = a.has_next;
    *next = a.next;
    return st;
}

Status fmi3CompletedIntegratorStep(C c, B p, B *enter, B *term)
{
    IN(c);
    (void)p;
    bool a = false, b = false;
    calc(v);
    Status st = completed(v, &a, &b);
    *enter = a;
    *term = b;
    say("completed %.17g", v->time);
    return st;
}

Status fmi3GetContinuousStateDerivatives(C c, D x[], size_t n)
{
    IN(c);
    size_t k = get_ders(s, x);
    return k == n ? got(v) : ERROR;
}

Status fmi3GetContinuousStates(C c, D x[], size_t n)
{
    IN(c);
    size_t k = get_states(s, x);
    return k == n ? 0 : ERROR;
}

Status fmi3GetNumberOfEventIndicators(C c, size_t *n)
{
    IN(c);
    *n = INDICATORS;
    return 0;
}

Status fmi3GetNumberOfContinuousStates(C c, size_t *n)
{
    IN(c);
    double x[256];
    *n = get_states(s, x);
    return 0;
}

Status fmi3EnterStepMode(C c)
{
    IN(c);
    say("enter_step");
    s->mode = STEP;
    return 0;
}

Status fmi3DoStep(C c, D t, D h, B no, B *ev, B *term, B *early, D *last)
{
    IN(c);
    (void)no;
    say("step %.17g %.17g", t, h);
    Step a = {.last = t + h};
    v->time = t;
    Status st = model_step(s, v, t, h, &a);
    *ev = a.event;
    *term = a.terminate;
    *early = a.early;
    *last = a.last;
    calc(v);
    return st;
}
