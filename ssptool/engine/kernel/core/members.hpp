// Instances of a kernel, groups of them, and access to their variables.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "floating_point.hpp"
#include "instance.hpp"
#include "time_tables.hpp"
#include "wires.hpp"

namespace ssptool {

// Inputs of instances that time tables do not drive: those of type Float64, and those that are constant over each step.
struct InputSlots {
  std::vector<Small> floats, typed;
};

// Substeps of an instance in each step: see Substeps of calls.py.
struct Substeps {
  std::int64_t count = 1;
  bool follows = false;
  std::vector<Slot> moving{};
};

struct Member {
  InstancePointer instance;
  Variables inputs, outputs;
  Variables observed;     // got only for rows of the trace
  bool refreshed = true;  // inputs are set before that
  StepReport* report = nullptr;
  bool apart = false;  // stepped by the calling thread
  InputSlots input_slots{};
  bool driven = false;  // some of its inputs are
  bool still = false;   // some of its inputs of type Float64 are
  Substeps substeps{};
};

// A running FMU as the kernel uses it; see InstanceTable of calls.py.
struct InstanceTable {
  int fmi_major;
  FunctionTable functions;
  fmi::Component component;
  Variables inputs{}, outputs{}, observed{};
  std::vector<Type> exchanged_at_events{};  // types of variables that are set and got at events only
  bool refreshed = true, apart = false;
  Environment* environment = nullptr;
  StepReport* report = nullptr;
  Substeps substeps{};
};

class Members {
 public:
  explicit Members(const SlotValues& slot_values) : slot_values_(slot_values), owned_(slot_values.size()) {}

  // Throws if a function is missing.
  Member member_of(InstanceTable);
  Index add(Member);
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }
  [[nodiscard]] Member& operator[](Index index) noexcept { return all_[index]; }
  [[nodiscard]] const Member& operator[](Index index) const noexcept { return all_[index]; }
  [[nodiscard]] Instance& instance(Index index) const noexcept { return *instances_[index]; }
  [[nodiscard]] const std::vector<Instance*>& instances() const noexcept { return instances_; }

  // Whether the source of an input is constant over each step.
  [[nodiscard]] bool still(Slot slot) const { return slot_values_.still[slot]; }
  // By slot: whether it belongs to an instance.
  [[nodiscard]] const std::vector<bool>& owned() const noexcept { return owned_; }
  // Of instances in event mode.
  [[nodiscard]] const std::vector<StepReport*>& reports() const noexcept { return reports_; }
  // For this instance; null if it has none.
  [[nodiscard]] Following* following(Index index) const noexcept {
    return index < instances_.size() ? &instances_[index]->following() : nullptr;
  }

  // Must be called after calls of an instance: restores the floating-point environment if the FMU has changed it.
  void leave_mode(Index index) const noexcept {
    if (floating_point_mode() != mode_) [[unlikely]]
      changes_[index] |= restore_floating_point(mode_);
  }
  // Changes of it by the FMU of an instance so far.
  [[nodiscard]] std::uint8_t changes(Index index) const noexcept { return changes_[index]; }

  Environment* make_environment();
  // The environment at this address; throws if it does not belong to this kernel.
  [[nodiscard]] Environment* environment(void* address) const;

 private:
  const SlotValues& slot_values_;
  Memory memory_;  // must be destroyed after its content
  std::vector<Member> all_;
  std::vector<Instance*> instances_;  // those of the members
  std::vector<bool> owned_;
  const std::uint64_t mode_ = floating_point_mode();  // before FMUs are loaded
  mutable std::vector<std::uint8_t> changes_;         // by instance
  std::vector<StepReport*> reports_;
  std::vector<std::unique_ptr<Environment>> environments_;
};

struct Group {
  std::vector<Small> instances;
  std::vector<Small> shared;  // places in `instances` of those that any thread may step
  Wires::Set wires;
  InputSlots inputs;
  std::vector<Failure> failures;  // of a step in parallel, by place
  double seconds = 0.0;           // shortest measured time of the shared ones in sequence
  int measured = 0;
};

class Groups {
 public:
  Groups(Members& members, Wires& wires, const DrivenInputs& driven)
      : members_(members), wires_(wires), driven_(driven) {}

  Index add(const std::vector<Index>& instances);
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }
  [[nodiscard]] Group& operator[](Index index) noexcept { return all_[index]; }
  // Throws if there is no such group.
  [[nodiscard]] Group& at(Index index);

 private:
  void find_inputs(Member&) const;

  Members& members_;
  Wires& wires_;
  const DrivenInputs& driven_;
  std::vector<Group> all_;
};

