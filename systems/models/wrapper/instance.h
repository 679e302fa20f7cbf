/* One running copy of the model, independent of the FMI version. fmi2.c and fmi3.c translate to this interface.
 *
 * A refused or discarded call reports why and leaves the instance as it was.
 * Nothing is shared between instances, so different instances may be used by different threads at once.
 */
#ifndef INSTANCE_H
#define INSTANCE_H

#include "model.h"

/* The numbers of fmi2Status and fmi3Status. */
typedef enum { DONE = 0, DISCARDED = 2, REFUSED = 3 } Outcome;

typedef enum { MODEL_EXCHANGE, CO_SIMULATION } Interface;

/* Bits, so that a set of modes is a number. */
typedef enum {
    INSTANTIATED = 1,
    INITIALIZATION = 2,
    EVENT = 4,
    CONTINUOUS_TIME = 8,
    STEP = 16,
    INTERMEDIATE_UPDATE = 32,
    TERMINATED = 64
} Mode;

/* Everything that changes while the instance runs; saving it saves the FMU state. */
typedef struct {
    Mode mode;
    int stale; /* nonzero: computed variables do not belong to the known ones */
    double stop_time;
    double value[MAX_VARIABLES];
    /* Of inputs, for the next step only: u(t + s) = value + slope s + curvature s^2/2. */
    double slope[MAX_VARIABLES];
    double curvature[MAX_VARIABLES];
    /* Of inputs, at the current time; output derivatives use it. */
    double rate[MAX_VARIABLES];
} State;

typedef struct Instance Instance;
struct Instance {
    Interface interface;
    char *name;
    const char *call; /* FMI function being executed, for messages */
    void *importer;   /* belongs to fmi2.c and fmi3.c, like the functions below */
    void (*report)(Instance *, Outcome, const char *message);
    void (*intermediate_update)(Instance *, double t, bool set_requested, bool get_allowed);
    bool intermediate_set, intermediate_get; /* what the importer may do right now */
    bool intermediate[MAX_VARIABLES];        /* variables that it announced */
    size_t state_count;
    unsigned state[MAX_STATES];      /* rows of the states */
    unsigned derivative[MAX_STATES]; /* and of their derivatives */
    double nominal[MAX_STATES];
    Mode settable[MAX_VARIABLES]; /* modes in which a variable may be set */
    State now;
};

enum { TOKEN_SIZE = 39 };
/* A text in the form of a GUID that changes when the model's tables change. */
void model_token(char token[TOKEN_SIZE]);

Instance *instance_new(Interface interface, const char *name);
void instance_free(Instance *);
void instance_reset(Instance *);

Outcome instance_complain(Instance *, Outcome, const char *format, ...);
#define refuse(instance, ...) instance_complain(instance, REFUSED, __VA_ARGS__)
#define discard(instance, ...) instance_complain(instance, DISCARDED, __VA_ARGS__)
Outcome instance_require(Instance *, unsigned modes);

Outcome instance_get(Instance *, const unsigned reference[], size_t n, double value[]);
Outcome instance_set(Instance *, const unsigned reference[], size_t n, const double value[]);
Outcome instance_check_references(Instance *, const unsigned reference[], size_t n);
void instance_evaluate(Instance *);

Outcome instance_setup(Instance *, double start_time, bool has_stop_time, double stop_time);
Outcome instance_change_mode(Instance *, unsigned from, Mode to);
Outcome instance_exit_initialization(Instance *);

/* Model exchange. */
Outcome instance_set_time(Instance *, double t);
Outcome instance_get_states(Instance *, double x[], size_t n);
Outcome instance_set_states(Instance *, const double x[], size_t n);
Outcome instance_get_nominals(Instance *, double nominal[], size_t n);
Outcome instance_get_derivatives(Instance *, double slope[], size_t n);

/* Events: what one event iteration changed, and the time of the next time event. */
typedef struct {
    bool discrete_changed;
    bool states_changed;
    double next_time; /* INFINITY: none */
} EventAnswer;
Outcome instance_update_discrete(Instance *, EventAnswer *answer);
Outcome instance_get_indicators(Instance *, double indicator[], size_t n);

/* Co-simulation. The tables are parallel: derivative of `order[k]` of the variable `reference[k]`. */
Outcome instance_step(Instance *, double t, double h);
Outcome instance_set_input_derivatives(Instance *, const unsigned reference[], size_t n, const int order[],
                                       const double value[]);
Outcome instance_get_output_derivatives(Instance *, const unsigned reference[], size_t n, const int order[],
                                        double value[]);

/* sensitivity = d(unknown)/d(known) seed, exact up to rounding. */
Outcome instance_directional_derivative(Instance *, const unsigned unknown[], size_t unknown_count,
                                        const unsigned known[], size_t known_count, const double seed[],
                                        double sensitivity[]);
Outcome instance_adjoint_derivative(Instance *, const unsigned unknown[], size_t unknown_count, const unsigned known[],
                                    size_t known_count, const double seed[], double sensitivity[]);

/* A saved state belongs to the caller. `saved` is in/out: memory that it already holds is used again. */
Outcome instance_save(Instance *, void **saved);
Outcome instance_restore(Instance *, const void *saved);
void instance_free_saved(void **saved);
size_t instance_serialized_size(void);
Outcome instance_serialize(Instance *, const void *saved, char bytes[], size_t size);
Outcome instance_deserialize(Instance *, const char bytes[], size_t size, void **saved);

#endif
