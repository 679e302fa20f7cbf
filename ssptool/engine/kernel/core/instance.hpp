// A running FMU, with the same operations for all versions of FMI.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <memory_resource>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "fmi.hpp"
#include "variables.hpp"

namespace ssptool {

using References = std::span<const fmi::Reference>;

// The function that returned a status worse than a warning; none if the call was successful.
struct Failure {
  const char* function = nullptr;
  int status = 0;
  explicit operator bool() const noexcept { return function != nullptr; }
};

inline Failure checked(const char* function, int status) noexcept {
  return status > fmi::warning ? Failure{function, status} : Failure{};
}

// The inputs of an instance over a step: value, first and second derivative at the start.
struct Motion {
  const double *value = nullptr, *first = nullptr, *second = nullptr;  // arrays of `count` numbers
  std::size_t count = 0;

  [[nodiscard]] std::span<const double> values() const noexcept { return {value, count}; }

  // The order of the highest derivative that is not zero.
  [[nodiscard]] int order() const noexcept {
    int order = 0;
    for (std::size_t i = 0; i < count; ++i) {
      if (second[i] != 0.0) return 2;
      if (first[i] != 0.0) order = 1;
    }
    return order;
  }

  // Input i, s seconds after the start of the step.
  [[nodiscard]] double at(std::size_t i, double s) const noexcept {
    return value[i] + s * (first[i] + (0.5 * s) * second[i]);
  }
};

// How far an FMU supports input derivatives over a step. It may refuse them at any time, which does not cost a step:
// from then on, inputs are polynomials of a lower order, or are held at their value in the middle of the step.
struct Following {
  int order = 2;                   // the highest order that was not refused
  double since = 0.0;              // start of the step of the last refusal [s]
  const char* function = nullptr;  // the function that refused; null if none has
  int status = 0;

  // Whether the FMU can continue after it has refused polynomials of this order.
  bool refused(int refused_order, double t, const char* by, int returned) noexcept {
    if (returned > fmi::error) return false;
    order = refused_order - 1;
    since = t;
    function = by;
    status = returned;
    return true;
  }
};

// What an instance knows in addition to the state of its FMU.
struct InstanceMemory {
  Following following;
  int told_order = 0;  // the highest input derivative that may still be set in the FMU
  double ends_from =
      std::numeric_limits<double>::infinity();  // the FMU has requested the end of the simulation before these times
};

// Inputs for an instance that does not support the requested order.
class LimitedMotion {
 public:
  explicit LimitedMotion(std::size_t count) : value_(count), first_(count), second_(count) {}

  // A line through both ends of a parabola; a constant through the middle.
  Motion of_order(int order, const Motion& motion, double h) noexcept {
    if (order >= 2 || motion.order() <= order) return motion;
    for (std::size_t i = 0; i < motion.count; ++i) {
      value_[i] = order == 0 ? motion.at(i, 0.5 * h) : motion.value[i];
      first_[i] = order == 0 ? 0.0 : motion.first[i] + (0.5 * h) * motion.second[i];
    }
    return {value_.data(), first_.data(), second_.data(), motion.count};
  }

 private:
  std::vector<double> value_, first_, second_;
};

// Sets and gets variables of type Float64. Because every macro step does this many times, it calls the function of the
// FMU directly, after a choice of the version only, and returns the plain status.
class RealAccess {
 public:
  RealAccess(fmi::Component component, fmi::v2::SetReal* set, fmi::v2::GetReal* get) noexcept
      : component_(component),
        set_(reinterpret_cast<Function*>(set)),
        get_(reinterpret_cast<Function*>(get)),
        sized_(false) {}
  RealAccess(fmi::Component component, fmi::v3::SetFloat64* set, fmi::v3::GetFloat64* get) noexcept
      : component_(component),
        set_(reinterpret_cast<Function*>(set)),
        get_(reinterpret_cast<Function*>(get)),
        sized_(true) {}

  // The numbers of references and values are equal, except for arrays, which FMI 1.0 and 2.0 do not have.
  [[nodiscard]] int set(References references, std::span<const double> values) const noexcept {
    const fmi::Reference* const first = references.data();
    const std::size_t n = references.size();
    if (sized_) [[unlikely]]
      return reinterpret_cast<fmi::v3::SetFloat64*>(set_)(component_, first, n, values.data(), values.size());
    return reinterpret_cast<fmi::v2::SetReal*>(set_)(component_, first, n, values.data());
  }
  [[nodiscard]] int get(References references, std::span<double> values) const noexcept {
    const fmi::Reference* const first = references.data();
    const std::size_t n = references.size();
    if (sized_) [[unlikely]]
      return reinterpret_cast<fmi::v3::GetFloat64*>(get_)(component_, first, n, values.data(), values.size());
    return reinterpret_cast<fmi::v2::GetReal*>(get_)(component_, first, n, values.data());
  }
  [[nodiscard]] fmi::Component component() const noexcept { return component_; }

