/* A model with continuous states, events and variables of all types, for FMI 2.0 and 3.0, model exchange and
 * co-simulation, of FMI 3.0 with event mode if the model says so. hybrid2.c and hybrid3.c do what FMI wants around it,
 * and refuse every call that FMI does not allow: discrete inputs in continuous time, clocked variables without their
 * clock.
 *
 * A variable is a row of the table; its number is the value reference, row 0 is the time. Rows of types that FMI 2.0
 * does not have, and clocks, exist in FMI 3.0 only.
 */
#ifndef HYBRID_H
#define HYBRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAX_ROWS = 40, MAX_BYTES = 64, MAX_INDICATORS = 4 };

typedef enum {
    REAL,
    FLOAT32,
    INT8,
    UINT8,
    INT16,
    UINT16,
    INT32,
    UINT32,
    INT64,
    UINT64,
    BOOLEAN,
    ENUMERATION,
    STRING,
    BINARY,
    CLOCK
} Type;
typedef enum { LOCAL, PARAMETER, INPUT, OUTPUT } Causality;

typedef struct {
    const char *name;
    Type type;
    Causality causality;
    bool discrete;          /* REAL and FLOAT32; of all other types, variables are anyway */
    unsigned derivative_of; /* row of the state */
    unsigned needs;         /* row of the input that an output needs at the same instant; 0: none */
    unsigned clock;         /* row of the clock that the variable belongs to; 0: none */
    double start;
    double interval; /* of an input clock [s]; 0: it is triggered */
    bool state;
} Row;

/* All that changes; saving it saves the state of the FMU. */
typedef struct {
    int mode;
    bool exchange;
    bool event_mode; /* of co-simulation */
    double t;
    double real[MAX_ROWS];
    int64_t integer[MAX_ROWS];
    bool active[MAX_ROWS]; /* of clocks */
    char text[MAX_ROWS][MAX_BYTES];
    size_t size[MAX_ROWS]; /* of bytes */
} State;

extern const char *const model_name;
extern const Row model_rows[];
extern const size_t model_row_count;
extern const size_t model_indicator_count;

/* Outputs, locals and derivatives as they follow from everything else. */
void model_outputs(State *s);
/* One event iteration; whether there is to be another one. */
bool model_update(State *s);

/* A model without them leaves these out. */
extern const bool model_event_mode;
void model_indicators(const State *s, double z[]);
/* The time of the next time event; INFINITY: none. */
double model_next(const State *s);
/* Why an input or a parameter cannot have the value that it has just got; NULL: it can. */
const char *model_objection(const State *s, unsigned row);

/* -- hybrid.c, for both versions of FMI ------------------------------------------------------------------------- */

enum { INSTANTIATED = 1, INITIALIZATION = 2, EVENT = 4, CONTINUOUS = 8, STEP = 16, TERMINATED = 32 };

typedef struct {
    State now;
    const void *environment; /* what the importer wants back with messages, or its callbacks */
    void (*log)(void);
} Instance;

bool has_version(const Row *row, int version);
Instance *hybrid_new(bool exchange);
/* NULL: the variable may be set, or got. */
const char *hybrid_objection(const Instance *, unsigned row, Type type, bool set);
bool hybrid_update(Instance *, double *next);
void hybrid_step(Instance *, double end);
size_t hybrid_states(unsigned rows[]);
void hybrid_derivatives(Instance *, double slope[]);

#endif
