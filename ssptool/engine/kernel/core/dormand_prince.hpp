// The explicit Runge–Kutta pair of Dormand and Prince of orders 5 and 4, for problems that are not stiff: Dormand,
// Prince 1980, "A family of embedded Runge–Kutta formulae". Interpolation of order 4: Hairer, Nørsett, Wanner 1993,
// "Solving ordinary differential equations I", 2nd ed., §II.6.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "step_formulas.hpp"

namespace ssptool {

class DormandPrince final : public StepFormula {
 public:
  explicit DormandPrince(OdeEvaluation&);

  bool attempt(const StepStart&, double h) override;
  // The last stage has computed them.
  bool slopes_at_end(double t, std::span<double>) override;
  void prepare(const StepStart&) override;
  void interpolate(double part, std::span<double> x) const override;
  void leave_start() override {}

 private:
  static constexpr std::size_t stages = 7;

  OdeEvaluation& evaluation_;
  double h_ = 0.0;
  std::array<std::vector<double>, stages> slopes_;
  std::array<std::vector<double>, 5> polynomial_;
};

}  // namespace ssptool
