// Rodas5P, a linearly implicit pair of orders 5 and 4 for stiff x': L-stable and stiffly accurate. Each stage solves
// linear equations with one matrix, so there is no iteration that could fail. Steinebach 2023, "Construction of
// Rosenbrock–Wanner method Rodas5P and numerical benchmarks within the Julia Differential Equations package"; Hairer,
// Wanner 1996, "Solving ordinary differential equations II", 2nd ed., §IV.7.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "dense.hpp"
#include "step_formulas.hpp"

namespace ssptool {

class Rosenbrock final : public StepFormula {
 public:
  explicit Rosenbrock(OdeEvaluation&);

  bool attempt(const StepStart&, double h) override;
  bool slopes_at_end(double t, std::span<double>) override;
  void prepare(const StepStart&) override;
  void interpolate(double part, std::span<double> x) const override;
  void leave_start() override { linearized_ = false; }

 private:
  static constexpr std::size_t stages = 8;

  bool linearize(const StepStart&, double h);
  bool jacobian(const StepStart&);
  bool differences(const StepStart&);
  bool time_derivative(const StepStart&, double h);
  bool second_time(const StepStart&, double step);
  [[nodiscard]] std::pair<double, double> times(const StepStart&, double step) const;
  [[nodiscard]] bool noise_in_time(const StepStart&, double step) const;
  [[nodiscard]] std::optional<PartialPivotLu> factorized(double h) const;

  OdeEvaluation& evaluation_;
  bool linearized_ = false;      // at the start of the step
  std::vector<double> columns_;  // of df/dx
  std::vector<double> in_time_;  // ∂f/∂t
  std::vector<double> point_, right_, slopes_;
  std::array<std::vector<double>, stages> changes_;
  std::array<std::vector<double>, 5> polynomial_;
};

}  // namespace ssptool
