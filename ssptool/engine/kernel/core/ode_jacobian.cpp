#include "ode_jacobian.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace ssptool {

namespace {

// If f is noisy over a step, the next one is this many times larger, up to this relative size.
constexpr double coarser_by = 1000.0, coarsest = 1e-2;

// Rounding of a derivative, as a multiple of the square of the relative step.
constexpr double rounding_squares = 100.0;

// Distance at which differences are checked, in their steps.
constexpr double far_check = -1000.0;
constexpr std::array near_checks = {1.0, 4.0, 16.0};

std::vector<double> multiple(double factor, std::vector<double> vector) {
  for (double& one : vector) one *= factor;
  return vector;
}

double coarser(double relative_step) { return std::min(coarser_by * relative_step, coarsest); }

std::vector<double> column(const DenseMatrix& matrix, std::size_t j, std::size_t first, std::size_t end) {
  std::vector<double> found;
  for (std::size_t i = first; i < end; ++i) found.push_back(matrix(i, j));
  return found;
}

}  // namespace

OdeJacobian::OdeJacobian(OdeSystem& system, PlannedOdeJacobian plan)
    : system_(system),
      plan_(std::move(plan)),
      pattern_(plan_.pattern.value_or(Pattern(system.size(), system.size(), true))),
      colours_(colours(pattern_)),
      relative_step_(plan_.relative_step),
      nominal_(system.size(), 1.0),
      moved_(system.size()),
      value_(system.size()),
      changed_(system.size()),
      whole_(system.size() + plan_.wires.columns, system.size() + plan_.wires.rows),
      matrix_(system.size(), system.size()) {
  for (const OdePart& part : plan_.parts) colours_of_parts_.push_back(colours(part.pattern));
}

bool OdeJacobian::fill(double t, const double* x, double* columns) {
  const std::size_t n = matrix_.rows;
  if (!kept_.empty() && !asked_ && times_ < plan_.kept_for) {
    asked_ = true;
    ++times_;
    std::ranges::copy(kept_, columns);
    return true;
  }
  const bool done = calculate(t, x);
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t i = 0; i < n; ++i) columns[j * n + i] = matrix_(i, j);
  kept_.clear();
  if (done) kept_.assign(columns, columns + n * n);
  asked_ = true;
  times_ = 0;
  return done;
}

bool OdeJacobian::calculate(double t, const double* x) {
  const bool trusted = plan_.directional && !contradicted_;
  if (trusted && derivatives(t, x) && fits(t, x)) return true;
  if (!differences(t, x)) return false;
  if (trusted) {
    contradicted_ = true;
    on_contradiction();
  }
  return true;
}

bool OdeJacobian::slopes(double t, const std::vector<double>& x, std::vector<double>& found) {
  ++evaluations_;
  return system_.slopes(t, x.data(), found.data());
}

void OdeJacobian::forget() noexcept {
  kept_.clear();
  relative_step_ = plan_.relative_step;
}

// If f jumps without an event indicator, a difference across the jump is the jump divided by a tiny step. If f is
// noisy, for example because a solver inside an FMU stops early, a difference is the noise divided by the step. With
// either in the Jacobian, any step of an integrator would seem converged, and its error small. Therefore differences
// must predict the change of f far to the other side or, because f may be curved, near to one side. If they do not,
// differences to both sides are computed, and the smaller ones are used, which do not cross a jump. If these fail, too,
// f is noise over such steps, and larger steps are used. At a limit beyond which f cannot be evaluated, only one side
// is used.
bool OdeJacobian::differences(double t, const double* x) {
  moved_.assign(x, x + matrix_.rows);
  if (!slopes(t, moved_, value_)) return false;
  if (!differences_to(1.0, t, x)) return differences_to(-1.0, t, x);
  std::vector<double>& elements = matrix_.elements;
  while (!tells_far(t, x) && !tells_near(t, x)) {
    std::vector<double> one = elements;
    if (differences_to(-1.0, t, x))
      for (std::size_t k = 0; k < one.size(); ++k)
        if (std::abs(elements[k]) < std::abs(one[k])) one[k] = elements[k];
    elements = one;
    if (relative_step_ == coarsest || tells_near(t, x)) break;
    relative_step_ = coarser(relative_step_);
    if (!differences_to(1.0, t, x)) elements = one;
  }
  return true;
}

// One-sided differences of f, one evaluation per colour of its pattern.
bool OdeJacobian::differences_to(double side, double t, const double* x) {
  const std::size_t n = matrix_.rows;
  const std::vector<double> wanted = steps(relative_step_, x);
  std::ranges::fill(matrix_.elements, 0.0);
  for (const Columns& columns : colours_) {
    moved_.assign(x, x + n);
    for (const std::size_t j : columns) moved_[j] += side * wanted[j];
    if (!slopes(t, moved_, changed_)) return false;
    for (const std::size_t j : columns) {
      const double step = moved_[j] - x[j];  // the rounded step, not the intended one
      for (std::size_t i = 0; i < n; ++i)
        if (pattern_(i, j)) matrix_(i, j) = (changed_[i] - value_[i]) / step;
    }
  }
  return true;
}

