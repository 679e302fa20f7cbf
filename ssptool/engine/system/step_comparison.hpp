// Comparison of signals for the choice of steps: real numbers by their size, all others by whether they change.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
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
// they are named; and inputs that others feed. `tolerance` is what the errors of all steps of a run may add up to, of
// the size of a signal, for a master of this order; `share` is the error of two steps relative to their difference from
// one of twice the size, or that of inputs relative to what they are found to miss. `ways`: an input moves through its
// range at most so many times in a run; the errors of more are not thought to add up.
struct PlannedComparison {
  std::vector<Slot> reals, others, inputs;
  std::vector<std::optional<double>> nominal;  // by real signal
  double tolerance;
  int order;
  double share, ways;
};

// The size of a real signal is the range of its values so far. Where it is yet to move, it is the range that tried
// steps have shown, but not more than its value; or its nominal value if that is larger. Values are those of all slots
// at a communication point.
class StepComparison {
 public:
  using Values = std::vector<double>;

  // Values of the inputs over a step, or two: their means.
  struct Means {
    Values coarse, fine;
  };

  // Of steps in an interval [s].
  StepComparison(const PlannedComparison&, const Values& start, double interval);

  // Until `foresee`, steps are only tried: each has to be as exact as signals move in it, and no more.
  void try_out() noexcept { rough_ = true; }
  // They have led through this part of the interval; now it begins from the start.
  void foresee(const Values& start, double part);
  // Error of two steps over this time [s], from their end and that of one step of twice the size; 1 is what is allowed.
  [[nodiscard]] double error(const Values& fine, const Values& coarse, double over) const;
  // The signal with the largest error.
  [[nodiscard]] Slot worst(const Values& fine, const Values& coarse, double over) const;
  // Error of the mean of an input over two steps, so long [s] after the start; states that no output shows integrate
  // it.
  [[nodiscard]] double error(const Means&, double elapsed) const;
  // A signal that is not a real number and not the same at all these instants.
  [[nodiscard]] std::optional<Slot> changed(std::initializer_list<const Values*> instants) const;
  [[nodiscard]] bool has_others() const noexcept { return !plan_.others.empty(); }
  // The real signal that bends most between three instants of equal distance, and by what part of its size.
  [[nodiscard]] std::pair<Slot, double> bend(const Values& start, const Values& middle, const Values& end) const;
  // A part of its size that no smooth signal bends by in steps that are exact enough.
  [[nodiscard]] double sharp() const noexcept;
  // By what part of its size a signal moves.
  [[nodiscard]] double moved(Slot, const Values& start, const Values& end) const;
  // Continues from these values, which may be beyond all before.
  void accept(const Values&);
  // What the sizes follow from.
  [[nodiscard]] std::vector<double> sizes() const;
  [[nodiscard]] bool fits(const std::vector<double>& sizes) const noexcept;
  void set_sizes(const std::vector<double>& sizes);
  // Takes differences that no step size removes for noise, if they are negligible beside the signal or the largest one.
  void tolerate(const Values& fine, const Values& coarse, double over);

 private:
  // Of a signal: its values so far, how far they have moved to and fro, and range and way as far as they are foreseen.
  struct Course {
    double least, most, last, greatest, way = 0.0, foreseen = HUGE_VAL, foreseen_way = 0.0, noise = 0.0;
  };
  static constexpr std::size_t numbers = 8;

  [[nodiscard]] static Course starting(double value) noexcept;
  static void go_on(Course&, double value) noexcept;
  [[nodiscard]] std::vector<double> errors(const Values& fine, const Values& coarse, double over) const;
  [[nodiscard]] double size(std::size_t real, double value) const noexcept;
  [[nodiscard]] double largest(const Values&) const noexcept;

  const PlannedComparison& plan_;
  double interval_;  // [s]
  bool rough_ = false;
  std::vector<Course> courses_, of_inputs_;  // by real signal, by input
};

}  // namespace ssptool::runtime
