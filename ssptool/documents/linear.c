/* A linear system: next = base + M (known - point), in which the known are states and inputs, and the next are
   derivatives of the states (model exchange) or states after a step of a stated size (co-simulation), and then outputs.
   FMI 2.0.

   All numbers are in the file linear.bin of the resources. */
#define HAS_STATES
#include <math.h>
#include <stdio.h>

#include "plain_fmu.h"

typedef struct {
  void (*log)(void* environment, const char* name, Status status, const char* category, const char* text, ...);
  void *allocate, *free, *finished, *environment;
} Callbacks;

typedef struct {
  size_t states, known, next;    /* the first of both are those of the states */
  double *base, *point, *matrix; /* by rows; in one block of memory */
  double* values;                /* of the known, behind them */
  double step;
  const Callbacks* callbacks;
} Linear;

static int hexadecimal(char digit) {
  const char* digits = "0123456789abcdef";
  const char* found = digit ? strchr(digits, digit | 0x20) : NULL;
  return found ? (int)(found - digits) : -1;
}

/* The path of a URI: without its scheme and host, and with characters in place of their escapes. */
static char* path_of(const char* uri, const char* entry) {
  char* path = malloc(strlen(uri) + strlen(entry) + 2);
  char* end = path;
  if (!path) return NULL;
  if (!strncmp(uri, "file:", 5)) uri += 5;
  if (!strncmp(uri, "//", 2)) uri += 2 + strcspn(uri + 2, "/");
  if (uri[0] == '/' && uri[1] && uri[2] == ':') ++uri; /* a drive of Windows */
  for (; *uri; ++uri) {
    const int high = *uri == '%' ? hexadecimal(uri[1]) : -1, low = high < 0 ? -1 : hexadecimal(uri[2]);
    *end++ = low < 0 ? *uri : (char)(16 * high + low);
    if (low >= 0) uri += 2;
  }
  *end++ = '/';
  strcpy(end, entry);
  return path;
}

static int read_numbers(Linear* linear, FILE* file) {
  double sizes[4];
  if (fread(sizes, sizeof *sizes, 4, file) != 4) return 0;
  linear->step = sizes[3];
  linear->states = (size_t)sizes[0], linear->known = (size_t)sizes[1], linear->next = (size_t)sizes[2];
  const size_t count = linear->next + linear->known + linear->next * linear->known;
  linear->base = malloc((count + linear->known + 1) * sizeof(double));
  if (!linear->base || fread(linear->base, sizeof(double), count, file) != count) return 0;
  linear->point = linear->base + linear->next;
  linear->matrix = linear->point + linear->known;
  linear->values = linear->base + count;
  return 1;
}

static double next_value(const Linear* linear, size_t row) {
  double sum = linear->base[row];
  for (size_t one = 0; one < linear->known; ++one)
    sum += linear->matrix[row * linear->known + one] * (linear->values[one] - linear->point[one]);
  return sum;
}

EXPORTED Status fmi2Reset(void* instance) {
  Linear* linear = instance;
  memcpy(linear->values, linear->point, linear->known * sizeof(double));
  return OK;
}
EXPORTED void fmi2FreeInstance(void* instance) {
  if (instance) free(((Linear*)instance)->base);
  free(instance);
}
EXPORTED void* fmi2Instantiate(const char* name, int type, const char* guid, const char* resources,
                               const void* callbacks, int visible, int logging) {
  (void)name, (void)type, (void)guid, (void)visible, (void)logging;
  Linear* linear = calloc(1, sizeof *linear);
  char* path = resources ? path_of(resources, "linear.bin") : NULL;
  FILE* file = path ? fopen(path, "rb") : NULL;
  const int read = linear && file && read_numbers(linear, file);
  if (file) fclose(file);
  free(path);
  if (!read) return fmi2FreeInstance(linear), NULL;
  fmi2Reset(linear);
  linear->callbacks = callbacks;
  return linear;
}
EXPORTED Status fmi2EnterInitializationMode(void* instance) { return (void)instance, OK; }
EXPORTED Status fmi2ExitInitializationMode(void* instance) { return (void)instance, OK; }

