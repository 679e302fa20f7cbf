// The functions of FMI 2.0 (co-simulation) that an importer calls.
#include <array>
#include <cstdarg>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <utility>

#include "system.hpp"

#ifdef _WIN32
#define SSPTOOL_EXPORT extern "C" __declspec(dllexport)
#else
#define SSPTOOL_EXPORT extern "C" __attribute__((visibility("default")))
#endif

namespace {

using ssptool::fmi::Reference;
using ssptool::runtime::Experiment;
using ssptool::runtime::Log;
using ssptool::runtime::Refused;
using ssptool::runtime::Status;
using ssptool::runtime::System;
using ssptool::runtime::SystemState;
using ssptool::runtime::SystemVariable;
using ssptool::runtime::Value;

struct Callbacks {
  void (*logger)(void* environment, const char* instance, int status, const char* category, const char* message, ...);
  void* (*allocate)(std::size_t, std::size_t);
  void (*release)(void*);
  void (*step_finished)(void*, int);
  void* environment;
};

// The states of co-simulation (FMI 2.0.4, 4.2.4), as bits; `failed` is after an error, `dead` after fatal.
enum State : unsigned { instantiated = 1, initialization = 2, stepping = 4, terminated = 8, failed = 16, dead = 32 };

// A message is a format, and not an argument of one: loggers of some importers take no arguments.
std::string format_of(const std::string& message) {
  std::string format;
  for (const char c : message) format.append(c == '%' ? 2 : 1, c);
  return format;
}

class Importer final : public Log {
 public:
  Importer(const Callbacks& callbacks, std::string name) : callbacks_(callbacks), name_(std::move(name)) {}

  void write(Status status, const char* category, const std::string& message) noexcept override {
    if (callbacks_.logger == nullptr || (!logging && status == Status::ok)) return;
    callbacks_.logger(callbacks_.environment, name_.c_str(), static_cast<int>(status), category,
                      format_of(message).c_str());
  }

  bool logging = false;

 private:
  const Callbacks callbacks_;
  const std::string name_;
};

// Of an instance: its own state in FMI, and that of the system.
struct InstanceState {
  State state;
  std::unique_ptr<SystemState> system;
  std::string bytes;  // once they were asked for
};

struct Instance {
  Instance(const Callbacks& callbacks, const char* name, const std::filesystem::path& resources, bool logging)
      : importer(callbacks, name), system(resources, importer, logging) {
    importer.logging = logging;
  }

  Importer importer;
  System system;
  State state = instantiated;
  std::vector<std::string> texts;  // of the last fmi2GetString

