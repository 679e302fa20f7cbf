// Variables of instances that are set and got in every step.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "calls.hpp"
#include "instance.hpp"
#include "window.hpp"

namespace ssptool {

// Indices as what is in every step has them: half the memory.
using Small = std::uint32_t;

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
// is to be done is in a Transfer.
struct QuickAccess {
  RealAccess reals;
  Small inputs = 0, input_references = 0;    // the first slot, and the place in references_
  Small outputs = 0, output_references = 0;  // likewise
  std::uint16_t input_count = 0, output_count = 0;
  bool special = false;
  bool saved = false;     // a state, to which it may be set back
  bool on_lines = false;  // inputs, in straight steps; else they are held
  bool told = false;      // rates that are not zero, it may be

  // The status, of nothing as well. `all_references` and `cells` are those of all slots.
  [[nodiscard]] int set(const fmi::Reference* all_references, const double* cells) const noexcept {
    if (input_count == 0) return 0;
    return reals.set({all_references + input_references, input_count}, {cells + inputs, input_count});
  }
  [[nodiscard]] int get(const fmi::Reference* all_references, double* cells) const noexcept {
    if (output_count == 0) return 0;
    return reals.get({all_references + output_references, output_count}, {cells + outputs, output_count});
  }
  [[nodiscard]] bool got_finite(const double* cells) const noexcept {
    const double *value = cells + outputs, *const end = value + output_count;
    while (value != end && std::isfinite(*value)) ++value;
    return value == end;
  }
};

}  // namespace ssptool
