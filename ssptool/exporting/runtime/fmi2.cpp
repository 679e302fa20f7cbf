// The functions of FMI 2.0 that an importer calls.
#include <cmath>
#include <cstring>

#include "model_exchange.hpp"

namespace ssptool::runtime {

namespace {

struct Callbacks {
  void (*logger)(void* environment, const char* instance, int status, const char* category, const char* message, ...);
  void* (*allocate)(std::size_t, std::size_t);
  void (*release)(void*);
  void (*step_finished)(void*, int);
  void* environment;
};

// Escapes a message, because it is used as a format: loggers of some importers ignore arguments.
std::string format_of(const std::string& message) {
  std::string format;
  for (const char c : message) format.append(c == '%' ? 2 : 1, c);
  return format;
}

class Fmi2Importer final : public Importer {
 public:
  Fmi2Importer(const Callbacks& callbacks, const char* name, bool logging)
      : Importer(logging), callbacks_(callbacks), name_(name == nullptr ? "" : name) {}

 private:
  void send(Status status, const char* category, const std::string& message) noexcept override {
    callbacks_.logger(callbacks_.environment, name_.c_str(), static_cast<int>(status), category,
                      format_of(message).c_str());
  }

  const Callbacks callbacks_;
  const std::string name_;
};

// FMI 2.0 has four types for those of FMI 3.0 in the plan; enumerations are integers.
bool carries_in_fmi2(const std::string& own, const char* type) {
  if (std::strcmp(type, "Real") == 0) return own.rfind("Float", 0) == 0;
  if (std::strcmp(type, "Integer") == 0)
    return own.rfind("Int", 0) == 0 || own.rfind("UInt", 0) == 0 || own == "Enumeration";
  return own == type;
}

}  // namespace

SSPTOOL_EXPORT const char* fmi2GetTypesPlatform() { return "default"; }
SSPTOOL_EXPORT const char* fmi2GetVersion() { return "2.0"; }

SSPTOOL_EXPORT int fmi2SetDebugLogging(void* c, int on, std::size_t, const char* const*) {
  return set_logging(c, "fmi2SetDebugLogging", on != 0);
}

SSPTOOL_EXPORT void* fmi2Instantiate(const char* name, int kind, const char* token, const char* resources,
                                     const Callbacks* callbacks, int, int logging) {
  if (callbacks == nullptr || callbacks->logger == nullptr) return nullptr;
  const auto importer = std::make_shared<Fmi2Importer>(*callbacks, name, logging != 0);
  if (resources == nullptr) {
    importer->write(Status::error, "logStatusError", "fmi2Instantiate: the location of the resources is needed");
    return nullptr;
  }
  const Kind wanted = kind == 0 ? Kind::model_exchange : Kind::co_simulation;
  return instantiate({"fmi2Instantiate", "GUID", wanted}, importer, token, path_of(resources));
}

SSPTOOL_EXPORT void fmi2FreeInstance(void* c) { free_instance(c); }

SSPTOOL_EXPORT int fmi2SetupExperiment(void* c, int tolerance_defined, double tolerance, double start, int stop_defined,
                                       double stop) {
  return guarded(c, instantiated, "fmi2SetupExperiment", [&](Instance& instance) {
    Experiment experiment{start, {}, {}};
    if (stop_defined != 0) experiment.stop = stop;
    if (tolerance_defined != 0) experiment.tolerance = tolerance;
    instance.system.set_up(experiment);
  });
}

SSPTOOL_EXPORT int fmi2EnterInitializationMode(void* c) {
  return guarded(c, instantiated, "fmi2EnterInitializationMode", [](Instance& instance) {
    instance.system.enter_initialization();
    instance.state = initialization;
  });
}

SSPTOOL_EXPORT int fmi2ExitInitializationMode(void* c) { return exit_initialization(c, "fmi2ExitInitializationMode"); }
SSPTOOL_EXPORT int fmi2Terminate(void* c) { return terminate(c, "fmi2Terminate"); }
SSPTOOL_EXPORT int fmi2Reset(void* c) { return reset(c, "fmi2Reset"); }

// fmi2GetReal and similar functions; `in_c` is the type in FMI's headers.
#define SSPTOOL_ACCESS(type, in_c)                                                                                     \
  SSPTOOL_EXPORT int fmi2Get##type(void* c, const fmi::Reference* references, std::size_t count, in_c* values) {       \
    return get(c, {"fmi2Get" #type, #type, carries_in_fmi2, readable}, {references, count}, values, count);            \
  }                                                                                                                    \
  SSPTOOL_EXPORT int fmi2Set##type(void* c, const fmi::Reference* references, std::size_t count, const in_c* values) { \
    return set(c, {"fmi2Set" #type, #type, carries_in_fmi2, settable}, {references, count}, values, count);            \
  }

SSPTOOL_ACCESS(Real, double)
SSPTOOL_ACCESS(Integer, int)
SSPTOOL_ACCESS(Boolean, int)
#undef SSPTOOL_ACCESS

SSPTOOL_EXPORT int fmi2GetString(void* c, const fmi::Reference* references, std::size_t count, const char** values) {
  return get_texts(c, {"fmi2GetString", "String", carries_in_fmi2, readable}, {references, count}, values, count);
}
SSPTOOL_EXPORT int fmi2SetString(void* c, const fmi::Reference* references, std::size_t count,
                                 const char* const* values) {
  return set_texts(c, {"fmi2SetString", "String", carries_in_fmi2, settable}, {references, count}, values, count);
}

SSPTOOL_EXPORT int fmi2DoStep(void* c, double t, double h, int) { return do_step(c, "fmi2DoStep", t, h); }

SSPTOOL_EXPORT int fmi2CancelStep(void* c) { return not_supported(c, "fmi2CancelStep"); }

// Steps end before fmi2DoStep returns. Therefore only two things can be asked: the time reached by the last step, and
// whether a part has ended the simulation.
SSPTOOL_EXPORT int fmi2GetStatus(void*, int, int*) { return static_cast<int>(Status::discard); }
SSPTOOL_EXPORT int fmi2GetRealStatus(void* c, int kind, double* value) {
  constexpr int last_successful_time = 2;
  if (c == nullptr || kind != last_successful_time) return static_cast<int>(Status::discard);
  *value = static_cast<Instance*>(c)->system.time();
  return static_cast<int>(Status::ok);
}
SSPTOOL_EXPORT int fmi2GetIntegerStatus(void*, int, int*) { return static_cast<int>(Status::discard); }
SSPTOOL_EXPORT int fmi2GetBooleanStatus(void* c, int kind, int* value) {
  constexpr int is_terminated = 3;
  if (c == nullptr || kind != is_terminated) return static_cast<int>(Status::discard);
  *value = static_cast<Instance*>(c)->system.asks_to_end() ? 1 : 0;
  return static_cast<int>(Status::ok);
}
SSPTOOL_EXPORT int fmi2GetStringStatus(void*, int, const char**) { return static_cast<int>(Status::discard); }

SSPTOOL_EXPORT int fmi2SetRealInputDerivatives(void* c, const fmi::Reference* references, std::size_t count,
                                               const int* orders, const double* values) {
  return guarded(c, running, "fmi2SetRealInputDerivatives", [&](Instance& instance) {
    for (std::size_t i = 0; i < count; ++i) instance.system.set_rate(references[i], orders[i], values[i]);
  });
}
SSPTOOL_EXPORT int fmi2GetRealOutputDerivatives(void* c, const fmi::Reference*, std::size_t, const int*, double*) {
  return not_supported(c, "fmi2GetRealOutputDerivatives");
}

SSPTOOL_EXPORT int fmi2GetFMUstate(void* c, void** state) { return save_state(c, "fmi2GetFMUstate", state); }
SSPTOOL_EXPORT int fmi2SetFMUstate(void* c, void* state) { return restore_state(c, "fmi2SetFMUstate", state); }
SSPTOOL_EXPORT int fmi2FreeFMUstate(void* c, void** state) { return release_state(c, "fmi2FreeFMUstate", state); }
SSPTOOL_EXPORT int fmi2SerializedFMUstateSize(void* c, void* state, std::size_t* size) {
  return serialized_size(c, "fmi2SerializedFMUstateSize", state, size);
}
SSPTOOL_EXPORT int fmi2SerializeFMUstate(void* c, void* state, char* bytes, std::size_t size) {
  return serialize(c, "fmi2SerializeFMUstate", state, bytes, size);
}
SSPTOOL_EXPORT int fmi2DeSerializeFMUstate(void* c, const char* bytes, std::size_t size, void** state) {
  return deserialize(c, "fmi2DeSerializeFMUstate", bytes, size, state);
}
SSPTOOL_EXPORT int fmi2GetDirectionalDerivative(void* c, const fmi::Reference* unknowns, std::size_t unknown_count,
                                                const fmi::Reference* knowns, std::size_t known_count,
                                                const double* seed, double* sensitivity) {
  return directional(c, "fmi2GetDirectionalDerivative", {unknowns, unknown_count}, {knowns, known_count},
                     {seed, known_count}, {sensitivity, unknown_count});
}

// --- model exchange --------------------------------------------------------------------------------------------------

// As in FMI's headers.
struct EventInfo {
  int again, terminate, nominals_changed, states_changed, next_time_defined;
  double next_time;
};

SSPTOOL_EXPORT int fmi2EnterEventMode(void* c) { return enter_event_mode(c, "fmi2EnterEventMode"); }
SSPTOOL_EXPORT int fmi2NewDiscreteStates(void* c, EventInfo* info) {
  DiscreteUpdate found;
  const int status = update_discrete_states(c, "fmi2NewDiscreteStates", found);
  const bool defined = std::isfinite(found.next_time);
  if (info != nullptr)
    *info = {found.again,          found.terminate, found.nominals_changed,
             found.states_changed, defined,         defined ? found.next_time : 0.0};
  return status;
}
SSPTOOL_EXPORT int fmi2EnterContinuousTimeMode(void* c) {
  return leave_event_mode(c, "fmi2EnterContinuousTimeMode", Kind::model_exchange);
}
SSPTOOL_EXPORT int fmi2CompletedIntegratorStep(void* c, int, int* event, int* terminate) {
  CompletedStep found;
  const int status = complete_step(c, "fmi2CompletedIntegratorStep", found);
  if (event != nullptr) *event = found.event ? 1 : 0;
  if (terminate != nullptr) *terminate = found.terminate ? 1 : 0;
  return status;
}
SSPTOOL_EXPORT int fmi2SetTime(void* c, double t) { return set_time(c, "fmi2SetTime", t); }
SSPTOOL_EXPORT int fmi2SetContinuousStates(void* c, const double* states, std::size_t count) {
  return set_states(c, "fmi2SetContinuousStates", states, count);
}
SSPTOOL_EXPORT int fmi2GetContinuousStates(void* c, double* states, std::size_t count) {
  return get_states(c, "fmi2GetContinuousStates", states, count);
}
SSPTOOL_EXPORT int fmi2GetDerivatives(void* c, double* derivatives, std::size_t count) {
  return get_slopes(c, "fmi2GetDerivatives", derivatives, count);
}
SSPTOOL_EXPORT int fmi2GetEventIndicators(void* c, double* indicators, std::size_t count) {
  return get_indicators(c, "fmi2GetEventIndicators", indicators, count);
}
SSPTOOL_EXPORT int fmi2GetNominalsOfContinuousStates(void* c, double* nominals, std::size_t count) {
  return get_nominals(c, "fmi2GetNominalsOfContinuousStates", nominals, count);
}

}  // namespace ssptool::runtime
