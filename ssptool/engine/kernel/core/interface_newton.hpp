// Newton's method on the interface of a group whose step is repeated.
//
// Sicklinger, Belsky, Engelmann, Elmqvist, Olsson, Wüchner, Bletzinger 2014, "Interface Jacobian-based co-simulation";
// Curtis, Powell, Reid 1974 (colours); Kelley 2003, "Solving nonlinear equations with Newton's method", §2.3 (when to
// renew the Jacobian).
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "calls.hpp"
#include "jacobians.hpp"

namespace ssptool {

// Derivatives of the unknowns of a group at the end of a step by their values in it, by column: whether they are known,
// and their values.
struct StepDerivatives {
  explicit StepDerivatives(std::size_t unknowns) : matrix(unknowns, unknowns), known(unknowns) {}

  DenseMatrix matrix;
  std::vector<bool> known;
};

// Known facts about the steps of a group: which unknowns depend on which (none: all on all), and their derivatives at
// the present point, in the units of the signals, for steps of h [s] with inputs of this order (empty: unknown).
struct GroupInterface {
  std::optional<Pattern> pattern;
  std::function<StepDerivatives(double h, int order, double held)> derivatives;
};

// The present step of a group, in nominal values.
class RepeatedStep {
 public:
  RepeatedStep() = default;
  RepeatedStep(const RepeatedStep&) = delete;
  RepeatedStep& operator=(const RepeatedStep&) = delete;
  virtual ~RepeatedStep() = default;

  // The result of repeating the step with x; nan if it fails.
  virtual std::vector<double> repeated(std::span<const double> x) = 0;
  // At the present point of the components.
  [[nodiscard]] virtual StepDerivatives derivatives() const = 0;
  [[nodiscard]] virtual Pattern pattern() const = 0;
};

// Solve (dS/dx − 1) p = x − S(x), where S maps the inputs at the end of a step to what comes out for them.
//
// dS/dx follows from partial derivatives of the FMUs where they give them, at the point where they are. That takes no
// step, so it is done in every iteration if no column is missing. Missing columns come from finite differences of whole
// steps, one step per colour of the pattern; then the Jacobian is kept from iteration to iteration and from step to
// step, and computed again when an iteration hardly reduces the residual.
//
// Derivatives of FMUs need not be those of their steps: after some iterations of one step that hardly reduce the
// residual, with derivatives taken at the point itself, differences take their place for good. The Jacobian changes the
// number of iterations, not the solution of a step.
class InterfaceNewton {
 public:
  // Starts a new step.
  void begin() noexcept;
  std::vector<double> next(std::span<const double> x, std::span<const double> found, RepeatedStep&);

  // Whether plain iteration would diverge, according to the last Jacobian.
  [[nodiscard]] bool repels() const;

  [[nodiscard]] JacobianMemory memory() const;
  // For this number of unknowns.
  void go_on(const JacobianMemory&, std::size_t unknowns);

 private:
  void doubt() noexcept;
  std::optional<DenseMatrix> inverse(std::span<const double> x, std::span<const double> found, RepeatedStep&);
  DenseMatrix jacobian(std::span<const double> x, std::span<const double> found, RepeatedStep&);

  bool differences_ = false;            // differences replace derivatives
  bool free_ = false;                   // the inverse is from derivatives at the last iterate
  std::optional<DenseMatrix> inverse_;  // of dS/dx − 1
  std::optional<double> last_size_;     // of the residual in the present step
  int misses_ = 0;
};

}  // namespace ssptool
