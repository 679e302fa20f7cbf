// Integrators of x' = f(t, x) by one-step formulas, with roots of g(t, x) on the way. They know nothing of instances.
// Powers in the control of steps are made of square roots, which are rounded alike everywhere: equal values of f and g
// give equal bits on every platform. Control of steps: Hairer, Nørsett, Wanner 1993, "Solving ordinary differential
// equations I", 2nd ed., §II.4; Hairer, Wanner 1996, "…II", 2nd ed., §IV.2. Roots: Dowell, Jarratt 1971, "A modified
// regula falsi method for computing the root of an equation" (the Illinois method).
#pragma once

#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "step_formulas.hpp"

namespace ssptool {

// The end of a step [s], and the indicators that had a different sign just before.
struct Arrival {
  double t = 0.0;
  std::vector<std::size_t> roots;
};

class IntegrationFailed : public std::runtime_error {
 public:
  IntegrationFailed(double time, const std::string& reason) : std::runtime_error(reason), t(time) {}

  double t;  // [s]
};

// Exceptions of a problem are passed on; afterwards the solver must be restarted.
class OdeSolver {
 public:
  OdeSolver() = default;
  OdeSolver(const OdeSolver&) = delete;
  OdeSolver& operator=(const OdeSolver&) = delete;
  virtual ~OdeSolver() = default;

  // The states and their absolute tolerances, which a start uses unchanged.
  [[nodiscard]] virtual std::span<double> x() noexcept = 0;
  [[nodiscard]] virtual std::span<double> atol() noexcept = 0;
  [[nodiscard]] virtual std::span<double> between() noexcept = 0;

  // Starts at t [s] without history. The first step has the given size [s]; 0: it is estimated.
  virtual void start(double t, double first_step = 0.0) = 0;
  // Does one step towards `limit` [s], never past it. A step with a root ends just after the root. Without
  // `step_by_step`, it may do up to some hundreds of steps. Throws IntegrationFailed.
  virtual Arrival reach(double limit, bool step_by_step = true) = 0;
  // Fills `between` with x at a time [s] within the last step. Throws IntegrationFailed for other times.
  virtual void interpolate(double t) = 0;
  // Limits all further steps to h [s]; infinity: no limit.
  virtual void limit_step(double h) = 0;

  [[nodiscard]] virtual double time() const noexcept = 0;
  [[nodiscard]] virtual double elapsed() const noexcept = 0;  // since the last start [s]
  // Size of the first step since the last start [s]; 0 if a step since then was too large at first.
  [[nodiscard]] virtual double first_step() const noexcept = 0;
  [[nodiscard]] virtual bool has_moved() const noexcept = 0;
  [[nodiscard]] virtual Effort effort() const noexcept = 0;
};

using MakeFormula = std::unique_ptr<StepFormula>(OdeEvaluation&);

// The local error of each state is relative to rtol |x| + atol; its norm is the root mean square.
class OneStepSolver final : public OdeSolver {
 public:
  OneStepSolver(MakeFormula*, OdeProblem&, OdeSize, double rtol);

  [[nodiscard]] std::span<double> x() noexcept override { return x_; }
  [[nodiscard]] std::span<double> atol() noexcept override { return atol_; }
  [[nodiscard]] std::span<double> between() noexcept override { return between_; }

  void start(double t, double first_step) override;
  Arrival reach(double limit, bool step_by_step) override;
  void interpolate(double t) override;
  void limit_step(double h) noexcept override { longest_step_ = h; }

  [[nodiscard]] double time() const noexcept override { return evaluation_.absolute(t_); }
  [[nodiscard]] double elapsed() const noexcept override { return t_; }
  [[nodiscard]] double first_step() const noexcept override { return rejected_ ? 0.0 : first_step_; }
  [[nodiscard]] bool has_moved() const noexcept override { return first_step_ > 0.0; }
  [[nodiscard]] Effort effort() const noexcept override { return evaluation_.effort; }

 private:
  void look_around();
  [[nodiscard]] double first_size(double end);
  std::vector<std::size_t> step(double end);
  [[nodiscard]] double planned(double end) const noexcept;
  bool attempt(double h, double end);
  void avoid(double h) noexcept;
  void accept(double h, double end);
  void go_back(double t);
  // Moves `end` to just after the first root; returns false if an indicator cannot be evaluated before it.
  bool locate(double h, double& end);
  [[nodiscard]] std::size_t leading() const noexcept;
  [[nodiscard]] StepStart begin() const noexcept { return {t_, x_, slopes_, nominal_}; }
  void measure(std::span<const double> end) noexcept;
  [[nodiscard]] double size(std::span<const double>) const noexcept;

  OdeEvaluation evaluation_;
  std::unique_ptr<StepFormula> formula_;
  double rtol_;
  std::vector<double> x_, atol_, between_, nominal_, scale_;
  std::vector<double> slopes_, next_slopes_, probe_;
  std::vector<double> signs_, low_, middle_, high_;  // indicators at the present point, and around a root
  double t_ = 0.0;                                   // since the start, like all times here
  double from_ = 0.0, length_ = 0.0;                 // of the last step
  double h_ = 0.0;                                   // of the next step; 0: to be estimated
  double longest_step_ = std::numeric_limits<double>::infinity();
  double first_step_ = 0.0, error_ = 0.0, last_error_ = 0.0;
  bool rejected_ = false;  // a step since the start was rejected
  bool shrunk_ = false;    // the present step was shortened
  bool known_ = false;     // slopes and indicators at the present point are known
};

enum class SolverKind { dormand_prince, rosenbrock };

std::unique_ptr<OdeSolver> make_solver(SolverKind, OdeProblem&, OdeSize, double rtol);

}  // namespace ssptool
