// Macro steps whose sizes follow from error estimates: each is done once as a whole and once as two halves, and the
// difference gives the error. Only runs use this; see `SizeRule.DOUBLING` in engine/masters/step_sizes.py.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "checkpoint.hpp"
#include "step_comparison.hpp"
#include "varying_steps.hpp"

namespace ssptool::runtime {

// Objects of the system that step doubling uses.
struct DoubledSteps {
  Checkpoint& here;                   // at the start of a pair; the system's checkpoint
  std::unique_ptr<Checkpoint> ahead;  // at the end of a pair
  // Whether a part ends the simulation in the step from a time [s] with this outcome.
  std::function<bool(const Outcome&, double t)> ends;
};

class StepDoubling final : public VaryingSteps {
 public:
  // Starts from the present values.
  StepDoubling(const PlannedSizes&, const VariedSteps&, DoubledSteps);

  // Does two steps of a size that is exact enough.
  std::optional<double> next(Stretch&, const AroundSteps&) override;
  void restart() override;
  [[nodiscard]] SavedSizes save() const override;
  void go_on(const SavedSizes&) override;
  [[nodiscard]] bool keep_states() const noexcept override { return true; }
  [[nodiscard]] Inexact inexact() const override;

 private:
  using Values = StepComparison::Values;

  struct Point {
    double t;
    Values values;
  };
  // A pair of steps of size h up to `end` [s]: its error, a signal that is not a real number and has changed, a real
  // signal that has jumped, rows and iterations. `middle` are the values after the first step, `coarse` those after one
  // step of twice the size. If the latter already shows a change, the pair was not done.
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

  // A jump of a real signal, relative to its size.
  struct Jump {
    Slot slot;
    double by;
  };

  // Consecutive pairs that were too inexact. `longest`: size of the first one whose successor was not more exact than
  // it in proportion, and `rates` are the smallest errors per second since then. `like_noise`: all errors have
  // become smaller, unlike those of steps in which a signal jumps, but not faster than the steps.
  struct Rejected {
    double h = HUGE_VAL, error = 0.0, of_means = 0.0;
    int stuck = 0;
    bool means_fall = true, like_noise = true;
    double longest = 0.0;
    Values rates{};
  };

  void judge(Tried&, Rejected&);
  void compare_rates(const Tried&, Rejected&);
  bool slow() const;
  void look_for_noise(const Rejected&);
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
  bool rough_ = false;  // steps are only trials
  bool tried_ = false;  // trials are done
  double error_ = 1.0;  // of the previous pair
  double usual_ = 0.0;  // size of the latest pairs without a change, except some small ones [s]
  // While a change is being located: the value of `usual_` before, and a time before which the change is.
  double first_ = 0.0, until_ = -HUGE_VAL;
  std::vector<Point> past_;  // latest points for going back; the last one is here
  std::optional<double> early_;
  int short_ = 0;         // number of consecutive pairs of about the smallest size
  Slot leaping_ = none;   // the last real signal that has jumped
  int jumps_ = 0;         // number of consecutive pairs of the smallest size with too large an error
  double changes_ = 0.0;  // recent ones, in short pairs
  double leaps_ = 0.0;    // recent jumps of real signals
  int crawling_ = 0;      // number of consecutive pairs whose size hardly grows where larger errors are accepted
  int slow_ = 0;          // recent pairs of a size with which the run would take very many
  double noisy_ = 0.0;    // recent pairs that were not more exact than longer ones, in proportion
  double worst_ = 0.0, worst_time_ = 0.0;  // largest error of an accepted pair, and its end [s]
  std::optional<Jump> jump_;               // jump that is being located
};

}  // namespace ssptool::runtime
