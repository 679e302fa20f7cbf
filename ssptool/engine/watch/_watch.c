/* Stand-ins for the functions of an FMU that leave a trace of what is being called.
 *
 * Whoever calls an FMU (the kernel, knowing nothing of this) is given the address of a Record as the instance, and
 * the stand-ins as its functions. A stand-in notes which function is in flight, calls the FMU's own function with the
 * FMU's own instance, and takes the note back. Records lie in memory that another process can read, also after this
 * one has died inside the FMU. The measuring stand-ins count calls and time as well.
 *
 * The Python module says where the stand-ins are: `functions[name] = (index, address, measuring address)`; and how many
 * bytes a record has: `record_size`.
 */
#ifndef Py_LIMITED_API /* which a package for later versions sets */
#define Py_LIMITED_API 0x030B0000
#endif
#include <Python.h>
#include <time.h>

#include "shapes.h"

enum {
#define FUNCTION(name, shape) INDEX_##name,
#define STEP FUNCTION
#include "functions.h"
#undef STEP
#undef FUNCTION
  FUNCTION_COUNT
};

/* `ssptool.engine.watch` has the same layouts. */
typedef struct {
  int64_t calls[FUNCTION_COUNT];
  int64_t nanoseconds[FUNCTION_COUNT];
  int64_t slowest_nanoseconds; /* of all steps */
  double slowest_time;         /* from which that one stepped [s] */
} Counts;

/* One running FMU, in a cache line of its own: thousands of them stay in the cache, and two threads share none. */
typedef struct {
  void* component;
  volatile int64_t in_flight; /* 1 + index of the function; 0: none */
  const uintptr_t* functions; /* their addresses, which all instances of an FMU share */
  Counts* counts;
  uint64_t padding[4];
} Record;

static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void note_step(Counts* counts, double time, int64_t nanoseconds) {
  if (nanoseconds <= counts->slowest_nanoseconds) return;
  counts->slowest_nanoseconds = nanoseconds;
  counts->slowest_time = time;
}

/* An FMU may call back in the middle of a step, and be called from there: what was in flight before is again then. */
#define STAND_INS(name, shape, note)                                        \
  static int watched_##name(Record* record PARAMETERS_##shape) {            \
    const int64_t outer = record->in_flight;                                \
    record->in_flight = 1 + INDEX_##name;                                   \
    int (*const function)(void* PARAMETERS_##shape) =                       \
        (int (*)(void* PARAMETERS_##shape))record->functions[INDEX_##name]; \
    const int status = function(record->component ARGUMENTS_##shape);       \
    record->in_flight = outer;                                              \
    return status;                                                          \
  }                                                                         \
  static int measured_##name(Record* record PARAMETERS_##shape) {           \
    const int64_t began = now();                                            \
    const int status = watched_##name(record ARGUMENTS_##shape);            \
    const int64_t took = now() - began;                                     \
    record->counts->nanoseconds[INDEX_##name] += took;                      \
    record->counts->calls[INDEX_##name] += 1;                               \
    note;                                                                   \
    return status;                                                          \
  }
#define FUNCTION(name, shape) STAND_INS(name, shape, (void)0)
#define STEP(name, shape) STAND_INS(name, shape, note_step(record->counts, a, took))
#include "functions.h"
#undef STEP
#undef FUNCTION

static const struct {
  const char* name;
  uintptr_t watched, measured;
} stand_ins[FUNCTION_COUNT] = {
#define FUNCTION(name, shape) {#name, (uintptr_t)watched_##name, (uintptr_t)measured_##name},
#define STEP FUNCTION
#include "functions.h"
#undef STEP
#undef FUNCTION
};

static PyObject* addresses(void) {
  PyObject* found = PyDict_New();
  for (int i = 0; found != NULL && i < FUNCTION_COUNT; ++i) {
    PyObject* entry =
        Py_BuildValue("(iKK)", i, (unsigned long long)stand_ins[i].watched, (unsigned long long)stand_ins[i].measured);
    if (entry == NULL || PyDict_SetItemString(found, stand_ins[i].name, entry) != 0) Py_CLEAR(found);
    Py_XDECREF(entry);
  }
  return found;
}

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, .m_name = "_watch",
                                        .m_doc = "Stand-ins for FMI functions.", .m_size = 0};

PyMODINIT_FUNC PyInit__watch(void) {
  PyObject* module = PyModule_Create(&definition);
  if (module == NULL) return NULL;
  PyObject* functions = addresses();
  if (functions == NULL || PyModule_AddObjectRef(module, "functions", functions) != 0) Py_CLEAR(module);
  Py_XDECREF(functions);
  if (module != NULL && PyModule_AddIntConstant(module, "record_size", sizeof(Record)) != 0) Py_CLEAR(module);
  return module;
}
