// Macro steps whose sizes follow from errors of inputs: at the end of a step, the values that the inputs should have
// had are known. No step is repeated. Only runs use this; see `SizeRule.DEFECTS` in engine/masters/step_sizes.py.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "varying_steps.hpp"

namespace ssptool::runtime {

class StepDefects final : public VaryingSteps {
 public:
  // Starts from the present values.
  StepDefects(const PlannedSizes&, const VariedSteps&);

  // Does one step, whatever the errors of its inputs; these determine the next size.
  std::optional<double> next(Stretch&, const AroundSteps&) override;
  void restart() override;
  [[nodiscard]] SavedSizes save() const override;
  void go_on(const SavedSizes&) override;
  [[nodiscard]] Inexact inexact() const override;

 private:
  using Values = StepComparison::Values;

  // A change of a signal that is not a real number, which is noticed at the end of a step of size h [s]: the slopes of
  // real signals before, and the number of steps since.
  struct Change {
    double h;
    bool acts_back;
    Values before;
    int since = 0;
  };

  // An output has left the value `from` while an input of its component rose, or fell, from one of these values to the
  // other.
  struct Threshold {
    Slot output, input;
    double from;
    bool rises;
    double low, high;
  };

  [[nodiscard]] double end(double limit) const noexcept;
  [[nodiscard]] double elapsed() const noexcept { return t_ - varied_.start; }
  [[nodiscard]] double interval() const noexcept { return varied_.stop - varied_.start; }
  void choose(double h, const Values& before);
  [[nodiscard]] double missed(std::size_t input, double part) const;
  void shift(const Values& slopes);
  [[nodiscard]] double chosen(double h, double error);
  void watch_changes(double h, const Values& before);
  void judge(const Change&, const Values& after);
  void learn(const Switch&, const Values& before);
  void approach(double h, const Values& before);

  const PlannedSizes& plan_;
  StepComparison comparison_;
  double smallest_;     // [s]
  double error_ = 1.0;  // of the previous step
  int alike_ = 0;       // number of steps since a shorter one
  Values slopes_;       // of inputs, in the previous step
  Values lags_;         // of inputs per second of a step, from the last shorter step
  double jumps_ = 0.0;  // sum of the errors of steps in which inputs began to be much too inexact
  Values earlier_;      // at the start of the previous step
  std::vector<Threshold> thresholds_;
  // For the estimated error of all steps.
  Values trends_;  // slopes of all real signals, in the previous step
  std::optional<Change> change_;
  std::vector<MissedPart> missed_;  // of the means of inputs [s]
  MissedPart late_;                 // because of changes
  Slot affected_ = none;            // by the worst of these
  double apart_ = 0.0;              // largest error because of a change that does not act back
  Inexact shifted_;                 // of the steepest input, because the errors before shift it in time
  std::int64_t far_ = 0;            // number of steps with much too large an error
};

}  // namespace ssptool::runtime
