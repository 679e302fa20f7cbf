/* The functions of FMI 2.0 in which FMUs of real numbers have nothing to do: of other types, of states, of events, and
   of answers that come later. */
#ifndef PLAIN_FMU_H
#define PLAIN_FMU_H

#include <stdlib.h>
#include <string.h>

#ifdef _WIN32
#define EXPORTED __declspec(dllexport)
#else
#define EXPORTED __attribute__((visibility("default")))
#endif

typedef enum { OK, WARNING, DISCARD, FAILED, FATAL, PENDING } Status;
typedef unsigned Reference;
typedef struct {
  int discrete_states_needed, terminate, nominals_changed, states_changed, next_time_defined;
  double next_time;
} EventInfo;

EXPORTED const char* fmi2GetTypesPlatform(void) { return "default"; }
EXPORTED const char* fmi2GetVersion(void) { return "2.0"; }
EXPORTED Status fmi2SetDebugLogging(void* instance, int on, size_t count, const char* const categories[]) {
  (void)instance, (void)on, (void)count, (void)categories;
  return OK;
}
EXPORTED Status fmi2SetupExperiment(void* instance, int limited, double tolerance, double start, int stops,
                                    double stop) {
  (void)instance, (void)limited, (void)tolerance, (void)start, (void)stops, (void)stop;
  return OK;
}
EXPORTED Status fmi2Terminate(void* instance) { return (void)instance, OK; }
/* There are no variables of other types. */
#define NONE_OF(Type, Name)                                                                                        \
  EXPORTED Status fmi2Get##Name(void* instance, const Reference references[], size_t count, Type values[]) {       \
    (void)instance, (void)references, (void)values;                                                                \
    return count ? FAILED : OK;                                                                                    \
  }                                                                                                                \
  EXPORTED Status fmi2Set##Name(void* instance, const Reference references[], size_t count, const Type values[]) { \
    (void)instance, (void)references, (void)values;                                                                \
    return count ? FAILED : OK;                                                                                    \
  }
NONE_OF(int, Integer)
NONE_OF(int, Boolean)
NONE_OF(char*, String)

/* Some importers ask for every function when they load the library, and call only those that the FMU says it has. */
EXPORTED Status fmi2CancelStep(void* instance) { return (void)instance, FAILED; }
EXPORTED Status fmi2GetRealOutputDerivatives(void* instance, const Reference references[], size_t count,
                                             const int orders[], double values[]) {
  return (void)instance, (void)references, (void)count, (void)orders, (void)values, FAILED;
}
#define STATUS(Name, Type)                                               \
  EXPORTED Status fmi2Get##Name(void* instance, int kind, Type* value) { \
    return (void)instance, (void)kind, (void)value, DISCARD;             \
  }
STATUS(Status, Status)
STATUS(RealStatus, double)
STATUS(IntegerStatus, int)
STATUS(BooleanStatus, int)
STATUS(StringStatus, const char*)

EXPORTED Status fmi2EnterEventMode(void* instance) { return (void)instance, OK; }
EXPORTED Status fmi2NewDiscreteStates(void* instance, EventInfo* info) {
  (void)instance;
  memset(info, 0, sizeof *info);
  return OK;
}
EXPORTED Status fmi2EnterContinuousTimeMode(void* instance) { return (void)instance, OK; }
EXPORTED Status fmi2CompletedIntegratorStep(void* instance, int no_going_back, int* event, int* terminate) {
  (void)instance, (void)no_going_back;
  *event = *terminate = 0;
  return OK;
}
EXPORTED Status fmi2SetTime(void* instance, double time) { return (void)instance, (void)time, OK; }
/* There are no event indicators, and mostly no states. */
#define NO_ARRAY(Name, Type)                                                \
  EXPORTED Status fmi2##Name(void* instance, Type values[], size_t count) { \
    (void)instance, (void)values;                                           \
    return count ? FAILED : OK;                                             \
  }
NO_ARRAY(GetEventIndicators, double)
#ifndef HAS_STATES
NO_ARRAY(SetContinuousStates, const double)
NO_ARRAY(GetContinuousStates, double)
NO_ARRAY(GetDerivatives, double)
NO_ARRAY(GetNominalsOfContinuousStates, double)
#endif

#endif
