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

// Whether all values have the same bits: +0 and −0 differ, and a NaN equals itself.
inline bool same_bits(const std::vector<double>& one, const std::vector<double>& other) {
  return std::ranges::equal(
      one, other, [](double a, double b) { return std::bit_cast<std::int64_t>(a) == std::bit_cast<std::int64_t>(b); });
}

// An output that is not a real number: whether its component depends on it through others, and real inputs of its
// component that others feed.
struct Switch {
  Slot output;
  bool acts_back;
  std::vector<Slot> causes;
};

// Signals to compare: real numbers with the nominal values from FMUs; all others, in the order in which messages name
// them, with details of those that are outputs; and inputs that others feed. `tolerance` is the allowed sum of errors
// of all steps of a run, relative to the size of a signal, for a master of this order. `share` is the error of two
// steps relative to their difference from one double step, or the error of inputs relative to the estimated one.
// `ways`: maximum number of times that an input passes through its range in a run; errors of further passes are not
// assumed to add up.
struct PlannedComparison {
  std::vector<Slot> reals, others, inputs;
  std::vector<Switch> switches;
  std::vector<std::optional<double>> nominal;  // by real signal
  double tolerance;
  int order;
  double share, ways;
};

// The size of a real signal is the range of its values so far. If the signal has not yet moved, it is the range that
// trial steps have found, but at most its value; or its nominal value if that is larger. Values are those of all slots
// at a communication point.
class StepComparison {
 public:
  using Values = std::vector<double>;

  // Means of the inputs over one step and over two steps.
  struct Means {
    Values coarse, fine;
  };

  // For steps in an interval of this length [s].
  StepComparison(const PlannedComparison&, const Values& start, double interval);

  // Until `foresee`, steps are trials: each has to be only as exact as the change of signals in it requires.
  void try_out() noexcept { rough_ = true; }
  // Trial steps have covered half of the interval.
  void pass_half() noexcept;
  // Trial steps have covered this part of the interval; now the real steps begin at the start.
  void foresee(const Values& start, double part);
  // Error of two steps of total length `over` [s], from the difference to one double step; 1 is the limit.
  [[nodiscard]] double error(const Values& fine, const Values& coarse, double over) const;
  // The signal with the largest error.
  [[nodiscard]] Slot worst(const Values& fine, const Values& coarse, double over) const;
  // The input with the largest error of its mean over two steps, `elapsed` seconds after the start, and this error;
  // states that no output shows integrate it.
  [[nodiscard]] std::pair<Slot, double> error(const Means&, double elapsed) const;
  // Error of an input, by number, whose mean over the whole interval is off by 1.
  [[nodiscard]] double error_of_mean(std::size_t input, double elapsed) const;
  // A slope [1/s] of an input, by number, relative to its mean slope over the whole interval.
  [[nodiscard]] double steepness(std::size_t input, double slope, double elapsed) const noexcept;
  // Whether an input, by number, is between its extremes so far, so that its size and its way are known.
  [[nodiscard]] bool is_inside(std::size_t input, double value) const noexcept {
    return of_inputs_[input].least < value && value < of_inputs_[input].most;
  }
  // The real signal that is affected most by a change of slopes that comes late by this time [s], and the error in it;
  // 1 is the limit of a run. Slopes are those of all real signals.
  [[nodiscard]] std::pair<Slot, double> delayed(const Values& before, const Values& after, double late) const;
  // A signal that is not a real number and that differs between these instants.
  [[nodiscard]] std::optional<Slot> changed(std::initializer_list<const Values*> instants) const;
  [[nodiscard]] bool has_others() const noexcept { return !plan_.others.empty(); }
  // The real signal with the largest deviation from a straight line through three equidistant instants, and this
  // deviation relative to its size.
  [[nodiscard]] std::pair<Slot, double> bend(const Values& start, const Values& middle, const Values& end) const;
  // Largest such deviation of smooth signals in steps that are exact enough.
  [[nodiscard]] double sharp() const noexcept;
  // Change of a signal relative to its size.
  [[nodiscard]] double moved(Slot, const Values& start, const Values& end) const;
  // Continues from these values, which may extend the ranges.
  void accept(const Values&);
  // Data from which sizes are computed.
  [[nodiscard]] std::vector<double> sizes() const;
  [[nodiscard]] bool fits(const std::vector<double>& sizes) const noexcept;
  void set_sizes(const std::vector<double>& sizes);
  // The part of the allowed error of a run that a pair of this length [s] may have.
  [[nodiscard]] double part(double over) const noexcept;
  // Errors of two steps per second, by real signal.
  [[nodiscard]] Values rates(const Values& fine, const Values& coarse, double over) const;
  // Stores these rates where they are smaller than the stored ones, or instead of them.
  void gather(const Values& rates, bool anew) noexcept;
  // Accepts errors that grow with time at the stored rates, because shorter steps do not reduce them: FMUs integrate
  // less exactly inside. They are estimated again now and then.
  void expect_gathered() noexcept;
  // Whether such errors are accepted, or pairs of this length [s] may have more than their part of the allowed error.
  [[nodiscard]] bool is_lenient(double over) const noexcept;
  // Counts the errors of an accepted pair that are larger than its part; returns the largest one, where 1 is allowed.
  double count(const Values& fine, const Values& coarse, double over);
  // The real signal with the largest sum of counted errors, and this sum; 1 is the limit of a run.
  [[nodiscard]] std::pair<Slot, double> counted() const;
  // Accepts differences that no step size can remove because they are noise, if they are negligible relative to the
  // signal or to the largest signal.
  void tolerate(const Values& fine, const Values& coarse, double over);

 private:
  // The course of a signal: its values so far, the length of its way up and down, foreseen range and way, and noise.
  struct Course {
    double least, most, last, greatest, way = 0.0, foreseen = HUGE_VAL, foreseen_way = 0.0, noise = 0.0;
    double half = 0.0;                  // foreseen range in the first half of the interval
    double rate = 0.0, gathered = 0.0;  // of noise per second: the accepted one, and a stored one
    double counted = 0.0;               // errors larger than they may be
  };
  static constexpr std::size_t numbers = 12;

  [[nodiscard]] static Course starting(double value) noexcept;
  static void go_on(Course&, double value) noexcept;
  [[nodiscard]] double way(const Course&, double elapsed) const noexcept;
  [[nodiscard]] std::vector<double> errors(const Values& fine, const Values& coarse, double over,
                                           bool with_noise = true) const;
  [[nodiscard]] double size(std::size_t real, double value) const noexcept;
  [[nodiscard]] double largest(const Values&) const noexcept;

  const PlannedComparison& plan_;
  double interval_;  // [s]
  bool rough_ = false;
  std::vector<Course> courses_, of_inputs_;  // by real signal, and by input
};

}  // namespace ssptool::runtime
