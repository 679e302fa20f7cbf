// Macro steps of sizes that their errors allow: each is done once whole and once in two halves, and their difference
// decides. Only runs have them; see `Adaptive` in engine/masters/adaptive.py.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "checkpoint.hpp"
#include "step_comparison.hpp"
#include "varying_steps.hpp"

namespace ssptool::runtime {

// Limits of a controller of sizes; `smallest` is a share of the run, `largest` in s.
struct PlannedDoubling {
  PlannedComparison compared;
  double largest, safety, least_factor, largest_factor, smallest;
};

// What else belongs to the system.
struct DoubledSteps {
  Checkpoint& here;                   // of the start of a pair; that of the system
  std::unique_ptr<Checkpoint> ahead;  // of its end
  // Whether a part ends the simulation in the step from a time [s] that has had this outcome.
  std::function<bool(const Outcome&, double t)> ends;
};

class StepDoubling final : public VaryingSteps {
 public:
  // From present values.
  StepDoubling(const PlannedDoubling&, const VariedSteps&, DoubledSteps);

  // Two of a size at which they are exact enough.
  std::optional<double> next(Stretch&, const AroundSteps&) override;
  void restart() override;
  [[nodiscard]] SavedSizes save() const override;
  void go_on(const SavedSizes&) override;

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
  void end(Stretch&, Tried&, double t);
  [[nodiscard]] bool may_be_avoided(const Stretch&) const;
  [[nodiscard]] bool has_unlocated_change(Stretch&, const AroundSteps&, Tried&);
  [[nodiscard]] std::optional<Slot> change_ahead(Stretch&, const AroundSteps&, double end, double size);
  [[nodiscard]] double factor(double error) const;
  void accept(Stretch&, const Tried&, double factor);
  [[nodiscard]] bool hopeless(const Tried&);
  void go_back();

  const PlannedDoubling& plan_;
  DoubledSteps own_;
  StepComparison comparison_;
  double smallest_;     // [s]
  double usual_ = 0.0;  // size of the latest steps without a change, but for some small ones [s]
  // While a change is located: `usual_` then, and an end before which it is.
  double first_ = 0.0, until_ = -HUGE_VAL;
  std::vector<Point> past_;  // the latest points that a step back must recall; the last one is here
  std::optional<double> early_;
  int jumps_ = 0;         // pairs of the smallest size in a row whose error was too large
  double changes_ = 0.0;  // lately, in short pairs
};

}  // namespace ssptool::runtime
