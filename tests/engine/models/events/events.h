/* A model with event mode and clocks, for FMI 3.0 co-simulation. events.c does what FMI wants around it, and refuses
 * every call that FMI does not allow: clocked variables without their clock, discrete inputs outside of event mode.
 *
 * A variable is a row of the table; its number is the value reference, row 0 is the time.
 */
#ifndef EVENTS_H
#define EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAX_ROWS = 16, MAX_BYTES = 64 };

typedef enum { REAL, INTEGER, BYTES, CLOCK } Type;
typedef enum { PARAMETER, INPUT, OUTPUT } Causality;

typedef struct {
    Type type;
    Causality causality;
    bool discrete;
    unsigned clock; /* row of the clock that the variable belongs to; 0: none */
    double start;
    unsigned size; /* of an array, whose other elements are the rows after it; 0: none */
} Row;

/* All that changes; saving it saves the state of the FMU. */
typedef struct {
    int mode;
    double t;
    double real[MAX_ROWS];
    int32_t integer[MAX_ROWS];
    bool active[MAX_ROWS]; /* of clocks */
    unsigned char bytes[MAX_ROWS][MAX_BYTES];
    size_t size[MAX_ROWS];
    double own[MAX_ROWS];                       /* what the model remembers besides */
    double interval[MAX_ROWS], shift[MAX_ROWS]; /* of clocks, as the importer has said [s]; 0: it has not */
    double slope[MAX_ROWS];                     /* of continuous inputs, over the step that is under way */
} State;

/* How fmi3DoStep contradicts its flags; models that are honest leave it out. */
typedef enum { NONE, RETURNS_UNASKED, NO_PROGRESS, MIDDLE_UNFLAGGED, BEYOND_UNFLAGGED, EARLY_BEYOND } Lie;
Lie model_lie(const State *s);

extern const char *const model_token;
extern const Row model_rows[];
extern const size_t model_row_count;

/* Outputs as they follow from everything else. */
void model_outputs(State *s);
/* Continuous time from s->t to `end`, or to the first event before it, where it returns true. */
bool model_advance(State *s, double end);
/* One event iteration; whether there is to be another one. */
bool model_update(State *s);
/* Until the next tick of a clock [s]; 0: not known, 1: as before, 2: new. */
int model_interval(const State *s, unsigned clock, double *interval);
/* The same as a fraction, and the time of the first tick; models without clocks that support it leave these out. */
int model_interval_fraction(const State *s, unsigned clock, uint64_t *counter, uint64_t *resolution);
void model_shift_fraction(unsigned clock, uint64_t *counter, uint64_t *resolution);

#endif
