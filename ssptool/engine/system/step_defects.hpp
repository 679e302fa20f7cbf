// Macro steps sized by what inputs miss: at the end of a step it is known what they should have been. None is repeated.
// Only runs have them; see `DefectControlled` in engine/masters/defects.py.
#pragma once

#include <vector>

#include "varying_steps.hpp"

namespace ssptool::runtime {

class StepDefects final : public VaryingSteps {
 public:
  // From present values.
  StepDefects(const PlannedSizes&, const VariedSteps&);

  // One step, whatever its inputs miss: that is for the next size.
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
  double error_ = 1.0;  // of the step before
  Values slopes_;       // of inputs, in it
};

}  // namespace ssptool::runtime
