// Macro steps whose sizes a control chooses, one or several at a time. Only runs use this.
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

// Reason to stop at a time [s] because no step is small enough: the last one has failed, a signal has too large an
// error, a signal that is not a real number changes again and again, or energy residuals of power bonds are too large.
// `size` [s] is the smallest size of a step, or of a pair.
struct NoSize {
  enum class Why { failed, inexact, switching, residuals } why;
  double t, size;
  Slot slot = none;
  double error = 0.0;
};

// Estimated error of all steps together if they are not taken back, where 1 is allowed; the number of steps that exceed
// their part of that by far; the end of the worst step [s], and the signal that shows its error most.
struct Inexact {
  static constexpr double far = 10.0;

  std::int64_t steps = 0;
  double error = 0.0, time = 0.0;
  Slot slot = none;
};

// Errors of one signal in steps: their sum, and the largest one with the end of its step [s].
struct MissedPart {
  double sum = 0.0, largest = 0.0, time = 0.0;

  void add(double missed, double t) noexcept;
};

// PI controller of step sizes: each follows from the errors of the last two steps, relative to the allowed error;
// `power` is the power of the size to which the error is proportional.
struct SizeControl {
  double safety, integral, proportional, least_factor, largest_factor;

  [[nodiscard]] double factor(double error, double before, int power) const noexcept;
  // Factor of the size for a repeated step.
  [[nodiscard]] double again(double error, int power) const noexcept;
};

// Sizes from errors; `smallest` is a fraction of the run, `largest` and `first` are in s.
struct PlannedSizes {
  PlannedComparison compared;
  double largest, first, smallest;
  SizeControl control;
};

// The run whose steps vary; `step` is the first size [s].
struct VariedSteps {
  Kernel& kernel;
  MacroSteps& steps;
  double start, stop, step;
};

// Context of each attempted step; times in s.
struct AroundSteps {
  // No step goes beyond `limit`, and its consequences are not examined beyond `horizon`. No jump from outside occurs
  // before `smooth`.
  double limit, horizon, smooth;
  // Is called before a step to this time; returns whether the step can be done.
  std::function<bool(double to)> before;
  // Is called after a step: the time at which a part has ended it early, or at which a part requests an event before
  // the limit.
  std::function<std::optional<double>(double to, double limit)> after;
  IterateLog* log;  // null: no log
};

class VaryingSteps {
 public:
  VaryingSteps(const VaryingSteps&) = delete;
  VaryingSteps& operator=(const VaryingSteps&) = delete;
  virtual ~VaryingSteps() = default;

  // Does the next steps, whose rows then wait. If a step fails, the outcome is not good. If a part has ended a step
  // early, and the step can be taken back, nothing is accepted and the time of that end is returned.
  virtual std::optional<double> next(Stretch&, const AroundSteps&) = 0;
  // Restarts with the first size.
  virtual void restart() = 0;
  // Data on which sizes depend; no row may be waiting. Throws std::runtime_error for data of other steps.
  [[nodiscard]] virtual SavedSizes save() const = 0;
  virtual void go_on(const SavedSizes&) = 0;
  // Whether the states of parts are saved at the start, to go back there.
  [[nodiscard]] virtual bool keep_states() const noexcept { return false; }
  // Takes the first waiting row.
  void hand_out(std::span<double> row);
  [[nodiscard]] bool waiting() const noexcept { return !rows_.empty(); }
  [[nodiscard]] const std::optional<NoSize>& no_size() const noexcept { return no_size_; }
  // Since the steps began or went on; empty for steps that are taken back if they are not exact.
  [[nodiscard]] virtual Inexact inexact() const { return {}; }

 protected:
  // Begins at the start time; steps are at most `largest` [s].
  VaryingSteps(const VariedSteps& varied, double largest);

  static void require_same_steps(bool same);
  [[nodiscard]] double first_size() const noexcept;
  // Stores the outcome of a step between two times, or of a part of it; returns whether it is good.
  bool note(Stretch&, double from, double to, const Outcome&);
  // The same for a step in which parts have been stepped. Returns the time at which one of them has ended it early, or
  // requests an event before the limit; the outcome is ignored then.
  std::optional<double> note(Stretch&, double from, double to, const Outcome&, const AroundSteps&, double limit);
  // The row of a step up to this time, which the kernel accepts.
  std::vector<double> finish(Stretch&, double t);
  // Means of inputs over the last step, of size h [s].
  [[nodiscard]] std::vector<double> means(const std::vector<Slot>& inputs, double h) const;
  [[nodiscard]] std::vector<double>& values() noexcept { return varied_.kernel.slot_values.values; }

  const VariedSteps varied_;
  const double largest_;  // [s]
  double t_, h_;
  std::deque<std::vector<double>> rows_;
  std::optional<NoSize> no_size_;
};

}  // namespace ssptool::runtime
