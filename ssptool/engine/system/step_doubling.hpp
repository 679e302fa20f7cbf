// Macro steps of sizes that their errors allow: each is done once whole and once in two halves, and their difference
// decides. Only runs have them; see `Adaptive` in engine/masters/adaptive.py.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "checkpoint.hpp"
#include "macro_steps.hpp"
#include "step_comparison.hpp"

namespace ssptool::runtime {

struct Stretch;

// Limits of a controller of sizes; `smallest` is a share of the run, `largest` in s.
struct PlannedDoubling {
  PlannedComparison compared;
  double largest, safety, least_factor, largest_factor, smallest;
};

// Reason to stop at a time [s], since no step is small enough: the last one has failed, a signal has too large an
// error, or one that is not a real number changes again and again. `size` [s] is the least one of a step, or that of a
// pair.
struct NoSize {
  enum class Why { failed, inexact, switching } why;
  double t, size;
  Slot slot = none;
  double error = 0.0;
};

// The steps that are tried, and what else belongs to the system.
struct DoubledSteps {
  Kernel& kernel;
  MacroSteps& steps;
  Checkpoint& here;                   // of the start of a pair; that of the system
  std::unique_ptr<Checkpoint> ahead;  // of its end
  double start, stop, step;           // [s]; `step` is the first size
  // Whether a part ends the simulation in the step from a time [s] that has had this outcome.
  std::function<bool(const Outcome&, double t)> ends;
};

// What is around each step that is tried; times in s.
struct AroundSteps {
  // No pair leads beyond, and what follows from it is not looked for beyond the horizon.
  double limit, horizon;
  // Before a step to this time; whether it can be done.
  std::function<bool(double to)> before;
  // After it: when a part has ended it early, or asks for an event at its end that is before the limit.
  std::function<std::optional<double>(double to, double limit)> after;
};

class StepDoubling {
 public:
  // From present values, at the start time.
  StepDoubling(const PlannedDoubling&, DoubledSteps);

  // Two steps of a size at which they are exact enough; their rows wait then. The outcome of one that cannot be done is
  // not good. Returns when a part has ended one early, if so: nothing is accepted then.
  std::optional<double> pair(Stretch&, const AroundSteps&);
  // Sizes begin anew with the first one.
  void restart();
  // The first row that waits.
  void hand_out(std::span<double> row);
  [[nodiscard]] bool waiting() const noexcept { return !rows_.empty(); }
  [[nodiscard]] const std::optional<NoSize>& no_size() const noexcept { return no_size_; }

 private:
  using Values = StepComparison::Values;

  struct Point {
    double t;
    Values values;
  };
  // Two steps of size h that lead to `end` [s], with their error, a signal that has changed although it is not a real
  // number, their rows and iterations; `middle` are the values after the first one, `coarse` those after one of twice
  // the size.
  struct Tried {
    double h, end, error = 0.0;
    std::optional<Slot> changed{};
    Values coarse{}, middle{};
    std::vector<std::vector<double>> rows{};
    std::vector<std::int64_t> counts{};

    [[nodiscard]] bool exact() const noexcept { return error <= 1.0; }
  };

  void begin_pair();
  [[nodiscard]] double fitting(double limit) const noexcept;
  Tried attempt(Stretch&, const AroundSteps&);
  bool step(Stretch&, const AroundSteps&, double from, double to);
  void finish(Stretch&, Tried&, double t);
  [[nodiscard]] bool may_be_avoided(const Stretch&) const;
  [[nodiscard]] bool has_unlocated_change(Stretch&, const AroundSteps&, Tried&);
  [[nodiscard]] std::optional<Slot> change_ahead(Stretch&, const AroundSteps&, double end, double size);
  [[nodiscard]] double factor(double error) const;
  void accept(Stretch&, const Tried&, double factor);
  [[nodiscard]] bool hopeless(const Tried&);
  void go_back();
  [[nodiscard]] Values& values() noexcept { return own_.kernel.slot_values.values; }

  const PlannedDoubling& plan_;
  DoubledSteps own_;
  StepComparison comparison_;
  double smallest_;  // [s]
  double t_, h_;
  double usual_ = 0.0;  // size of the latest steps without a change, but for some small ones [s]
  // While a change is located: `usual_` then, and an end before which it is.
  double first_ = 0.0, until_ = -HUGE_VAL;
  std::vector<Point> past_;  // the latest points that a step back must recall; the last one is here
  std::deque<std::vector<double>> rows_;
  std::optional<double> early_;
  std::optional<NoSize> no_size_;
  int jumps_ = 0;         // pairs of the smallest size in a row whose error was too large
  double changes_ = 0.0;  // lately, in short pairs
};

}  // namespace ssptool::runtime