EXPORTED Status fmi2GetReal(void* instance, const Reference references[], size_t count, double values[]) {
  const Linear* linear = instance;
  for (size_t one = 0; one < count; ++one) {
    if (references[one] >= linear->known + linear->next) return FAILED;
    const int known = references[one] < linear->known;
    values[one] = known ? linear->values[references[one]] : next_value(linear, references[one] - linear->known);
  }
  return OK;
}
EXPORTED Status fmi2SetReal(void* instance, const Reference references[], size_t count, const double values[]) {
  const Linear* linear = instance;
  for (size_t one = 0; one < count; ++one) {
    if (references[one] >= linear->known) return FAILED;
    linear->values[references[one]] = values[one];
  }
  return OK;
}
EXPORTED Status fmi2GetDirectionalDerivative(void* instance, const Reference unknowns[], size_t unknown_count,
                                             const Reference knowns[], size_t known_count, const double seeds[],
                                             double derivatives[]) {
  const Linear* linear = instance;
  for (size_t unknown = 0; unknown < unknown_count; ++unknown) {
    const size_t row = unknowns[unknown] - linear->known;
    derivatives[unknown] = 0.0;
    for (size_t known = 0; known < known_count; ++known) {
      if (row >= linear->next || knowns[known] >= linear->known) return FAILED;
      derivatives[unknown] += linear->matrix[row * linear->known + knowns[known]] * seeds[known];
    }
  }
  return OK;
}

EXPORTED Status fmi2SetContinuousStates(void* instance, const double values[], size_t count) {
  const Linear* linear = instance;
  if (count != linear->states) return FAILED;
  memcpy(linear->values, values, count * sizeof *values);
  return OK;
}
EXPORTED Status fmi2GetContinuousStates(void* instance, double values[], size_t count) {
  const Linear* linear = instance;
  if (count != linear->states) return FAILED;
  memcpy(values, linear->values, count * sizeof *values);
  return OK;
}
EXPORTED Status fmi2GetDerivatives(void* instance, double values[], size_t count) {
  const Linear* linear = instance;
  for (size_t row = 0; row < count && row < linear->states; ++row) values[row] = next_value(linear, row);
  return count == linear->states ? OK : FAILED;
}
EXPORTED Status fmi2GetNominalsOfContinuousStates(void* instance, double values[], size_t count) {
  (void)instance;
  for (size_t one = 0; one < count; ++one) values[one] = 1.0;
  return OK;
}

EXPORTED Status fmi2DoStep(void* instance, double time, double step, int no_going_back) {
  Linear* linear = instance;
  double* after = malloc((linear->states + 1) * sizeof *after);
  const double steps = step / linear->step;
  (void)time, (void)no_going_back;
  if (!after) return FAILED;
  if (!(fabs(steps - floor(steps + 0.5)) < 1e-6) || steps < 0.5) {
    const Callbacks* told = linear->callbacks;
    if (told && told->log)
      told->log(told->environment, "linear", FAILED, "logStatusError",
                "the size of a step must be a multiple of %.15g s, found %.15g s", linear->step, step);
    free(after);
    return FAILED;
  }
  for (double done = 0.5; done < steps; ++done) {
    fmi2GetDerivatives(linear, after, linear->states);
    fmi2SetContinuousStates(linear, after, linear->states);
  }
  free(after);
  return OK;
}
EXPORTED Status fmi2SetRealInputDerivatives(void* instance, const Reference references[], size_t count,
                                            const int orders[], const double values[]) {
  return (void)instance, (void)references, (void)count, (void)orders, (void)values, FAILED;
}

/* A saved state is the values of the known. */
EXPORTED Status fmi2SerializedFMUstateSize(void* instance, void* state, size_t* size) {
  (void)state;
  *size = ((Linear*)instance)->known * sizeof(double);
  return OK;
}
EXPORTED Status fmi2DeSerializeFMUstate(void* instance, const char bytes[], size_t size, void** state) {
  if (size != ((Linear*)instance)->known * sizeof(double)) return FAILED;
  if (!*state) *state = malloc(size + 1);
  return *state ? (memcpy(*state, bytes, size), OK) : FAILED;
}
EXPORTED Status fmi2SerializeFMUstate(void* instance, void* state, char bytes[], size_t size) {
  if (size < ((Linear*)instance)->known * sizeof(double)) return FAILED;
  memcpy(bytes, state, ((Linear*)instance)->known * sizeof(double));
  return OK;
}
EXPORTED Status fmi2GetFMUstate(void* instance, void** state) {
  const Linear* linear = instance;
  return fmi2DeSerializeFMUstate(instance, (const char*)linear->values, linear->known * sizeof(double), state);
}
EXPORTED Status fmi2SetFMUstate(void* instance, void* state) {
  const Linear* linear = instance;
  memcpy(linear->values, state, linear->known * sizeof(double));
  return OK;
}
EXPORTED Status fmi2FreeFMUstate(void* instance, void** state) {
  (void)instance;
  free(*state);
  *state = NULL;
  return OK;
}
