/* FMI 2.0 around the model of small.h. */
#include "fmi2Functions.h"

typedef fmi2ValueReference VR;
typedef fmi2Status Status;
#include "small.h"
#include "step.h"

typedef fmi2Component C;

typedef fmi2Real D;

typedef fmi2FMUstate Saved;

#define FMI(Name) fmi2##Name
#define FMU_STATE(before, after) fmi2##before##FMUstate##after
#include "alike.h"

const char *fmi2GetTypesPlatform(void)
{
    return "default";
}

const char *fmi2GetVersion(void)
{
    return "2.0";
}

C fmi2Instantiate(fmi2String name, fmi2Type type, fmi2String g, fmi2String r, const fmi2CallbackFunctions *f,
                  fmi2Boolean v, fmi2Boolean l)
{
    (void)g;
    (void)r;
    (void)f;
    (void)v;
    (void)l;
    Instance *s = born(name, type == fmi2CoSimulation);
    s->mode = INSTANTIATED;
    return s;
}

Status fmi2SetupExperiment(C c, fmi2Boolean td, D tol, D t, fmi2Boolean sd, D stop)
{
    IN(c);
    (void)td;
    (void)tol;
    (void)sd;
    (void)stop;
    say("setup %.17g stop %d %.17g", t, sd, stop);
    v->time = t;
    return 0;
}

Status fmi2EnterInitializationMode(C c)
{
    IN(c);
    say("enter_init");
    s->mode = INIT;
    return 0;
}

Status fmi2ExitInitializationMode(C c)
{
    IN(c);
    say("exit_init");
    s->mode = s->cs ? STEP : EVENT;
    calc(v);
    return on_exit_init(v);
}

Status fmi2Reset(C c)
{
    IN(c);
    say("reset");
    v_start(v);
    s->mode = INSTANTIATED;
    return 0;
}

#define ACCESS(Kind, ctype, GETX, SETX)                                \
    Status fmi2Get##Kind(C c, const VR r[], size_t n, ctype x[])       \
    {                                                                  \
        IN(c);                                                         \
        calc(v);                                                       \
        for (size_t i = 0; i < n; i++) {                               \
            VR q = r[i];                                               \
            if (q >= ROWS)                                             \
                return ERROR;                                          \
            GETX;                                                      \
            say("get %s", names[q]);                                   \
        }                                                              \
        return got(v);                                                 \
    }                                                                  \
    Status fmi2Set##Kind(C c, const VR r[], size_t n, const ctype x[]) \
    {                                                                  \
        IN(c);                                                         \
        for (size_t i = 0; i < n; i++) {                               \
            VR q = r[i];                                               \
            if (q >= ROWS)                                             \
                return ERROR;                                          \
            SETX;                                                      \
        }                                                              \
        return check(v);                                               \
    }
ACCESS(Real, fmi2Real, x[i] = *(double *)at(s, q), (*(double *)at(s, q) = x[i], tell("set", q, x[i])))
ACCESS(
    Integer, fmi2Integer, x[i] = rows[q].type == ENUM ? (int)*(int64_t *)at(s, q) : *(int32_t *)at(s, q), do {
        if (rows[q].type == ENUM)
            *(int64_t *)at(s, q) = x[i];
        else
            *(int32_t *)at(s, q) = x[i];
        tell("set", q, x[i]);
    } while (0))
ACCESS(Boolean, fmi2Boolean, x[i] = *(bool *)at(s, q), (*(bool *)at(s, q) = x[i], tell("set", q, x[i])))
ACCESS(String, fmi2String, x[i] = *(char **)at(s, q),
       (set_text((char **)at(s, q), x[i]), say("set %s %s", names[q], x[i])))

Status fmi2SetRealInputDerivatives(C c, const VR r[], size_t n, const fmi2Integer order[], const D x[])
{
    IN(c);
    Status worst = OK;
    for (size_t i = 0; i < n; i++) {
        say("lead %s %d %.17g", names[r[i]], order[i], x[i]);
        Status own = lead(v, r[i], order[i], x[i]);
        worst = own > worst ? own : worst;
    }
    return worst;
}

Status fmi2SerializeFMUstate(C c, fmi2FMUstate f, fmi2Byte b[], size_t n)
{
    (void)c;
    (void)n;
    packed(f, b);
    return 0;
}

Status fmi2DeSerializeFMUstate(C c, const fmi2Byte b[], size_t n, fmi2FMUstate *f)
{
    (void)c;
    (void)n;
    *f = unpacked(b);
    return 0;
}

Status fmi2GetDirectionalDerivative(C c, const VR z[], size_t nz, const VR x[], size_t nx, const D dx[], D dz[])
{
    IN(c);
    for (size_t i = 0; i < nz; i++) {
        dz[i] = 0;
        for (size_t j = 0; j < nx; j++)
            dz[i] += partial(v, z[i], x[j]) * dx[j];
    }
    say("directional");
    return 0;
}

Status fmi2NewDiscreteStates(C c, fmi2EventInfo *e)
{
    IN(c);
    calc(v);
    Event a = {0};
    Status st = event(v, &a);
    calc(v);
    say("new_discrete %.17g again %d", v->time, a.again);
    e->newDiscreteStatesNeeded = a.again;
    e->terminateSimulation = a.terminate;
    e->nominalsOfContinuousStatesChanged = a.nominals;
    e->valuesOfContinuousStatesChanged = a.states;
    e->nextEventTimeDefined = a.has_next;
    e->nextEventTime = a.next;
    return st;
}

Status fmi2CompletedIntegratorStep(C c, fmi2Boolean p, fmi2Boolean *enter, fmi2Boolean *term)
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

Status fmi2GetDerivatives(C c, D x[], size_t n)
{
    IN(c);
    (void)n;
    get_ders(s, x);
    return got(v);
}

Status fmi2GetContinuousStates(C c, D x[], size_t n)
{
    IN(c);
    (void)n;
    get_states(s, x);
    return 0;
}

static Step last_step;

Status fmi2DoStep(C c, D t, D h, fmi2Boolean no)
{
    IN(c);
    (void)no;
    say("step %.17g %.17g", t, h);
    Step a = {.last = t + h};
    v->time = t;
    Status st = model_step(s, v, t, h, &a);
    last_step = a;
    calc(v);
    return st;
}

Status fmi2GetRealStatus(C c, const fmi2StatusKind k, D *x)
{
    (void)c;
    (void)k;
    *x = last_step.last;
    return 0;
}

Status fmi2GetBooleanStatus(C c, const fmi2StatusKind k, fmi2Boolean *x)
{
    (void)c;
    (void)k;
    *x = last_step.terminate;
    return 0;
}