  void release(InstanceState* saved) noexcept {
    const std::unique_ptr<InstanceState> owned(saved);
    if (owned != nullptr) system.release(*owned->system);
  }
  // The last byte is the state in FMI.
  const std::string& bytes(InstanceState& saved) {
    if (saved.bytes.empty()) saved.bytes = system.serialized(*saved.system) + static_cast<char>(saved.state);
    return saved.bytes;
  }
};

constexpr const char* category_of(Status status) {
  switch (status) {
    case Status::warning: return "logStatusWarning";
    case Status::discard: return "logStatusDiscard";
    case Status::fatal: return "logStatusFatal";
    default: return "logStatusError";
  }
}

int refuse(Instance& instance, Status status, const std::string& message) noexcept {
  instance.importer.write(status, category_of(status), message);
  if (status == Status::error) instance.state = failed;
  if (status == Status::fatal) instance.state = dead;
  return static_cast<int>(status);
}

// Calls `act` in the states in which FMI allows it; nothing is thrown out of a function of FMI.
template <class Act>
int guarded(void* component, unsigned states, const char* function, const Act& act) noexcept {
  if (component == nullptr) return static_cast<int>(Status::error);
  Instance& instance = *static_cast<Instance*>(component);
  try {
    if ((instance.state & states) == 0)
      return refuse(instance, Status::error, std::string(function) + " is not allowed in this state");
    act(instance);
    return static_cast<int>(Status::ok);
  } catch (const Refused& refused) {
    return refuse(instance, refused.status, refused.what());
  } catch (const std::exception& error) {
    return refuse(instance, Status::error, std::string(function) + ": " + error.what());
  } catch (...) {
    return refuse(instance, Status::error, std::string(function) + " failed");
  }
}

std::string decoded(std::string uri) {
  for (const std::string scheme : {"file://localhost/", "file:///", "file:/"})
    if (uri.rfind(scheme, 0) == 0) {
#ifdef _WIN32
      uri = uri.substr(scheme.size());
#else
      uri = "/" + uri.substr(scheme.size());
#endif
      break;
    }
  std::string path;
  for (std::size_t i = 0; i < uri.size(); ++i) {
    if (uri[i] == '%' && i + 2 < uri.size()) {
      path += static_cast<char>(std::stoi(uri.substr(i + 1, 2), nullptr, 16));
      i += 2;
    } else {
      path += uri[i];
    }
  }
  return path;
}

constexpr unsigned running = initialization | stepping;
constexpr unsigned saved = instantiated | running | terminated | failed;
constexpr unsigned readable = running | terminated | failed;

// FMI 2.0 knows four types; enumerations are integers.
bool is_of(const SystemVariable& variable, const char* type) {
  const std::string& own = variable.type;
  if (std::strcmp(type, "Real") == 0) return own == "Real";
  if (std::strcmp(type, "Integer") == 0) return own == "Integer" || own == "Enumeration";
  return own == type;
}

void check_type(const Instance& instance, Reference reference, const char* type) {
  const SystemVariable& variable = instance.system.variable(reference);
  if (!is_of(variable, type))
    throw Refused(Status::error, variable.name + " is of type " + variable.type + ", not " + type);
}

template <class T>
int get(void* component, const char* function, const char* type, const Reference* references, std::size_t count,
        T* values) noexcept {
  return guarded(component, readable, function, [&](Instance& instance) {
    for (std::size_t i = 0; i < count; ++i) {
      check_type(instance, references[i], type);
      const Value value = instance.system.get(references[i]);
      if (const auto* number = std::get_if<double>(&value)) values[i] = static_cast<T>(*number);
      if (const auto* integer = std::get_if<std::int64_t>(&value)) values[i] = static_cast<T>(*integer);
    }
  });
}

template <class T, class Wide>
int set(void* component, const char* function, const char* type, const Reference* references, std::size_t count,
        const T* values) noexcept {
  return guarded(component, instantiated | running, function, [&](Instance& instance) {
    for (std::size_t i = 0; i < count; ++i) {
      check_type(instance, references[i], type);
      instance.system.set(references[i], static_cast<Wide>(values[i]));
    }
  });
}

int not_supported(void* component, const char* function) noexcept {
  return guarded(component, ~0U, function, [&](Instance&) {
    throw Refused(Status::error, std::string(function) + " is not supported: the model description says so");
  });
}

}  // namespace

SSPTOOL_EXPORT const char* fmi2GetTypesPlatform() { return "default"; }
SSPTOOL_EXPORT const char* fmi2GetVersion() { return "2.0"; }

SSPTOOL_EXPORT int fmi2SetDebugLogging(void* c, int on, std::size_t, const char* const*) {
  return guarded(c, ~0U, "fmi2SetDebugLogging", [&](Instance& instance) {
    instance.importer.logging = on != 0;
    instance.system.log_from_now_on(on != 0);
  });
}

SSPTOOL_EXPORT void* fmi2Instantiate(const char* name, int kind, const char* token, const char* resources,
                                     const Callbacks* callbacks, int, int logging) {
  if (callbacks == nullptr || callbacks->logger == nullptr) return nullptr;
  const char* const own = name == nullptr ? "" : name;
  const auto refused = [&](const char* why) -> void* {
    callbacks->logger(callbacks->environment, own, static_cast<int>(Status::error), "logStatusError",
                      format_of(why).c_str());
    return nullptr;
  };
  constexpr int co_simulation = 1;
  if (kind != co_simulation) return refused("fmi2Instantiate: this FMU offers co-simulation only");
  if (resources == nullptr) return refused("fmi2Instantiate: the location of the resources is needed");
  try {
    auto instance = std::make_unique<Instance>(*callbacks, own, decoded(resources), logging != 0);
    if (token == nullptr || instance->system.token() != token)
      return refused("fmi2Instantiate: the GUID is not that of this FMU");
    return instance.release();
  } catch (const std::exception& error) {
    return refused(error.what());
  }
}