std::vector<double> OdeJacobian::steps(double relative, const double* x) const {
  std::vector<double> found(matrix_.rows);
  for (std::size_t j = 0; j < found.size(); ++j) found[j] = relative * std::max(std::abs(x[j]), nominal_[j]);
  return found;
}

bool OdeJacobian::tells_far(double t, const double* x) {
  return relative_step_ < coarsest && tells(t, x, multiple(far_check, steps(relative_step_, x)));
}

bool OdeJacobian::tells_near(double t, const double* x) {
  const std::vector<double> step = steps(relative_step_, x);
  for (const double side : {1.0, -1.0})
    if (std::ranges::all_of(near_checks, [&](double times) { return tells(t, x, multiple(side * times, step)); }))
      return true;
  return false;
}

// Whether f changes from (t, x) as the matrix predicts, along one direction, or cannot be evaluated. If f is noisy over
// a step, a larger one is used.
bool OdeJacobian::fits(double t, const double* x) {
  moved_.assign(x, x + matrix_.rows);
  if (!slopes(t, moved_, value_)) return true;
  double relative = relative_step_;
  while (!tells(t, x, probe(steps(relative, x)))) {
    if (relative == coarsest) return false;
    relative = coarser(relative);
  }
  return true;
}

// Whether f changes as the matrix predicts, or cannot be evaluated at the new point.
bool OdeJacobian::tells(double t, const double* x, const std::vector<double>& wanted) {
  const std::size_t n = matrix_.rows;
  std::vector<double> step(n), change(n), rounding(n);
  for (std::size_t j = 0; j < n; ++j) {
    moved_[j] = x[j] + wanted[j];
    step[j] = moved_[j] - x[j];
  }
  if (!slopes(t, moved_, changed_)) return true;
  for (std::size_t i = 0; i < n; ++i) {
    change[i] = changed_[i] - value_[i];
    rounding[i] = rounding_squares * plan_.relative_step * plan_.relative_step * std::abs(value_[i]);
  }
  return !contradicted(matrix_, step, change, rounding);
}

// With x' = A x + B u, y = C x + D u and u = W y, df/dx = A + B (1 − W D)⁻¹ W C, which is also exact with algebraic
// loops.
bool OdeJacobian::derivatives(double t, const double* x) {
  if (!system_.reach(t, x, false)) return false;
  for (std::size_t model = 0; model < plan_.parts.size(); ++model)
    if (!derivatives_of(model, t)) return false;
  return through_wires() && matrix_.finite();
}

bool OdeJacobian::derivatives_of(std::size_t model, double t) {
  const OdePart& part = plan_.parts[model];
  if (part.unknowns.empty()) return true;
  std::vector<double> seed(part.columns.size()), sensitivity(part.rows.size());
  for (const Columns& columns : colours_of_parts_[model]) {
    std::ranges::fill(seed, 0.0);
    for (const std::size_t j : columns) seed[j] = 1.0;
    if (!system_.directional_derivative(model, part.unknowns, part.knowns, seed, sensitivity, t)) return false;
    for (const std::size_t j : columns)
      for (std::size_t i = 0; i < sensitivity.size(); ++i)
        if (part.pattern(i, j)) whole_(part.rows[i], part.columns[j]) = sensitivity[i];
  }
  return true;
}

bool OdeJacobian::through_wires() {
  const std::size_t n = matrix_.rows, inputs = plan_.wires.rows, outputs = n + plan_.wires.columns;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) matrix_(i, j) = whole_(i, j);
  if (plan_.wires.elements.empty()) return true;
  DenseMatrix loops = DenseMatrix::identity(inputs), by_inputs(n, inputs);
  for (std::size_t j = 0; j < inputs; ++j) {
    const std::vector<double> back = times(plan_.wires, column(whole_, n + j, n, outputs));
    for (std::size_t i = 0; i < inputs; ++i) loops(i, j) -= back[i];
    for (std::size_t i = 0; i < n; ++i) by_inputs(i, j) = whole_(i, n + j);
  }
  const PartialPivotLu lu(std::move(loops));
  if (!lu.regular()) return false;
  std::vector<double> moved(inputs);
  for (std::size_t j = 0; j < n; ++j) {
    lu.solve(times(plan_.wires, column(whole_, j, n, outputs)), moved);
    const std::vector<double> more = times(by_inputs, moved);
    for (std::size_t i = 0; i < n; ++i) matrix_(i, j) += more[i];
  }
  return true;
}

}  // namespace ssptool
