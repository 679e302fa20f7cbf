/* What is the same in FMI 2.0 and 3.0 around a model of a few lines, which fmus.py writes as model.h: its variables as
 * a struct `V`, a table `rows` of them whose row numbers are the value references, and its functions. What is not here
 * returns an error; fmus.py writes that too.
 *
 * With the environment variable SMALL_LOG, all calls are written to that file, one per line.
 */
#ifndef SMALL_H
#define SMALL_H

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 0, WARNING = 1, DISCARD = 2, ERROR = 3 };

typedef struct {
    size_t n;
    unsigned char *p;
} Bytes;

typedef enum { F64, F32, I8, U8, I16, U16, I32, U32, I64, U64, BOOL, ENUM, STR, BIN, CLK } Type;

typedef struct {
    size_t offset;
    Type type;
    int dims;
    struct {
        size_t fixed;
        size_t of;
    } dim[3];
    int state_of;
    bool is_state;
} Row;

typedef struct {
    bool again, nominals, states, terminate, has_next;
    double next;
} Event;

typedef struct {
    bool early, event, terminate;
    double last;
} Step;

static void say(const char *format, ...);
static void set_text(char **where, const char *text);
static void set_bytes(Bytes *b, const void *p, size_t n);

#include "model.h"

typedef struct {
    V v;
    char name[64];
    int mode;
    bool cs;
} Instance;

static const size_t widths[] = {8, 4, 1, 1, 2, 2, 4, 4, 8, 8, 1, 8, sizeof(char *), sizeof(Bytes), 1};

static FILE *trail;

static const char *who;

static void say(const char *format, ...)
{
    const char *path = getenv("SMALL_LOG");
    if (!path)
        return;
    if (!trail)
        trail = fopen(path, "a");
    va_list list;
    va_start(list, format);
    fprintf(trail, "%s ", who ? who : "?");
    vfprintf(trail, format, list);
    fprintf(trail, "\n");
    fflush(trail);
    va_end(list);
}

static size_t count(Instance *s, VR r)
{
    size_t n = 1;
    for (int i = 0; i < rows[r].dims; i++)
        n *= rows[r].dim[i].of ? *(uint64_t *)((char *)&s->v + rows[rows[r].dim[i].of].offset) : rows[r].dim[i].fixed;
    return n;
}

static char *at(Instance *s, VR r)
{
    return (char *)&s->v + rows[r].offset;
}

static char *copied(const char *text)
{
    char *c = malloc(strlen(text) + 1);
    strcpy(c, text);
    return c;
}

static void set_text(char **where, const char *text)
{
    char *c = copied(text);
    free(*where);
    *where = c;
}

static void set_bytes(Bytes *b, const void *p, size_t n)
{
    unsigned char *c = malloc(n + 1);
    memcpy(c, p, n);
    free(b->p);
    b->p = c;
    b->n = n;
}

#ifdef ONE_INSTANCE // as of a library with static memory, which does not say so
static Instance only_one;
#endif

static Instance *born(const char *name, bool cs)
{
#ifdef ONE_INSTANCE
    Instance *s = &only_one;
    memset(s, 0, sizeof *s);
#else
    Instance *s = calloc(1, sizeof *s);
#endif
    snprintf(s->name, 64, "%s", name);
    s->cs = cs;
    who = s->name;
    v_start(&s->v);
    say("instantiate %s", cs ? "cs" : "me");
    return s;
}

#define IN(c)                      \
    Instance *s = (Instance *)(c); \
    V *v = &s->v;                  \
    (void)v;                       \
    who = s->name

static size_t state_list(VR *x)
{
    size_t n = 0;
    for (VR r = 0; r < ROWS; r++)
        if (rows[r].is_state)
            x[n++] = r;
    return n;
}

static VR der_of(VR state)
{
    for (VR r = 0; r < ROWS; r++)
        if (rows[r].state_of == (int)state)
            return r;
    return 0;
}

static size_t get_states(Instance *s, double *x)
{
    VR list[ROWS];
    size_t n = state_list(list), k = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < count(s, list[i]); j++)
            x[k++] = ((double *)at(s, list[i]))[j];
    return k;
}

static void set_states(Instance *s, const double *x)
{
    VR list[ROWS];
    size_t n = state_list(list), k = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < count(s, list[i]); j++)
            ((double *)at(s, list[i]))[j] = x[k++];
}

