/* What a model states: its variables, which of them each equation uses, and the equations themselves.
 *
 * A model is one C file. It is compiled twice, once with Number = double and once with
 * Number = double complex; the second gives exact directional derivatives (Squire and Trapp 1998, "Using complex
 * variables to estimate derivatives of real functions"). So the equations must be analytic: sin, cos, sqrt, exp,
 * pow and the like from <tgmath.h>, but not fabs. A branch compares creal(...).
 */
#ifndef MODEL_H
#define MODEL_H

#include <complex.h>
#include <stdbool.h>
#include <stddef.h>
#include <tgmath.h>

/* <complex.h> takes these letters; models want them for inertias. */
#undef I

enum { MAX_VARIABLES = 64, MAX_STATES = 16 };

typedef enum { LOCAL, INPUT, OUTPUT, FIXED_PARAMETER, TUNABLE_PARAMETER, INDEPENDENT } Causality;

/* EXACT: the start value is the value at the start of initialization and may be set. Inputs and parameters are
 * exact anyway. A CALCULATED state gets its first value from INITIAL_STATES. */
typedef enum { CALCULATED, EXACT } Initial;

/* How a known enters an equation, weakest first: with a constant factor, a factor that is fixed after
 * initialization, a factor that changes with tunable parameters, or in any other way (FMI: dependenciesKind). */
typedef enum { CONSTANT, FIXED, TUNABLE, DEPENDENT } Kind;

/* One row of the table of variables; the row number is the value reference. Row 0 is always TIME_VARIABLE. */
typedef struct {
    const char *name;
    Causality causality;
    Initial initial;
    unsigned derivative_of; /* row of the state; 0: this is no state derivative */
    const char *unit;
    double start;
    double nominal; /* 0 is read as 1 */
    bool discrete;  /* EXACT, and changes at events only, or in a STEP */
    bool reinit;    /* of a state: events may change it */
    const char *description;
} Variable;

#define TIME_VARIABLE {.name = "time", .causality = INDEPENDENT, .unit = "s", .description = "time"}

/* The right-hand side of the equation of `unknown` contains `known` (which may itself be computed). The table of
 * INITIAL_STATES may also have rows for other unknowns, which then replace those of EQUATIONS in initialization mode:
 * if the calculated states make something cancel, an unknown may depend on less there. */
typedef struct {
    unsigned unknown;
    unsigned known;
    Kind kind;
} Dependency;

typedef struct {
    const char *name; /* of the model and of the binary */
    const char *description;
    const Variable *variables;
    size_t variable_count;
    const Dependency *dependencies; /* of EQUATIONS */
    size_t dependency_count;
    const Dependency *initial_dependencies; /* of INITIAL_STATES */
    size_t initial_dependency_count;
    /* Rows of computed variables; an event is where one of them changes sign. */
    const unsigned *indicators;
    size_t indicator_count;
    /* EVENTS, or NULL. A model with events is offered for model exchange only. */
    double (*events)(double v[]);
    /* STEP, or NULL. A model with a step of its own is offered for co-simulation only, with held inputs. */
    void (*step)(double v[], double h);
    double stop_time; /* default experiment [s] */
    double step_size; /* default experiment [s] */
} Model;

#define ROWS(table) (sizeof(table) / sizeof((table)[0]))

/* Both number types, whichever this file is compiled for. `v` has one number per row of the table.
 * model_initial computes the calculated states from parameters, inputs and time;
 * model_equations computes outputs, locals and state derivatives from parameters, inputs, states and time. */
extern const Model model;
void model_initial(double v[]);
void model_equations(double v[]);
void model_initial_complex(double complex v[]);
void model_equations_complex(double complex v[]);

/* EVENTS(v) changes discrete variables, and states that are `reinit`, where their conditions hold, and returns the time
 * of the next time event (INFINITY: none). It is called at every event, until it changes no discrete variable any more,
 * so it must do nothing where nothing has happened. Compiled for double only, hence not restricted to analytic
 * functions. */
#define EVENTS(v) static __attribute__((unused)) double model_events(double v[])

/* STEP(v, h) advances states and discrete variables by one step of h [s] under inputs that are held, by a scheme of the
 * model's own instead of the wrapper's error-controlled integration. Compiled for double only. */
#define STEP(v, h) static __attribute__((unused)) void model_step(double v[], double h)

#ifdef COMPLEX_NUMBERS
typedef double complex Number;
#define INITIAL_STATES(v) void model_initial_complex(Number v[])
#define EQUATIONS(v) void model_equations_complex(Number v[])
#define MODEL static const Model table_of_the_other_compilation __attribute__((unused))
#else
typedef double Number;
#define INITIAL_STATES(v) void model_initial(Number v[])
#define EQUATIONS(v) void model_equations(Number v[])
#define MODEL const Model model
#endif

#endif