// Variables of an instance that are set or got together.
struct Transfer {
  Index instance;
  std::vector<Slot> slots;
  std::vector<fmi::Reference> references;  // of an array one
  Window values;

  // Whether all are scalars in consecutive slots.
  [[nodiscard]] bool plain() const noexcept {
    return !values.scattered() && references.size() == slots.size() && slots.size() <= UINT16_MAX;
  }
};

// Data with which every step sets the inputs of an instance and gets its outputs: small, and in the order of use. They
// are sufficient for scalars of type Float64 in consecutive slots. If there are other variables, `special` is set, and
// a Transfer contains what has to be done. If all were special, a macro step of 10 to 2000 tiny FMUs in a chain would
// take 2.6 to 5.2 times as long (benchmarks/chain.py), one of the oscillator 1.1 times (benchmarks/bench.py).
struct QuickAccess {
  RealAccess reals;
  Small inputs = 0, input_references = 0;    // the first slot, and the place among the references of all
  Small outputs = 0, output_references = 0;  // likewise
  std::uint16_t input_count = 0, output_count = 0;
  bool special = false;
  bool saved : 1 = false;  // a state is saved
  bool fresh : 1 = false;  // no step has been done since then
  bool on_lines = false;   // the fast path extrapolates inputs; false: they are held
  bool told = false;       // rates were set that may not be zero

  // The status; ok if there is nothing to set. `all_references` and `values` are those of all slots.
  [[nodiscard]] int set(const fmi::Reference* all_references, const double* values) const noexcept {
    if (input_count == 0) return 0;
    return reals.set({all_references + input_references, input_count}, {values + inputs, input_count});
  }
  [[nodiscard]] int get(const fmi::Reference* all_references, double* values) const noexcept {
    if (output_count == 0) return 0;
    return reals.get({all_references + output_references, output_count}, {values + outputs, output_count});
  }
  [[nodiscard]] bool got_finite(const double* values) const noexcept {
    const double *value = values + outputs, *const end = value + output_count;
    while (value != end && std::isfinite(*value)) ++value;
    return value == end;
  }
};

// Variables of an instance that are got for a row.
struct Observed {
  Transfer inputs, floats;
  std::vector<Typed> typed_inputs, typed;
};

// Operations return whether they were successful; if not, `outcome` describes the failure.
class Access {
 public:
  Access(SlotValues& slot_values, Members& members) : slot_values_(slot_values), members_(members) {}

  // Of the last operation that failed, in any part of the kernel.
  Outcome outcome;
  [[nodiscard]] Outcome result(bool ok) const noexcept { return ok ? Outcome{} : outcome; }

  [[nodiscard]] Transfer transfer(Index instance, const Variables& floats);
  // `typed`: there are also variables of other types.
  [[nodiscard]] QuickAccess quick(const Transfer& inputs, const Transfer& outputs, bool typed);
  // The references of all quick accesses.
  [[nodiscard]] const fmi::Reference* references() const noexcept { return references_.data(); }

  bool set(Transfer&) noexcept;
  bool get(Transfer&) noexcept;
  // From `values`, which contains all slots.
  bool set_typed(Index instance, std::vector<Typed>&, const std::vector<double>& values) noexcept;
  bool get_typed(Index instance, std::vector<Typed>&) noexcept;
  // Gets values, finite or not, with the present inputs.
  bool observe(Observed&) noexcept;

  // Marked cold, so that callers are small enough to be inlined. They return false.
  [[gnu::cold]] bool failed(Index instance, const Failure&) noexcept;
  [[gnu::cold]] bool not_set(Index instance, int status) noexcept;
  [[gnu::cold]] bool not_got(Index instance, int status) noexcept;
  [[gnu::cold]] bool nonfinite(const QuickAccess&, Index instance) noexcept;

 private:
  [[gnu::cold]] bool nonfinite(Index instance, const char* function, Slot) noexcept;
  [[gnu::cold]] bool out_of_range(Index instance, const char* function, Slot) noexcept;
  bool fetch(Transfer&) noexcept;
  Small place_of(const std::vector<fmi::Reference>&);

  SlotValues& slot_values_;
  Members& members_;
  std::vector<fmi::Reference> references_;
  std::map<std::vector<fmi::Reference>, Small> known_references_;  // their places in references_
};

}  // namespace ssptool