SSPTOOL_EXPORT void fmi2FreeInstance(void* c) {
  auto* const instance = static_cast<Instance*>(c);
  if (instance != nullptr && instance->state != dead) delete instance;
}

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

SSPTOOL_EXPORT int fmi2ExitInitializationMode(void* c) {
  return guarded(c, initialization, "fmi2ExitInitializationMode", [](Instance& instance) {
    instance.system.exit_initialization();
    instance.state = stepping;
  });
}

SSPTOOL_EXPORT int fmi2Terminate(void* c) {
  return guarded(c, stepping, "fmi2Terminate", [](Instance& instance) {
    instance.state = terminated;
    instance.system.terminate();
  });
}

SSPTOOL_EXPORT int fmi2Reset(void* c) {
  return guarded(c, ~static_cast<unsigned>(dead), "fmi2Reset", [](Instance& instance) {
    instance.system.reset();
    instance.state = instantiated;
  });
}

SSPTOOL_EXPORT int fmi2GetReal(void* c, const Reference* references, std::size_t count, double* values) {
  return get(c, "fmi2GetReal", "Real", references, count, values);
}
SSPTOOL_EXPORT int fmi2GetInteger(void* c, const Reference* references, std::size_t count, int* values) {
  return get(c, "fmi2GetInteger", "Integer", references, count, values);
}
SSPTOOL_EXPORT int fmi2GetBoolean(void* c, const Reference* references, std::size_t count, int* values) {
  return get(c, "fmi2GetBoolean", "Boolean", references, count, values);
}
SSPTOOL_EXPORT int fmi2GetString(void* c, const Reference* references, std::size_t count, const char** values) {
  return guarded(c, readable, "fmi2GetString", [&](Instance& instance) {
    instance.texts.clear();
    for (std::size_t i = 0; i < count; ++i) {
      check_type(instance, references[i], "String");
      instance.texts.push_back(std::get<std::string>(instance.system.get(references[i])));
    }
    for (std::size_t i = 0; i < count; ++i) values[i] = instance.texts[i].c_str();
  });
}

SSPTOOL_EXPORT int fmi2SetReal(void* c, const Reference* references, std::size_t count, const double* values) {
  return set<double, double>(c, "fmi2SetReal", "Real", references, count, values);
}
SSPTOOL_EXPORT int fmi2SetInteger(void* c, const Reference* references, std::size_t count, const int* values) {
  return set<int, std::int64_t>(c, "fmi2SetInteger", "Integer", references, count, values);
}
SSPTOOL_EXPORT int fmi2SetBoolean(void* c, const Reference* references, std::size_t count, const int* values) {
  return set<int, std::int64_t>(c, "fmi2SetBoolean", "Boolean", references, count, values);
}
SSPTOOL_EXPORT int fmi2SetString(void* c, const Reference* references, std::size_t count, const char* const* values) {
  return guarded(c, instantiated | running, "fmi2SetString", [&](Instance& instance) {
    for (std::size_t i = 0; i < count; ++i) {
      check_type(instance, references[i], "String");
      instance.system.set(references[i], std::string(values[i] == nullptr ? "" : values[i]));
    }
  });
}

SSPTOOL_EXPORT int fmi2DoStep(void* c, double t, double h, int) {
  return guarded(c, stepping, "fmi2DoStep", [&](Instance& instance) {
    System& system = instance.system;
    if (!(h > 0.0)) throw Refused(Status::error, "fmi2DoStep: the step size must be greater than 0");
    if (!system.is_at(t))
      throw Refused(Status::error, "fmi2DoStep: the communication point is " + std::to_string(t) +
                                       " s, but the system is at " + std::to_string(system.time()) + " s");
    system.step_to(t + h);
  });
}