static size_t get_ders(Instance *s, double *x)
{
    calc(&s->v);
    VR list[ROWS];
    size_t n = state_list(list), k = 0;
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < count(s, list[i]); j++)
            x[k++] = ((double *)at(s, der_of(list[i])))[j];
    return k;
}
/* Runge-Kutta of order 4 in 20 parts; models with a closed form bring their own. */

static void rk4(Instance *s, double t, double h)
{
    double x[256], k[4][256], y[256];
    size_t n = get_states(s, x);
    int parts = 20;
    double d = h / parts;
    for (int p = 0; p < parts; p++) {
        get_states(s, x);
        for (int stage = 0; stage < 4; stage++) {
            double a = stage == 0 ? 0 : stage == 3 ? d : d / 2;
            s->v.time = t + p * d + a;
            for (size_t i = 0; i < n; i++)
                y[i] = x[i] + (stage ? a * k[stage - 1][i] : 0);
            set_states(s, y);
            get_ders(s, k[stage]);
        }
        for (size_t i = 0; i < n; i++)
            y[i] = x[i] + d / 6 * (k[0][i] + 2 * k[1][i] + 2 * k[2][i] + k[3][i]);
        set_states(s, y);
    }
    s->v.time = t + h;
    calc(&s->v);
}

static Instance *cloned(Instance *s)
{
    Instance *c = malloc(sizeof *c);
    *c = *s;
    for (VR r = 0; r < ROWS; r++)
        for (size_t i = 0; i < count(s, r); i++) {
            if (rows[r].type == STR)
                ((char **)at(c, r))[i] = copied(((char **)at(s, r))[i]);
            if (rows[r].type == BIN) {
                Bytes *b = (Bytes *)at(c, r) + i, a = ((Bytes *)at(s, r))[i];
                b->p = malloc(a.n + 1);
                memcpy(b->p, a.p, a.n);
            }
        }
    return c;
}

static void emptied(Instance *s)
{
    for (VR r = 0; r < ROWS; r++)
        for (size_t i = 0; i < count(s, r); i++) {
            if (rows[r].type == STR)
                free(((char **)at(s, r))[i]);
            if (rows[r].type == BIN)
                free(((Bytes *)at(s, r))[i].p);
        }
}

static void dropped(Instance *s)
{
    emptied(s);
#ifdef ONE_INSTANCE
    if (s == &only_one)
        return;
#endif
    free(s);
}

static void restored(Instance *s, Instance *from)
{
    Instance *c = cloned(from);
    emptied(s);
    *s = *c;
    free(c);
}

static size_t packed(Instance *s, char *out)
{
    size_t k = sizeof *s;
    if (out)
        memcpy(out, s, k);
    for (VR r = 0; r < ROWS; r++)
        for (size_t i = 0; i < count(s, r); i++)
            if (rows[r].type == STR || rows[r].type == BIN) {
                const void *p;
                size_t n;
                if (rows[r].type == STR) {
                    p = ((char **)at(s, r))[i];
                    n = strlen(p) + 1;
                } else {
                    p = ((Bytes *)at(s, r))[i].p;
                    n = ((Bytes *)at(s, r))[i].n;
                }
                if (out) {
                    memcpy(out + k, &n, 8);
                    memcpy(out + k + 8, p, n);
                }
                k += 8 + n;
            }
    return k;
}

static Instance *unpacked(const char *in)
{
    Instance *s = malloc(sizeof *s);
    memcpy(s, in, sizeof *s);
    size_t k = sizeof *s;
    for (VR r = 0; r < ROWS; r++)
        for (size_t i = 0; i < count(s, r); i++)
            if (rows[r].type == STR || rows[r].type == BIN) {
                size_t n;
                memcpy(&n, in + k, 8);
                unsigned char *p = malloc(n + 1);
                memcpy(p, in + k + 8, n);
                if (rows[r].type == STR)
                    ((char **)at(s, r))[i] = (char *)p;
                else {
                    ((Bytes *)at(s, r))[i].p = p;
                    ((Bytes *)at(s, r))[i].n = n;
                }
                k += 8 + n;
            }
    return s;
}

enum { INSTANTIATED = 1, CONFIG = 2, INIT = 4, EVENT = 8, CONT = 16, STEP = 32, TERM = 64 };

static void tell(const char *f, VR r, double x)
{
    say("%s %s %.17g", f, names[r], x);
}

#endif
