// Macro steps of sizes that a control chooses, one or some at a time. Only runs have them.
#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "log.hpp"
#include "macro_steps.hpp"
#include "step_comparison.hpp"

namespace ssptool::runtime {

struct Stretch;
struct SavedSizes;

// Reason to stop at a time [s], since no step is small enough: the last one has failed, a signal has too large an
// error, one that is not a real number changes again and again, or energy residuals of power bonds are too large.
// `size` [s] is the least one of a step, or that of a pair.
struct NoSize {
  enum class Why { failed, inexact, switching, residuals } why;
  double t, size;
  Slot slot = none;
  double error = 0.0;
};

// Controller of sizes: each from the error of the step before, of which 1 is allowed and which goes with this power of
// the size, and from that of the one before it (a PI controller).
struct SizeControl {
  double safety, integral, proportional, least_factor, largest_factor;

  [[nodiscard]] double factor(double error, double before, int power) const noexcept;
  // For a step that is done again.
  [[nodiscard]] double again(double error, int power) const noexcept;
};

// Sizes by errors; `smallest` is a share of the run, `largest` and `first` are in s.
struct PlannedSizes {
  PlannedComparison compared;
  double largest, first, smallest;
  SizeControl control;
};

// The steps that are tried, and the run that they belong to; `step` is the first size [s].
struct VariedSteps {
  Kernel& kernel;
  MacroSteps& steps;
  double start, stop, step;
};

// What is around each step that is tried; times in s.
struct AroundSteps {
  // No step leads beyond, and what follows from it is not looked for beyond the horizon. Nothing jumps from outside
  // before `smooth`.
  double limit, horizon, smooth;
  // Before a step to this time; whether it can be done.
  std::function<bool(double to)> before;
  // After it: when a part has ended it early, or asks for an event at its end that is before the limit.
  std::function<std::optional<double>(double to, double limit)> after;
  IterateLog* log;  // null: there is none
};

class VaryingSteps {
 public:
  VaryingSteps(const VaryingSteps&) = delete;
  VaryingSteps& operator=(const VaryingSteps&) = delete;
  virtual ~VaryingSteps() = default;

  // The next ones; their rows wait then. The outcome of one that cannot be done is not good. Returns when a part has
  // ended one early that can be taken back, if so: nothing is accepted then.
  virtual std::optional<double> next(Stretch&, const AroundSteps&) = 0;
  // Sizes begin anew with the first one.
  virtual void restart() = 0;
  // What sizes depend on, with no row waiting. Throws std::runtime_error for what is of other steps.
  [[nodiscard]] virtual SavedSizes save() const = 0;
  virtual void go_on(const SavedSizes&) = 0;
  // Whether they keep the states of parts where they begin, to go back there.
  [[nodiscard]] virtual bool keep_states() const noexcept { return false; }
  // The first row that waits.
  void hand_out(std::span<double> row);
  [[nodiscard]] bool waiting() const noexcept { return !rows_.empty(); }
  [[nodiscard]] const std::optional<NoSize>& no_size() const noexcept { return no_size_; }

 protected:
  // From the start time, in steps of no more than the largest size [s].
  VaryingSteps(const VariedSteps& varied, double largest);

  static void require_same_steps(bool same);
  [[nodiscard]] double first_size() const noexcept;
  // The outcome of a step between two times, or of a part of it; whether it is good.
  bool note(Stretch&, double from, double to, const Outcome&);
  // The same of a step in which parts have moved on; when one of them has ended it early, if so, or asks for an event
  // at its end that is before the limit: then the outcome does not count.
  std::optional<double> note(Stretch&, double from, double to, const Outcome&, const AroundSteps&, double limit);
  // The row of a step that has led to this time, which the kernel accepts.
  std::vector<double> finish(Stretch&, double t);
  // Means of inputs over the step of this size [s] that was done.
  [[nodiscard]] std::vector<double> means(const std::vector<Slot>& inputs, double h) const;
  [[nodiscard]] std::vector<double>& values() noexcept { return varied_.kernel.slot_values.values; }

  const VariedSteps varied_;
  const double largest_;  // [s]
  double t_, h_;
  std::deque<std::vector<double>> rows_;
  std::optional<NoSize> no_size_;
};

}  // namespace ssptool::runtime
