// Macro steps whose sizes follow from errors of inputs: at the end of a step, the values that the inputs should have
// had are known. No step is repeated. Only runs use this; see `DefectControlled` in engine/masters/defects.py.
#pragma once

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

 private:
  using Values = StepComparison::Values;

  [[nodiscard]] double end(double limit) const noexcept;
  void choose(double h, const Values& before);

  const PlannedSizes& plan_;
  StepComparison comparison_;
  double smallest_;     // [s]
  double error_ = 1.0;  // of the previous step
  Values slopes_;       // of inputs, in the previous step
};

}  // namespace ssptool::runtime
