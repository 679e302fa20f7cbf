// Macro steps sized by the energy that coupling creates or destroys at power bonds; none is repeated. Only runs have
// them; see `EnergyControlled` in engine/masters/energy.py.
#pragma once

#include <array>
#include <utility>
#include <vector>

#include "varying_steps.hpp"

namespace ssptool::runtime {

// An output of one component of a bond, and the input that is `scale` times the output of the other side; `factor`
// turns their product into watts.
struct BondSide {
  Slot output, input;
  double factor, scale;
};

struct PlannedBond {
  std::array<BondSide, 2> sides;
  double nominal;  // [W]
};

// A controller of sizes; `smallest` is a share of the run, `largest` in s. Where one of `others`, which are no real
// numbers, changes, sizes begin anew.
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

  // One step, whatever its residuals are: they are those of the next size.
  std::optional<double> next(Stretch&, const AroundSteps&) override;
  void restart() override;
  [[nodiscard]] SavedSizes save() const override;
  void go_on(const SavedSizes&) override;

 private:
  // By bond, of each side.
  using Pairs = std::vector<std::array<double, 2>>;
  // Outputs at the start and at the end of a step, and the inputs that it had there.
  struct Course {
    std::array<Pairs, 2> outputs, inputs;
  };

  [[nodiscard]] double end(double limit) const noexcept;
  [[nodiscard]] Pairs outputs() noexcept;
  // What inputs have beside what the other side gives, as where a scenario adds a bias.
  [[nodiscard]] Pairs added() noexcept;
  // In the step that was done, some seconds after its start.
  [[nodiscard]] Pairs inputs(double past) const noexcept;
  [[nodiscard]] std::vector<double> discrete() noexcept;
  void control(double end, double h, const Course&, const Pairs& added, IterateLog*);
  // Energies through a bond in the step, and its shares of the residual [J].
  [[nodiscard]] std::pair<double, std::array<double, 2>> energies(std::size_t bond, double h, const Course&,
                                                                  const Pairs& added) const noexcept;
  [[nodiscard]] double power(std::size_t bond, const Pairs& outputs, const Pairs& inputs) const noexcept;
  void choose(double h, double error);

  const PlannedEnergy& plan_;
  double elapsed_ = 0.0, last_error_ = 1.0;
  std::vector<double> through_;  // energy that went through each bond, in either direction [J]
};

}  // namespace ssptool::runtime
