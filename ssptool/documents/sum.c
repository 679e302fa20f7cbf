/* An FMU that adds: each output is the sum of one input of each term. FMI 2.0, both interfaces, without states.

   The value reference of an output is its number; that of an input is its term, from 1, times 65536 plus the number of
   the output that it is a part of. So one library serves any number of terms and outputs. */
#include "plain_fmu.h"

typedef struct {
  size_t terms, width;
  double* values; /* of inputs: terms × width */
} Sum;
static size_t term_of(Reference reference) { return reference >> 16; }
static size_t output_of(Reference reference) { return reference & 0xFFFF; }

/* Makes room for a term and an output; 0 if there is none. */
static int grow(Sum* sum, size_t terms, size_t width) {
  if (terms <= sum->terms && width <= sum->width) return 1;
  Sum larger = {terms > sum->terms ? terms : sum->terms, width > sum->width ? width : sum->width, NULL};
  larger.values = calloc(larger.terms * larger.width, sizeof *larger.values);
  if (!larger.values) return 0;
  for (size_t term = 0; term < sum->terms; ++term)
    memcpy(larger.values + term * larger.width, sum->values + term * sum->width, sum->width * sizeof *sum->values);
  free(sum->values);
  *sum = larger;
  return 1;
}

static double input(const Sum* sum, size_t term, size_t output) {
  return term < sum->terms && output < sum->width ? sum->values[term * sum->width + output] : 0.0;
}

static int copy(const Sum* from, Sum* to) {
  size_t count = from->terms * from->width;
  double* values = calloc(count ? count : 1, sizeof *values);
  if (!values) return 0;
  if (count) memcpy(values, from->values, count * sizeof *values);
  free(to->values);
  *to = (Sum){from->terms, from->width, values};
  return 1;
}

EXPORTED void* fmi2Instantiate(const char* name, int type, const char* guid, const char* resources,
                               const void* callbacks, int visible, int logging) {
  (void)name, (void)type, (void)guid, (void)resources, (void)callbacks, (void)visible, (void)logging;
  return calloc(1, sizeof(Sum));
}
EXPORTED void fmi2FreeInstance(void* instance) {
  if (instance) free(((Sum*)instance)->values);
  free(instance);
}
EXPORTED Status fmi2EnterInitializationMode(void* sum) { return (void)sum, OK; }
EXPORTED Status fmi2ExitInitializationMode(void* sum) { return (void)sum, OK; }
EXPORTED Status fmi2Reset(void* instance) {
  Sum* sum = instance;
  if (sum->values) memset(sum->values, 0, sum->terms * sum->width * sizeof *sum->values);
  return OK;
}

EXPORTED Status fmi2GetReal(void* sum, const Reference references[], size_t count, double values[]) {
  for (size_t one = 0; one < count; ++one) {
    size_t term = term_of(references[one]), output = output_of(references[one]);
    if (term) {
      values[one] = input(sum, term - 1, output);
      continue;
    }
    values[one] = 0.0;
    for (size_t each = 0; each < ((Sum*)sum)->terms; ++each) values[one] += input(sum, each, output);
  }
  return OK;
}
EXPORTED Status fmi2SetReal(void* instance, const Reference references[], size_t count, const double values[]) {
  Sum* sum = instance;
  for (size_t one = 0; one < count; ++one) {
    size_t term = term_of(references[one]), output = output_of(references[one]);
    if (!term || !grow(sum, term, output + 1)) return FAILED;
    sum->values[(term - 1) * sum->width + output] = values[one];
  }
  return OK;
}
EXPORTED Status fmi2GetDirectionalDerivative(void* sum, const Reference unknowns[], size_t unknown_count,
                                             const Reference knowns[], size_t known_count, const double seeds[],
                                             double derivatives[]) {
  (void)sum;
  for (size_t unknown = 0; unknown < unknown_count; ++unknown) {
    derivatives[unknown] = 0.0;
    for (size_t known = 0; known < known_count; ++known)
      if (output_of(knowns[known]) == output_of(unknowns[unknown])) derivatives[unknown] += seeds[known];
  }
  return OK;
}

EXPORTED Status fmi2GetFMUstate(void* sum, void** state) {
  if (!*state) *state = calloc(1, sizeof(Sum));
  return *state && copy(sum, *state) ? OK : FAILED;
}
EXPORTED Status fmi2SetFMUstate(void* sum, void* state) { return copy(state, sum) ? OK : FAILED; }
EXPORTED Status fmi2FreeFMUstate(void* sum, void** state) {
  (void)sum;
  fmi2FreeInstance(*state);
  *state = NULL;
  return OK;
}

EXPORTED Status fmi2DoStep(void* sum, double time, double step, int no_going_back) {
  (void)sum, (void)time, (void)step, (void)no_going_back;
  return OK;
}

EXPORTED Status fmi2SerializedFMUstateSize(void* sum, void* state, size_t* size) {
  return (void)sum, (void)state, (void)size, FAILED;
}
EXPORTED Status fmi2SerializeFMUstate(void* sum, void* state, char bytes[], size_t size) {
  return (void)sum, (void)state, (void)bytes, (void)size, FAILED;
}
EXPORTED Status fmi2DeSerializeFMUstate(void* sum, const char bytes[], size_t size, void** state) {
  return (void)sum, (void)bytes, (void)size, (void)state, FAILED;
}
EXPORTED Status fmi2SetRealInputDerivatives(void* sum, const Reference references[], size_t count, const int orders[],
                                            const double values[]) {
  return (void)sum, (void)references, (void)count, (void)orders, (void)values, FAILED;
}
