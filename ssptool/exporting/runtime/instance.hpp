// An instance of an exported system for all versions of FMI: its log, its state and its values.
#pragma once

#include <exception>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "../../engine/system/system.hpp"

#ifdef _WIN32
#define SSPTOOL_EXPORT extern "C" __declspec(dllexport)
#else
#define SSPTOOL_EXPORT extern "C" __attribute__((visibility("default")))
#endif

namespace ssptool::runtime {

// The states of co-simulation and model exchange (FMI 2.0.4, 3.2.3 and 4.2.4; FMI 3.0, 2.3, 3.2 and 4.2), as bits.
// `failed`: after an error; `dead`: after status fatal; `stepping`: step mode of FMI 3.0; `continuous`: continuous-time
// mode.
enum State : unsigned {
  instantiated = 1,
  initialization = 2,
  stepping = 4,
  terminated = 8,
  failed = 16,
  dead = 32,
  event_mode = 64,
  continuous = 128
};

constexpr unsigned exchanging = event_mode | continuous;
constexpr unsigned running = initialization | stepping | exchanging;
constexpr unsigned readable = running | terminated | failed;
constexpr unsigned readable_in_fmi3 = instantiated | readable;
constexpr unsigned settable = instantiated | running;
constexpr unsigned alive = instantiated | readable;

// The log of an importer; information is passed on only if the importer has requested it.
class Importer : public Log {
 public:
  explicit Importer(bool logging) : logging(logging) {}
  Importer(const Importer&) = delete;
  Importer& operator=(const Importer&) = delete;
  virtual ~Importer() = default;

  void write(Status status, const char* category, const std::string& message) noexcept final {
    if (logging || status != Status::ok) send(status, category, message);
  }

  bool logging;

 private:
  virtual void send(Status, const char* category, const std::string& message) noexcept = 0;
};

// The saved state of an instance: its state in FMI, and the state of the system.
struct InstanceState {
  State state;
  std::unique_ptr<SystemState> system;
  std::string bytes;  // empty until they are requested
};

struct Instance {
  Instance(std::shared_ptr<Importer> log, const std::string& resources, Kind of, EventUse use)
      : importer(std::move(log)), kind(of), system(resources, *importer, importer->logging, of, use) {}

  const std::shared_ptr<Importer> importer;  // must outlive the system, which logs to it
  const Kind kind;
  System system;
  State state = instantiated;
  std::vector<std::string> texts;     // of the last function that got texts
  std::vector<std::string> binaries;  // of the last function that got binaries
  std::vector<Value> values;          // of one variable, for conversion