 private:
  using Function = void();  // of any type; cast before the call

  fmi::Component component_;
  Function *set_, *get_;
  bool sized_;  // whether it gets the number of values (FMI 3.0)
};

inline constexpr std::size_t cache_line = 64;

// A step accesses all instances of a system. Their total memory may exceed the caches and the number of pages whose
// addresses the processor keeps. Therefore frequently used data come first, rarely used data are behind pointers, and
// all instances are in one block of memory.
class alignas(cache_line) Instance {
 public:
  explicit Instance(const RealAccess& access) noexcept : reals(access) {}
  Instance(const Instance&) = delete;
  Instance& operator=(const Instance&) = delete;
  virtual ~Instance() = default;

  const RealAccess reals;
  // The name of its function, for failures.
  [[nodiscard]] virtual const char* set_function() const noexcept = 0;
  [[nodiscard]] virtual const char* get_function() const noexcept = 0;

  // For variables of other types than Float64; a failure contains the name of the function.
  virtual Failure set(Typed&) noexcept = 0;
  virtual Failure get(Typed&) noexcept = 0;
  [[nodiscard]] virtual const char* set_function(Type) const noexcept = 0;
  [[nodiscard]] virtual const char* get_function(Type) const noexcept = 0;

  // Sets the inputs over the step, and does the step.
  virtual Failure step(double t, double h, const Motion&) noexcept = 0;
  // The same in parts, if this is sufficient: after inputs were set, and first derivatives where necessary (the highest
  // ones that were set before, too), this function does the step; null if more is needed.
  [[nodiscard]] virtual fmi::v2::DoStep* plain_step() const noexcept { return nullptr; }
  virtual Failure tell([[maybe_unused]] double t, [[maybe_unused]] const double* first,
                       [[maybe_unused]] bool moving) noexcept {
    return {};
  }
  [[nodiscard]] virtual Following& following() noexcept = 0;
  virtual Failure directional(References unknowns, References knowns, std::span<const double> seed,
                              std::span<double> sensitivity) noexcept = 0;

  [[nodiscard]] virtual bool has_saved_state() const noexcept = 0;
  virtual Failure save() noexcept = 0;
  virtual Failure restore() noexcept = 0;
  // After a discarded step: whether a smaller step may be tried from its start t [s]. The FMU is there, or its saved
  // state leads there (`saved`).
  [[nodiscard]] virtual bool may_be_divided([[maybe_unused]] double t, [[maybe_unused]] bool saved) noexcept {
    return false;
  }
  virtual void release() noexcept = 0;

  // For continuing from a state of the FMU that the caller saves and restores; the caller must announce this before.
  [[nodiscard]] virtual InstanceMemory memory() noexcept { return {following()}; }
  // The time at which the FMU has requested the end of the simulation in the last step [s] (FMI 3.0 only); nan if it
  // has not.
  [[nodiscard]] virtual double ended() const noexcept { return std::numeric_limits<double>::quiet_NaN(); }
  virtual void go_on(const InstanceMemory& memory) noexcept { following() = memory.following; }
};

// Memory that is freed as a whole, after the instances in it.
using Memory = std::pmr::monotonic_buffer_resource;

struct Destroy {
  void operator()(Instance* instance) const noexcept { instance->~Instance(); }
};
using InstancePointer = std::unique_ptr<Instance, Destroy>;

template <class Kind, class... Arguments>
InstancePointer make_in(Memory& memory, Arguments&&... arguments) {
  return InstancePointer(::new (memory.allocate(sizeof(Kind), alignof(Kind)))
                             Kind(std::forward<Arguments>(arguments)...));
}

// Addresses in a loaded library by the names of the functions; `otherwise` replaces functions that do not exist.
class FunctionTable {
 public:
  explicit FunctionTable(std::map<std::string, void*> addresses, void* otherwise = nullptr)
      : addresses_(std::move(addresses)), otherwise_(otherwise) {}

  template <class Function>
  Function* find(const char* name) const {
    const auto entry = addresses_.find(name);
    void* const address = entry == addresses_.end() || entry->second == nullptr ? otherwise_ : entry->second;
    if (address == nullptr) throw std::invalid_argument(std::string("the function table has no ") + name);
    return reinterpret_cast<Function*>(address);
  }

  // Null if the function does not exist, even if there is a replacement.
  template <class Function>
  Function* find_if_there(const char* name) const {
    const auto entry = addresses_.find(name);
    return entry == addresses_.end() ? nullptr : reinterpret_cast<Function*>(entry->second);
  }

