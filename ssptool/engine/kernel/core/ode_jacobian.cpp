#include "ode_jacobian.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ssptool {

namespace {

// Rounding of a derivative, in squares of the relative step.
constexpr double noise = 100.0;

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

// Where a difference crosses a jump of f, of which no event indicator tells, it is the jump divided by a tiny step, and
// any step of an integrator would seem converged. The one to the other side does not cross it: of both, the smaller
// ones.
bool OdeJacobian::differences(double t, const double* x) {
  const std::size_t n = matrix_.rows;
  moved_.assign(x, x + n);
  if (!slopes(t, moved_, value_) || !differences_to(1.0, t, x)) return false;
  if (hold_before(t, x)) return true;
  const std::vector<double> ahead = matrix_.elements;
  std::vector<double>& elements = matrix_.elements;
  const bool done = differences_to(-1.0, t, x);
  for (std::size_t k = 0; k < elements.size(); ++k)
    if (!done || !(std::abs(elements[k]) < std::abs(ahead[k]))) elements[k] = ahead[k];
  return true;
}

// One-sided differences of f from its value, one evaluation per colour of its pattern.
bool OdeJacobian::differences_to(double side, double t, const double* x) {
  const std::size_t n = matrix_.rows;
  const std::vector<double> wanted = steps(x);
  std::ranges::fill(matrix_.elements, 0.0);
  for (const Columns& columns : colours_) {
    moved_.assign(x, x + n);
    for (const std::size_t j : columns) moved_[j] += side * wanted[j];
    if (!slopes(t, moved_, changed_)) return false;
    for (const std::size_t j : columns) {
      const double step = moved_[j] - x[j];  // after rounding, not the intended one
      for (std::size_t i = 0; i < n; ++i)
        if (pattern_(i, j)) matrix_(i, j) = (changed_[i] - value_[i]) / step;
    }
  }
  return true;
}

std::vector<double> OdeJacobian::steps(const double* x) const {
  std::vector<double> found(matrix_.rows);
  for (std::size_t j = 0; j < found.size(); ++j) found[j] = plan_.relative_step * std::max(std::abs(x[j]), nominal_[j]);
  return found;
}

// Moves away from x; returns the steps after rounding.
std::vector<double> OdeJacobian::moved_by(const std::vector<double>& wanted, const double* x) {
  std::vector<double> done(wanted.size());
  for (std::size_t j = 0; j < wanted.size(); ++j) {
    moved_[j] = x[j] + wanted[j];
    done[j] = moved_[j] - x[j];
  }
  return done;
}

// Whether f changes as the matrix predicts, to the other side than its differences, or cannot be evaluated there.
bool OdeJacobian::hold_before(double t, const double* x) {
  std::vector<double> back = steps(x);
  for (double& step : back) step = -step;
  const std::vector<double> step = moved_by(back, x);
  return !slopes(t, moved_, changed_) || predicts(step);
}

// Whether f changes as the matrix at (t, x) predicts, along one direction, or cannot be evaluated.
bool OdeJacobian::fits(double t, const double* x) {
  const std::vector<double> step = moved_by(probe(steps(x)), x);
  const bool beside = slopes(t, moved_, changed_);
  moved_.assign(x, x + matrix_.rows);
  return !slopes(t, moved_, value_) || !beside || predicts(step);
}

// Of a step from where f has its value to where it is changed.
bool OdeJacobian::predicts(const std::vector<double>& step) const {
  const std::size_t n = matrix_.rows;
  std::vector<double> change(n), rounding(n);
  for (std::size_t i = 0; i < n; ++i) {
    change[i] = changed_[i] - value_[i];
    rounding[i] = noise * plan_.relative_step * plan_.relative_step * std::abs(value_[i]);
  }
  return !ssptool::contradicted(matrix_, step, change, rounding);
}

// With x' = A x + B u, y = C x + D u and u = W y, df/dx = A + B (1 − W D)⁻¹ W C, which is exact with algebraic loops
// too.
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
