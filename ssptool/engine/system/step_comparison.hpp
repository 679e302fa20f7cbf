// Comparison of signals for the choice of steps: real numbers by their size, all others by whether they change.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <utility>
#include <vector>

#include "../kernel/core/calls.hpp"

namespace ssptool::runtime {

// Whether numbers, zeros of both signs and all that is no number are the same.
inline bool same_bits(const std::vector<double>& one, const std::vector<double>& other) {
  return std::ranges::equal(
      one, other, [](double a, double b) { return std::bit_cast<std::int64_t>(a) == std::bit_cast<std::int64_t>(b); });
}

// What is compared: real numbers, with the nominal values that FMUs state of them, and others, in the order in which
// they are named. `tolerance` is what an error may be of the size of a signal, for a master of this order.
struct PlannedComparison {
  std::vector<Slot> reals, others;
  std::vector<std::optional<double>> nominal;  // by real signal
  double tolerance;
  int order;
};

// The size of a real signal is the larger of its value and its nominal value; if its FMU states none, that of its
// values so far. Values are those of all slots at a communication point.
class StepComparison {
 public:
  using Values = std::vector<double>;

  StepComparison(const PlannedComparison&, const Values& start);

  // Error of two steps, from their end and that of one step of twice the size; 1 is what is allowed.
  [[nodiscard]] double error(const Values& fine, const Values& coarse) const;
  // The signal with the largest error.
  [[nodiscard]] Slot worst(const Values& fine, const Values& coarse) const;
  // A signal that is not a real number and not the same at all these instants.
  [[nodiscard]] std::optional<Slot> changed(std::initializer_list<const Values*> instants) const;
  [[nodiscard]] bool has_others() const noexcept { return !plan_.others.empty(); }
  // Continues from these values, which may be larger than all before.
  void accept(const Values&);
  // By real signal.
  [[nodiscard]] const std::vector<double>& sizes() const noexcept { return sizes_; }
  void set_sizes(std::vector<double> sizes) { sizes_ = std::move(sizes); }
  // Takes differences that no step size removes for noise, if they are negligible beside the largest signal.
  void tolerate(const Values& fine, const Values& coarse);

 private:
  [[nodiscard]] std::vector<double> errors(const Values& fine, const Values& coarse) const;

  const PlannedComparison& plan_;
  std::vector<double> sizes_;  // by real signal
};

}  // namespace ssptool::runtime