  void release(InstanceState*) noexcept;
  const std::string& bytes(InstanceState&);
};

// Creates an instance for an importer; null after a message. The names of token and function differ between versions.
struct Instantiation {
  const char* function;
  const char* word_for_token;
  Kind kind = Kind::co_simulation;
  EventUse use = {};
};
void* instantiate(const Instantiation&, const std::shared_ptr<Importer>&, const char* token,
                  const std::string& resources) noexcept;
void free_instance(void* component) noexcept;

// Logs the message, and changes to the corresponding state. Returns the status with the number of FMI.
int refuse(Instance&, Status, const std::string& message) noexcept;

// An importer that integrates can avoid points at which the system cannot be evaluated.
Status status_of(Kind, const IntegrationStopped&) noexcept;

// Calls `act` if FMI allows the function in the present state; no exception leaves a function of FMI.
int guarded(void* component, unsigned states, const char* function, const void* act,
            void (*call)(const void* act, Instance&)) noexcept;

// Only the call is a template, so that the rest is compiled once.
template <class Act>
int guarded(void* component, unsigned states, const char* function, const Act& act) noexcept {
  return guarded(component, states, function, &act,
                 [](const void* it, Instance& instance) { (*static_cast<const Act*>(it))(instance); });
}

// Functions that are equal in all versions except for their names.
int set_logging(void* component, const char* function, bool on) noexcept;
int exit_initialization(void* component, const char* function) noexcept;
int do_step(void* component, const char* function, double t, double h, StepEnd* found = nullptr) noexcept;
int terminate(void* component, const char* function) noexcept;
int reset(void* component, const char* function) noexcept;
int not_supported(void* component, const char* function) noexcept;

// Replaces the saved state if there is one.
int save_state(void* component, const char* function, void** state) noexcept;
int restore_state(void* component, const char* function, void* state) noexcept;
int release_state(void* component, const char* function, void** state) noexcept;
int serialized_size(void* component, const char* function, void* state, std::size_t* size) noexcept;
int serialize(void* component, const char* function, void* state, char* bytes, std::size_t size) noexcept;
int deserialize(void* component, const char* function, const char* bytes, std::size_t size, void** state) noexcept;

using References = std::span<const fmi::Reference>;

int directional(void* component, const char* function, References unknowns, References knowns,
                std::span<const double> seed, std::span<double> sensitivity) noexcept;
int adjoint(void* component, const char* function, References unknowns, References knowns, std::span<const double> seed,
            std::span<double> sensitivity) noexcept;

// --- values ----------------------------------------------------------------------------------------------------------

// A function that gets or sets variables of a type in some states; `accepts` tells whether it also handles variables of
// another type.
struct Access {
  const char* function;
  const char* type;
  bool (*accepts)(const std::string& own, const char* type);
  unsigned states;
};

// Throws Refused if the number of values differs from the number of scalar variables and elements of arrays, or if
// variables have another type.
void check(const Instance&, const Access&, References, std::size_t size);

// Calls `take` with each value, in order.
template <class Take>
int get_values(void* component, const Access& access, References references, std::size_t size,
               const Take& take) noexcept {
  return guarded(component, access.states, access.function, [&](Instance& instance) {
    check(instance, access, references, size);
    std::size_t place = 0;
    for (const fmi::Reference reference : references) {
      instance.values.resize(instance.system.variable(reference).size);
      instance.system.get(reference, instance.values);
      for (Value& value : instance.values) take(instance, place++, std::move(value));
    }
  });
}

// Sets the value that `give` returns for each index.
template <class Give>
int set_values(void* component, const Access& access, References references, std::size_t size,
               const Give& give) noexcept {
  return guarded(component, access.states, access.function, [&](Instance& instance) {
    check(instance, access, references, size);
    std::size_t place = 0;
    for (const fmi::Reference reference : references) {
      instance.values.resize(instance.system.variable(reference).size);
      for (Value& value : instance.values) value = give(place++);
      instance.system.set(reference, instance.values);
    }
  });
}

template <class T>
int get(void* component, const Access& access, References references, T* values, std::size_t size) noexcept {
  return get_values(component, access, references, size, [&](Instance&, std::size_t place, const Value& value) {
    if (const auto* real = std::get_if<double>(&value)) values[place] = static_cast<T>(*real);
    if (const auto* integer = std::get_if<std::int64_t>(&value)) values[place] = static_cast<T>(*integer);
  });
}

template <class T>
int set(void* component, const Access& access, References references, const T* values, std::size_t size) noexcept {
  using Wide = std::conditional_t<std::is_floating_point_v<T>, double, std::int64_t>;
  return set_values(component, access, references, size,
                    [&](std::size_t place) { return Value(static_cast<Wide>(values[place])); });
}

int get_texts(void* component, const Access&, References, const char** values, std::size_t size) noexcept;
int set_texts(void* component, const Access&, References, const char* const* values, std::size_t size) noexcept;

// Pointers to the bytes of each value, and their sizes.
int get_binaries(void* component, const Access&, References, std::size_t* sizes, const std::uint8_t** values,
                 std::size_t size) noexcept;
int set_binaries(void* component, const Access&, References, const std::size_t* sizes,
                 const std::uint8_t* const* values, std::size_t size) noexcept;

}  // namespace ssptool::runtime
