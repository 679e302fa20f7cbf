/* An FMU that delays: its output is what the input was a stated time ago. FMI 2.0, co-simulation.

   The input counts at communication points, where a step begins: between them it runs on a line, or with `held` it
   stays what it was. So the output at the end of a step depends on nothing in the step, if the step is no longer than
   the delay. Before the first point the input has its first value. */
#include "plain_fmu.h"

enum { OUTPUT, INPUT, DELAY, HELD };
typedef struct {
  double t, u;
} Point;
typedef struct {
  double y, u, delay, held;
  int stepping;
  size_t count, room;
  Point* points; /* not earlier than needed, in ascending order */
} Delay;

static int copy(const Delay* from, Delay* to) {
  Point* points = malloc((from->count + 1) * sizeof *points);
  if (!points) return 0;
  if (from->count) memcpy(points, from->points, from->count * sizeof *points);
  free(to->points);
  *to = *from;
  to->points = points;
  to->room = from->count + 1;
  return 1;
}

/* A point; of two at one time the later one counts, as after an event. */
static int note(Delay* delay, double t) {
  if (delay->count && delay->points[delay->count - 1].t >= t) --delay->count;
  if (delay->count == delay->room) {
    Point* points = realloc(delay->points, 2 * (delay->room + 1) * sizeof *points);
    if (!points) return 0;
    delay->points = points;
    delay->room = 2 * (delay->room + 1);
  }
  delay->points[delay->count++] = (Point){t, delay->u};
  return 1;
}

/* Points that are not later but for rounding, which is less than `moment`, count as not later. */
static double value_at(const Delay* delay, double t, double moment) {
  const Point* last = delay->points + delay->count - 1;
  const Point* after = delay->points;
  while (after <= last && after->t <= t + moment) ++after;
  if (after == delay->points) return after->u;
  const Point* before = after - 1;
  if (after > last || delay->held != 0.0) return before->u;
  return before->u + (after->u - before->u) * ((t - before->t) / (after->t - before->t));
}

/* Forget what lies before the last point that is not after t. */
static void forget(Delay* delay, double t) {
  size_t first = 0;
  while (first + 1 < delay->count && delay->points[first + 1].t <= t) ++first;
  delay->count -= first;
  memmove(delay->points, delay->points + first, delay->count * sizeof *delay->points);
}

EXPORTED void* fmi2Instantiate(const char* name, int type, const char* guid, const char* resources,
                               const void* callbacks, int visible, int logging) {
  (void)name, (void)type, (void)guid, (void)resources, (void)callbacks, (void)visible, (void)logging;
  return calloc(1, sizeof(Delay));
}
EXPORTED void fmi2FreeInstance(void* instance) {
  if (instance) free(((Delay*)instance)->points);
  free(instance);
}
EXPORTED Status fmi2EnterInitializationMode(void* instance) { return (void)instance, OK; }
EXPORTED Status fmi2ExitInitializationMode(void* instance) {
  Delay* delay = instance;
  delay->y = delay->u;
  delay->stepping = 1;
  return OK;
}
EXPORTED Status fmi2Reset(void* instance) {
  Delay* delay = instance;
  free(delay->points);
  *delay = (Delay){0};
  return OK;
}

EXPORTED Status fmi2GetReal(void* instance, const Reference references[], size_t count, double values[]) {
  const Delay* delay = instance;
  const double known[] = {delay->stepping ? delay->y : delay->u, delay->u, delay->delay, delay->held};
  for (size_t one = 0; one < count; ++one) {
    if (references[one] > HELD) return FAILED;
    values[one] = known[references[one]];
  }
  return OK;
}
EXPORTED Status fmi2SetReal(void* instance, const Reference references[], size_t count, const double values[]) {
  Delay* delay = instance;
  double* const known[] = {&delay->y, &delay->u, &delay->delay, &delay->held};
  for (size_t one = 0; one < count; ++one) {
    if (references[one] > HELD || references[one] == OUTPUT) return FAILED;
    *known[references[one]] = values[one];
  }
  return OK;
}
/* Only the value at the start of a step counts. */
EXPORTED Status fmi2SetRealInputDerivatives(void* instance, const Reference references[], size_t count,
                                            const int orders[], const double values[]) {
  return (void)instance, (void)references, (void)count, (void)orders, (void)values, OK;
}
EXPORTED Status fmi2GetDirectionalDerivative(void* instance, const Reference unknowns[], size_t unknown_count,
                                             const Reference knowns[], size_t known_count, const double seeds[],
                                             double derivatives[]) {
  (void)unknowns, (void)knowns;
  const int direct = !((Delay*)instance)->stepping;
  for (size_t unknown = 0; unknown < unknown_count; ++unknown) {
    derivatives[unknown] = 0.0;
    for (size_t known = 0; direct && known < known_count; ++known) derivatives[unknown] += seeds[known];
  }
  return OK;
}

EXPORTED Status fmi2DoStep(void* instance, double t, double h, int no_going_back) {
  Delay* delay = instance;
  (void)no_going_back;
  if (!note(delay, t)) return FAILED;
  const double past = t + h - delay->delay;
  delay->y = value_at(delay, past, 1e-9 * h);
  forget(delay, past);
  return OK;
}

EXPORTED Status fmi2GetFMUstate(void* instance, void** state) {
  if (!*state) *state = calloc(1, sizeof(Delay));
  return *state && copy(instance, *state) ? OK : FAILED;
}
EXPORTED Status fmi2SetFMUstate(void* instance, void* state) { return copy(state, instance) ? OK : FAILED; }
EXPORTED Status fmi2FreeFMUstate(void* instance, void** state) {
  (void)instance;
  fmi2FreeInstance(*state);
  *state = NULL;
  return OK;
}
EXPORTED Status fmi2SerializedFMUstateSize(void* instance, void* state, size_t* size) {
  (void)instance;
  *size = sizeof(Delay) + ((Delay*)state)->count * sizeof(Point);
  return OK;
}
EXPORTED Status fmi2SerializeFMUstate(void* instance, void* state, char bytes[], size_t size) {
  const Delay* delay = state;
  (void)instance;
  if (size < sizeof *delay + delay->count * sizeof(Point)) return FAILED;
  Delay told = *delay;
  told.points = NULL;
  memcpy(bytes, &told, sizeof told);
  if (delay->count) memcpy(bytes + sizeof told, delay->points, delay->count * sizeof(Point));
  return OK;
}
EXPORTED Status fmi2DeSerializeFMUstate(void* instance, const char bytes[], size_t size, void** state) {
  Delay told;
  (void)instance;
  if (size < sizeof told) return FAILED;
  memcpy(&told, bytes, sizeof told);
  if (told.count > (size - sizeof told) / sizeof(Point)) return FAILED;
  told.points = malloc((told.count + 1) * sizeof(Point));
  told.room = told.count + 1;
  if (told.points) memcpy(told.points, bytes + sizeof told, told.count * sizeof(Point));
  *state = told.points ? malloc(sizeof told) : NULL;
  if (!*state) return free(told.points), FAILED;
  memcpy(*state, &told, sizeof told);
  return OK;
}
