// Steps of x' = f(t, x) by formulas, and the problems that they solve, independent of instances.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ssptool {

// f, g and df/dx at absolute times [s]. False means that the point must be avoided: a shorter step is tried. The same
// applies to values that are nan. Exceptions are passed on by the solver, which must then be restarted.
class OdeProblem {
 public:
  OdeProblem() = default;
  OdeProblem(const OdeProblem&) = delete;
  OdeProblem& operator=(const OdeProblem&) = delete;
  virtual ~OdeProblem() = default;

  virtual bool slopes(double t, const double* x, double* dx) = 0;

  // Only called if there are indicators. An event is a change between z > 0 and z ≤ 0: zero counts as negative.
  virtual bool indicators(double t, const double* x, double* z);

  // df/dx (n, n), by columns; only called if the problem provides it. Otherwise, solvers use one-sided differences of
  // f.
  [[nodiscard]] virtual bool has_jacobian() const { return false; }
  virtual bool jacobian(double t, const double* x, double* columns);
};

struct OdeSize {
  std::size_t states;
  std::size_t indicators = 0;
};

// Sums over all starts.
struct Effort {
  std::int64_t steps = 0, evaluations = 0, error_test_failures = 0;
  std::int64_t convergence_failures = 0;  // steps to a point that must be avoided
  std::int64_t jacobians = 0, root_evaluations = 0;
};

// f, g and df/dx in the time of a solver, which is relative to its last start, so that steps and roots keep their
// precision at late times.
class OdeEvaluation {
 public:
  OdeEvaluation(OdeProblem& problem, OdeSize problem_size) : size(problem_size), problem_(problem) {}

  bool slopes(double elapsed, std::span<const double> x, std::span<double> dx);
  bool indicators(double elapsed, std::span<const double> x, std::span<double> z);
  [[nodiscard]] bool has_jacobian() const { return problem_.has_jacobian(); }
  bool jacobian(double elapsed, std::span<const double> x, std::span<double> columns);

  void start(double t) noexcept { origin_ = t; }
  [[nodiscard]] double absolute(double elapsed) const noexcept { return origin_ + elapsed; }
  [[nodiscard]] double elapsed(double t) const noexcept { return t - origin_; }

  const OdeSize size;
  Effort effort;

 private:
  OdeProblem& problem_;
  double origin_ = 0.0;
};

// The start of a step.
struct StepStart {
  double t;  // since the start [s]
  std::span<const double> x, slopes;
  std::span<const double> nominal;  // usual sizes of the states
};

// One step of a pair of formulas of orders 5 and 4: x at its end, an estimate of the error, and x in between.
class StepFormula {
 public:
  explicit StepFormula(std::size_t states) : x_(states), error_(states) {}
  StepFormula(const StepFormula&) = delete;
  StepFormula& operator=(const StepFormula&) = delete;
  virtual ~StepFormula() = default;

  // Steps from the start by h [s]; false: this leads to a point that must be avoided. The start may be the same as
  // before.
  virtual bool attempt(const StepStart&, double h) = 0;
  [[nodiscard]] std::span<const double> x() const noexcept { return x_; }
  [[nodiscard]] std::span<const double> error() const noexcept { return error_; }
  // x' at the end; false if it cannot be evaluated.
  virtual bool slopes_at_end(double t, std::span<double>) = 0;
  // Prepares `interpolate` for the last attempt; it then returns x (n,) at a fraction of the step, until another
  // attempt is prepared.
  virtual void prepare(const StepStart&) = 0;
  virtual void interpolate(double part, std::span<double> x) const = 0;
  // Must be called when the next step starts at another point.
  virtual void leave_start() = 0;

 protected:
  std::vector<double> x_, error_;
};

}  // namespace ssptool