  // A copy in which these functions are replaced.
  [[nodiscard]] FunctionTable with(const std::map<std::string, void*>& others) const {
    FunctionTable changed = *this;
    for (const auto& [name, address] : others) changed.addresses_[name] = address;
    return changed;
  }

 private:
  std::map<std::string, void*> addresses_;
  void* otherwise_;
};

// The functions of one version of FMI that set and get variables, by type; null for types that no variable has.
// `Arguments` follow the instance; values have the machine type, so that the functions take an address.
template <int fmi_major, class... Arguments>
class TypedAccess {
 public:
  using Set = int(fmi::Component, const fmi::Reference*, std::size_t, const void*, Arguments...);
  using Get = int(fmi::Component, const fmi::Reference*, std::size_t, void*, Arguments...);

  TypedAccess(const FunctionTable& functions, std::span<const Type> types) {
    if (!types.empty()) entries_.resize(index(Type::string) + 1);
    for (const Type type : types) {
      if (type == Type::binary) continue;
      const AccessNames names = access_names(type, fmi_major);
      entries_[index(type)] = {names, functions.find<Set>(names.set), functions.find<Get>(names.get)};
    }
  }

  Failure set(fmi::Component component, const Typed& typed, Arguments... more) const noexcept {
    const Entry& entry = entries_[index(typed.type)];
    return checked(entry.names.set, entry.set(component, typed.references.data(), typed.references.size(),
                                              typed.memory.data(), more...));
  }

  Failure get(fmi::Component component, Typed& typed, Arguments... more) const noexcept {
    const Entry& entry = entries_[index(typed.type)];
    return checked(entry.names.get, entry.get(component, typed.references.data(), typed.references.size(),
                                              typed.memory.data(), more...));
  }

 private:
  struct Entry {
    AccessNames names{};
    Set* set = nullptr;
    Get* get = nullptr;
  };
  static constexpr std::size_t index(Type type) noexcept { return static_cast<std::size_t>(type); }

  std::vector<Entry> entries_;  // empty if there are no types; binary variables have other functions
};

// The value of noSetFMUStatePriorToCurrentPoint, also where an FMU is set back to an earlier state later. It only
// allows the FMU to flush buffers of results. Most other programs always pass true, and with false FMUs of fmiCpp start
// each step from the same state.
constexpr bool no_set_state = true;

// The saved state of an instance: FMI returns an address, and reuses it for the next state. The destructor does not
// free it, because the instance may not exist any more.
class SavedState {
 public:
  using Take = int(fmi::Component, fmi::State*);
  using Put = int(fmi::Component, fmi::State);

  SavedState(fmi::Component component, Take* take, Put* put, Take* free) noexcept
      : component_(component), take_(take), put_(put), free_(free) {}

  explicit operator bool() const noexcept { return state_ != nullptr; }
  int save() noexcept { return take_(component_, &state_); }
  int restore() noexcept { return put_(component_, state_); }
  void release() noexcept {
    if (state_ != nullptr) free_(component_, &state_);
    state_ = nullptr;
  }

 private:
  fmi::State state_ = nullptr;
  fmi::Component component_;
  Take* take_;
  Put* put_;
  Take* free_;
};

// Environment that an FMI 3.0 FMU passes to the callback when it requests inputs inside a step.
class IntermediateTarget {
 public:
  virtual void intermediate_update(double time) noexcept = 0;

 protected:
  ~IntermediateTarget() = default;
};

struct Environment {
  IntermediateTarget* target = nullptr;
};

// The fmi3IntermediateUpdateCallback for all environments.
extern "C" void ssptool_intermediate_update(void* environment, double time, bool set_requested, bool get_allowed,
                                            bool step_finished, bool can_return_early, bool* early_return_requested,
                                            double* early_return_time);

// Results of a step of an FMU in event mode in addition to its status, for the caller, and settings for the step.
struct StepReport {
  double event;    // not 0: an event must be handled at the end of the step
  double reached;  // where that is [s]
  double waits;    // not 0: the instance is already at the end of the step, and does nothing
  double returns;  // not 0: the FMU may return early
  double resumed;  // steps that it has ended early although it may not, and completed alone

  void reset() noexcept {
    event = waits = 0.0;
    reached = std::numeric_limits<double>::quiet_NaN();
  }
};

// `inputs` are those of type Float64, with `values` in total; `types` are those of all other variables. Without a
// report, a step must be complete and must not need an event.
InstancePointer make_fmi1(Memory&, const FunctionTable&, fmi::Component, References inputs,
                          std::span<const Type> types);
InstancePointer make_fmi2(Memory&, const FunctionTable&, fmi::Component, References inputs,
                          std::span<const Type> types);
InstancePointer make_fmi3(Memory&, const FunctionTable&, fmi::Component, References inputs, std::size_t values,
                          std::span<const Type> types, Environment*, StepReport*);

}  // namespace ssptool
