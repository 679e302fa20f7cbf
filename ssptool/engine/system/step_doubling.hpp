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
  StepDoubling(const PlannedSizes&, const VariedSteps&, DoubledSteps);

  // Two of a size at which they are exact enough.
  std::optional<double> next(Stretch&, const AroundSteps&) override;
  void restart() override;
  [[nodiscard]] SavedSizes save() const override;
  void go_on(const SavedSizes&) override;
  [[nodiscard]] bool keep_states() const noexcept override { return true; }

 private:
  using Values = StepComparison::Values;

  struct Point {
    double t;
    Values values;
  };
  // Two steps of size h that lead to `end` [s], with their error, a signal that has changed although it is not a real
  // number, or a real one that has jumped, their rows and iterations; `middle` are the values after the first one,
  // `coarse` those after one of twice the size. Where that shows a change already, they were not done.
  struct Tried {
    double h, end, error = 0.0;
    bool cut = false;
    std::optional<Slot> changed{}, jumped{};
    StepComparison::Means means{};
    Values coarse{}, middle{};
    std::vector<std::vector<double>> rows{};
    std::vector<std::int64_t> counts{};

    [[nodiscard]] bool exact() const noexcept { return error <= 1.0; }
  };

  // A jump of a real signal, by a part of its size.
  struct Jump {
    Slot slot;
    double by;
  };

  // Pairs that were too inexact, one after the other.
  struct Rejected {
    double h = HUGE_VAL, error = 0.0, of_means = 0.0;
    int stuck = 0;
    bool means_fall = true;
  };

  void judge(Tried&, Rejected&);
  void be_content(Tried&);
  void try_out(Stretch&, const AroundSteps&);
  bool try_pair(Stretch&, const AroundSteps&, int& refused);
  void begin_pair();
  [[nodiscard]] double fitting(double limit) const noexcept;
  Tried attempt(Stretch&, const AroundSteps&);
  bool step(Stretch&, const AroundSteps&, double from, double to);
  void end(Stretch&, Tried&, double t);
  [[nodiscard]] bool may_be_avoided(const Stretch&) const;
  [[nodiscard]] bool has_unlocated_change(Stretch&, const AroundSteps&, Tried&);
  [[nodiscard]] std::optional<Slot> change_ahead(Stretch&, const AroundSteps&, double end, double size);
  [[nodiscard]] double usual(const Tried&) const noexcept;
  [[nodiscard]] double brief(double usual) const noexcept;
  void look_for_change(Tried&);
  void look_for_jump(Tried&);
  void accept(Stretch&, const Tried&);
  void choose(const Tried&, double located);
  [[nodiscard]] bool hopeless(const Tried&);
  void go_back();

  const PlannedSizes& plan_;
  DoubledSteps own_;
  double interval_;  // [s]
  StepComparison comparison_;
  double smallest_;     // [s]
  bool rough_ = false;  // steps are only tried
  bool tried_ = false;  // they were
  double error_ = 1.0;  // of the pair before
  double usual_ = 0.0;  // size of the latest steps without a change, but for some small ones [s]
  // While a change is located: `usual_` then, and an end before which it is.
  double first_ = 0.0, until_ = -HUGE_VAL;
  std::vector<Point> past_;  // the latest points that a step back must recall; the last one is here
  std::optional<double> early_;
  int short_ = 0;             // pairs of about the smallest size in a row
  Slot leaping_ = none;       // the last real signal that jumped
  int jumps_ = 0;             // pairs of the smallest size in a row whose error was too large
  double changes_ = 0.0;      // lately, in short pairs
  double leaps_ = 0.0;        // the same of real signals
  std::optional<Jump> jump_;  // that is located
};

}  // namespace ssptool::runtime
