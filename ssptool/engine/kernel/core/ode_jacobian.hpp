// df/dx of an ODE: from directional derivatives of its components, or from differences.
//
// CVODE's own differences are not used: their increments shrink with the step size, far below the accuracy to which
// algebraic loops are solved, and with a Jacobian that is noise Newton's method stops where nothing is solved.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "fmi.hpp"
#include "jacobians.hpp"
#include "ode_system.hpp"

namespace ssptool {

// The entries of one component in the matrices A, B, C and D, where x' = A x + B u, y = C x + D u, u = W y.
struct OdePart {
  std::vector<fmi::Reference> unknowns, knowns;  // an array has a single reference
  std::vector<std::size_t> rows, columns;        // places of all elements in [x', y] and [x, u]
  Pattern pattern;                               // which unknown may depend on which known
};

struct PlannedOdeJacobian {
  bool directional = false;  // else by differences alone
  // Accuracy of f: of differences the step of the larger of a state and its nominal value, relative, unless f turns out
  // to be noise over it.
  double relative_step = 0.0;
  int kept_for = 0;                // starts of an integrator that may use one Jacobian
  std::optional<Pattern> pattern;  // which derivative may depend on which state; none: each on each
  std::vector<OdePart> parts;      // one per model, where `directional`
  DenseMatrix wires{0, 0};         // W
};

// It may be kept over starts that only follow changes of inputs. If the integrator asks again before the next start,
// the one that was kept was not good enough: what changes is effort, not accuracy.
//
// Directional derivatives are checked by two evaluations along one direction each time. After the first contradiction,
// differences replace them: with a Jacobian that is too large, an integrator would report convergence and continue with
// wrong states.
class OdeJacobian {
 public:
  OdeJacobian(OdeSystem&, PlannedOdeJacobian);

  // Directional derivatives have turned out to be wrong.
  std::function<void()> on_contradiction = [] {};

  // See OdeProblem.
  bool fill(double t, const double* x, double* columns);

  // Usual sizes of the states, from now on.
  void sizes(std::span<const double> nominal) { nominal_.assign(nominal.begin(), nominal.end()); }
  // The integrator starts again.
  void start() noexcept { asked_ = false; }
  // What is kept, and what was learned about f, is of no use any more.
  void forget() noexcept;

  [[nodiscard]] std::int64_t evaluations() const noexcept { return evaluations_; }  // of f

 private:
  using Columns = std::vector<std::size_t>;

  bool calculate(double t, const double* x);
  bool differences(double t, const double* x);
  bool differences_to(double side, double t, const double* x);
  [[nodiscard]] std::vector<double> steps(double relative, const double* x) const;
  bool tells_far(double t, const double* x);
  bool tells_near(double t, const double* x);
  bool tells(double t, const double* x, const std::vector<double>& wanted);
  bool derivatives(double t, const double* x);
  bool derivatives_of(std::size_t model, double t);
  bool through_wires();
  bool fits(double t, const double* x);
  bool slopes(double t, const std::vector<double>& x, std::vector<double>& found);

  OdeSystem& system_;
  PlannedOdeJacobian plan_;
  Pattern pattern_;
  std::vector<Columns> colours_;
  std::vector<std::vector<Columns>> colours_of_parts_;
  double relative_step_;
  std::vector<double> nominal_, moved_, value_, changed_;
  DenseMatrix whole_;   // A, B, C and D
  DenseMatrix matrix_;  // the last one
  std::vector<double> kept_;
  bool asked_ = true;          // for the one that is kept, since the last start
  int times_ = 0;              // that it was used again
  bool contradicted_ = false;  // directional derivatives were wrong
  std::int64_t evaluations_ = 0;
};

}  // namespace ssptool