SSPTOOL_EXPORT int fmi2CancelStep(void* c) { return not_supported(c, "fmi2CancelStep"); }

// Steps end before fmi2DoStep returns, so there is nothing to ask but how far the last one came.
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
  *value = 0;
  return static_cast<int>(Status::ok);
}
SSPTOOL_EXPORT int fmi2GetStringStatus(void*, int, const char**) { return static_cast<int>(Status::discard); }

SSPTOOL_EXPORT int fmi2SetRealInputDerivatives(void* c, const Reference*, std::size_t, const int*, const double*) {
  return not_supported(c, "fmi2SetRealInputDerivatives");
}
SSPTOOL_EXPORT int fmi2GetRealOutputDerivatives(void* c, const Reference*, std::size_t, const int*, double*) {
  return not_supported(c, "fmi2GetRealOutputDerivatives");
}
// A state that is there already is replaced.
SSPTOOL_EXPORT int fmi2GetFMUstate(void* c, void** state) {
  return guarded(c, saved, "fmi2GetFMUstate", [&](Instance& instance) {
    auto found = std::make_unique<InstanceState>(InstanceState{instance.state, instance.system.save(), {}});
    instance.release(static_cast<InstanceState*>(*state));
    *state = found.release();
  });
}
SSPTOOL_EXPORT int fmi2SetFMUstate(void* c, void* state) {
  return guarded(c, saved, "fmi2SetFMUstate", [&](Instance& instance) {
    const auto& wanted = *static_cast<InstanceState*>(state);
    instance.system.restore(*wanted.system);
    instance.state = wanted.state;
  });
}
SSPTOOL_EXPORT int fmi2FreeFMUstate(void* c, void** state) {
  return guarded(c, saved, "fmi2FreeFMUstate", [&](Instance& instance) {
    instance.release(static_cast<InstanceState*>(std::exchange(*state, nullptr)));
  });
}
SSPTOOL_EXPORT int fmi2SerializedFMUstateSize(void* c, void* state, std::size_t* size) {
  return guarded(c, saved, "fmi2SerializedFMUstateSize",
                 [&](Instance& instance) { *size = instance.bytes(*static_cast<InstanceState*>(state)).size(); });
}
SSPTOOL_EXPORT int fmi2SerializeFMUstate(void* c, void* state, char* bytes, std::size_t size) {
  return guarded(c, saved, "fmi2SerializeFMUstate", [&](Instance& instance) {
    const std::string& all = instance.bytes(*static_cast<InstanceState*>(state));
    if (size < all.size()) throw Refused(Status::error, "fmi2SerializeFMUstate: there is not room for all bytes");
    std::memcpy(bytes, all.data(), all.size());
  });
}
SSPTOOL_EXPORT int fmi2DeSerializeFMUstate(void* c, const char* bytes, std::size_t size, void** state) {
  return guarded(c, saved, "fmi2DeSerializeFMUstate", [&](Instance& instance) {
    if (size == 0) throw Refused(Status::error, "fmi2DeSerializeFMUstate: there are no bytes");
    const std::string all(bytes, size - 1);
    auto found = std::make_unique<InstanceState>(
        InstanceState{static_cast<State>(bytes[size - 1]), instance.system.deserialized(all), {}});
    instance.release(static_cast<InstanceState*>(*state));
    *state = found.release();
  });
}
SSPTOOL_EXPORT int fmi2GetDirectionalDerivative(void* c, const Reference* unknowns, std::size_t unknown_count,
                                                const Reference* knowns, std::size_t known_count, const double* seed,
                                                double* sensitivity) {
  return guarded(c, running, "fmi2GetDirectionalDerivative", [&](Instance& instance) {
    const std::vector<double> found =
        instance.system.directional({unknowns, unknown_count}, {knowns, known_count}, {seed, known_count});
    std::memcpy(sensitivity, found.data(), found.size() * sizeof(double));
  });
}
