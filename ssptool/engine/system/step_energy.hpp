// Macro steps whose sizes follow from the energy that coupling creates or destroys at power bonds; no step is repeated.
// Only runs use this; see `SizeRule.ENERGY` in engine/masters/step_sizes.py.
#pragma once

#include <array>
#include <utility>
#include <vector>

#include "varying_steps.hpp"

namespace ssptool::runtime {

// An output of one component of a bond, and the input that should equal `scale` times the output of the other side;
// `factor` converts their product to watts.
struct BondSide {
  Slot output, input;
  double factor, scale;
};

struct PlannedBond {
  std::array<BondSide, 2> sides;
  double nominal;  // [W]
};

// Parameters of the control of sizes; `smallest` is a fraction of the run, `largest` is in s. When one of `others`,
// which are not real numbers, changes, the control restarts.
struct PlannedEnergy {
  std::vector<PlannedBond> bonds;
  std::vector<Slot> others;
  int order;
  double tolerance, largest, smallest;
  SizeControl control;
};

class StepEnergy final : public VaryingSteps {
 public:
  StepEnergy(const PlannedEnergy&, const VariedSteps&);

  // Does one step, whatever its residuals; these determine the next size.
  std::optional<double> next(Stretch&, const AroundSteps&) override;
  void restart() override;
  [[nodiscard]] SavedSizes save() const override;
  void go_on(const SavedSizes&) override;
  [[nodiscard]] Inexact inexact() const override;

 private:
  // By bond, a value for each side.
  using Pairs = std::vector<std::array<double, 2>>;
  // Outputs at the start and at the end of a step, and the inputs at these times.
  struct Course {
    std::array<Pairs, 2> outputs, inputs;
  };

  [[nodiscard]] double end(double limit) const noexcept;
  [[nodiscard]] Pairs outputs() noexcept;
  // Differences between inputs and the outputs of the other side, for example a bias from a scenario.
  [[nodiscard]] Pairs added() noexcept;
  // Inputs `past` seconds after the start of the step that was done.
  [[nodiscard]] Pairs inputs(double past) const noexcept;
  [[nodiscard]] std::vector<double> discrete() noexcept;
  void control(double end, double h, const Course&, const Pairs& added, IterateLog*);
  // Energy transferred through a bond in the step, and the two contributions to the residual [J].
  [[nodiscard]] std::pair<double, std::array<double, 2>> energies(std::size_t bond, double h, const Course&,
                                                                  const Pairs& added) const noexcept;
  [[nodiscard]] double power(std::size_t bond, const Pairs& outputs, const Pairs& inputs) const noexcept;
  void choose(double h, double error);

  const PlannedEnergy& plan_;
  double elapsed_ = 0.0, last_error_ = 1.0;
  std::vector<double> through_;  // energy transferred through each bond, in either direction [J]
  std::vector<MissedPart> missed_;
  std::int64_t far_ = 0;  // number of steps with much too large residuals
};

}  // namespace ssptool::runtime
