// Variables of instances that are set and got in every step, and what goes wrong there.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <vector>

#include "members.hpp"

namespace ssptool {

// Variables of an instance that are set or got together.
struct Transfer {
  Index instance;
  std::vector<Slot> slots;
  std::vector<fmi::Reference> references;  // of an array one
  Window values;

  // Scalars whose slots are consecutive.
  [[nodiscard]] bool plain() const noexcept {
    return !values.scattered() && references.size() == slots.size() && slots.size() <= UINT16_MAX;
  }
};

// What is in every step, to set inputs of an instance and get outputs: small, and in the order in which it is needed.
// Plain are scalars of type Float64 in consecutive slots; where that is not all there is, `special` is set, and what
// is to be done is in a Transfer. If all were special, a macro step of 10 to 2000 tiny FMUs in a chain would take 2.6
// to 5.2 times as long (benchmarks/chain.py), one of the oscillator 1.1 times (benchmarks/bench.py).
struct QuickAccess {
  RealAccess reals;
  Small inputs = 0, input_references = 0;    // the first slot, and the place among the references of all
  Small outputs = 0, output_references = 0;  // likewise
  std::uint16_t input_count = 0, output_count = 0;
  bool special = false;
  bool saved = false;     // a state, to which it may be set back
  bool on_lines = false;  // inputs, on the fast path; else they are held
  bool told = false;      // rates that are not zero, it may be

  // The status, of nothing as well. `all_references` and `values` are those of all slots.
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

// What is got of an instance for a row.
struct Observed {
  Transfer inputs, floats;
  std::vector<Typed> typed_inputs, typed;
};

// Whether all went well is what the operations return; if not, `outcome` says what happened.
class Access {
 public:
  Access(SlotValues& slot_values, Members& members) : slot_values_(slot_values), members_(members) {}

  // Of the last operation that failed, whichever part of the kernel it was of.
  Outcome outcome;
  [[nodiscard]] Outcome result(bool ok) const noexcept { return ok ? Outcome{} : outcome; }

  [[nodiscard]] Transfer transfer(Index instance, const Variables& floats);
  // `typed`: there are variables of other types as well.
  [[nodiscard]] QuickAccess quick(const Transfer& inputs, const Transfer& outputs, bool typed);
  // Of all that is quick.
  [[nodiscard]] const fmi::Reference* references() const noexcept { return references_.data(); }

  bool set(Transfer&) noexcept;
  bool get(Transfer&) noexcept;
  // From `values`, which are those of all slots.
  bool set_typed(Index instance, std::vector<Typed>&, const std::vector<double>& values) noexcept;
  bool get_typed(Index instance, std::vector<Typed>&) noexcept;
  // Finite or not, with its inputs as they are now.
  bool observe(Observed&) noexcept;

  // Cold, so that what leads there stays small enough to be inlined. They return false.
  [[gnu::cold]] bool failed(Index instance, const Failure&) noexcept;
  [[gnu::cold]] bool not_set(Index instance, int status) noexcept;
  [[gnu::cold]] bool not_got(Index instance, int status) noexcept;
  [[gnu::cold]] bool nonfinite(const QuickAccess&, Index instance) noexcept;

 private:
  [[gnu::cold]] bool nonfinite(Index instance, const char* function, Slot) noexcept;
  bool fetch(Transfer&) noexcept;
  Small place_of(const std::vector<fmi::Reference>&);

  SlotValues& slot_values_;
  Members& members_;
  std::vector<fmi::Reference> references_;
  std::map<std::vector<fmi::Reference>, Small> known_references_;  // their places in references_
};

}  // namespace ssptool
