/* Functions that FMI 2.0 and 3.0 have alike. Before it is included, FMI(Name) and FMU_STATE(Get, Size) are to be what
 * the version calls them, and C, D, Status and Saved its types.
 */
#ifndef SMALL_ALIKE_H
#define SMALL_ALIKE_H

void FMI(FreeInstance)(C c)
{
    if (c) {
        IN(c);
        say("free");
        dropped(s);
    }
}

Status FMI(EnterEventMode)(C c)
{
    IN(c);
    say("enter_event %.17g", v->time);
    s->mode = EVENT;
    return 0;
}

Status FMI(Terminate)(C c)
{
    IN(c);
    say("terminate");
    s->mode = TERM;
    return 0;
}

Status FMI(EnterContinuousTimeMode)(C c)
{
    IN(c);
    say("enter_continuous");
    s->mode = CONT;
    return 0;
}

Status FMI(SetTime)(C c, D t)
{
    IN(c);
    v->time = t;
    return 0;
}

Status FMI(SetContinuousStates)(C c, const D x[], size_t n)
{
    IN(c);
    (void)n;
    set_states(s, x);
    return check(v);
}

Status FMI(GetEventIndicators)(C c, D z[], size_t n)
{
    IN(c);
    (void)n;
    calc(v);
    indicators(v, z);
    return 0;
}

Status FMI(GetNominalsOfContinuousStates)(C c, D x[], size_t n)
{
    (void)c;
    for (size_t i = 0; i < n; i++)
        x[i] = 1;
    return 0;
}

Status FMU_STATE(Get, )(C c, Saved *f)
{
    IN(c);
    if (*f)
        dropped(*f);
    *f = cloned(s);
    say("save");
    return 0;
}

Status FMU_STATE(Set, )(C c, Saved f)
{
    IN(c);
    restored(s, f);
    say("restore");
    return 0;
}

Status FMU_STATE(Free, )(C c, Saved *f)
{
    (void)c;
    if (*f)
        dropped(*f);
    *f = NULL;
    return 0;
}

Status FMU_STATE(Serialized, Size)(C c, Saved f, size_t *n)
{
    (void)c;
    *n = packed(f, NULL);
    return 0;
}

#endif
