#include "ode_solvers.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "dense.hpp"
#include "dormand_prince.hpp"
#include "rosenbrock.hpp"

namespace ssptool {

namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();
constexpr int most_steps = 500;     // of one call
constexpr int most_failures = 100;  // of one step
constexpr int most_tries = 10;      // for the size of the first step
constexpr double safety = 0.9;
constexpr double most_growth = 6.0;
constexpr double least_shrinkage = 0.1;
constexpr double least_error = 1e-4;  // that counts for the size of the step after the next

double eighth_root(double a) noexcept { return std::sqrt(std::sqrt(std::sqrt(a))); }

// error^(−5/32) last^(1/16): a proportional and an integral part.
double growth(double error, double last_error) noexcept {
  if (error == 0.0) return most_growth;
  const double root = eighth_root(error);
  const double factor = safety * std::sqrt(eighth_root(last_error)) / (root * std::sqrt(std::sqrt(root)));
  return std::clamp(factor, least_shrinkage, most_growth);
}

// error^(−3/16)
double shrinkage(double error) noexcept {
  const double root = eighth_root(error);
  return std::max(safety / (root * std::sqrt(root)), least_shrinkage);
}

bool differ(double a, double b) noexcept { return (a > 0.0) != (b > 0.0); }

bool any_differ(std::span<const double> a, std::span<const double> b) noexcept {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (differ(a[i], b[i])) return true;
  return false;
}

template <typename Formula>
std::unique_ptr<StepFormula> make(OdeEvaluation& evaluation) {
  return std::make_unique<Formula>(evaluation);
}

}  // namespace

OneStepSolver::OneStepSolver(MakeFormula* formula, OdeProblem& problem, OdeSize size, double rtol)
    : evaluation_(problem, size),
      formula_(formula(evaluation_)),
      rtol_(rtol),
      x_(size.states),
      atol_(size.states, rtol),
      between_(size.states),
      nominal_(size.states),
      scale_(size.states),
      slopes_(size.states),
      next_slopes_(size.states),
      probe_(size.states),
      signs_(size.indicators),
      low_(size.indicators),
      middle_(size.indicators),
      high_(size.indicators) {}

void OneStepSolver::start(double t, double first_step) {
  evaluation_.start(t);
  t_ = from_ = length_ = 0.0;
  h_ = first_step;
  first_step_ = last_error_ = 0.0;
  rejected_ = shrunk_ = known_ = false;
  for (std::size_t i = 0; i < nominal_.size(); ++i) nominal_[i] = atol_[i] / rtol_;
  formula_->leave_start();
}

Arrival OneStepSolver::reach(double limit, bool step_by_step) {
  const double end = evaluation_.elapsed(limit);
  std::vector<std::size_t> roots;
  for (int i = 0; i < most_steps && t_ < end; ++i) {
    roots = step(end);
    if (step_by_step || !roots.empty()) break;
  }
  return {t_ == end ? limit : time(), std::move(roots)};
}

void OneStepSolver::interpolate(double t) {
  const double elapsed = evaluation_.elapsed(t);
  const double slack = 8.0 * epsilon * (std::abs(time()) + std::abs(t) + length_);
  if (elapsed < from_ - slack || elapsed > t_ + slack)
    throw IntegrationFailed(time(), "the time asked for is not within its last step");
  if (elapsed >= t_ || length_ == 0.0)
    std::copy(x_.begin(), x_.end(), between_.begin());
  else
    formula_->interpolate(std::max(elapsed - from_, 0.0) / length_, between_);
}

void OneStepSolver::look_around() {
  if (known_) return;
  if (!evaluation_.slopes(t_, x_, slopes_))
    throw IntegrationFailed(time(), "the state derivatives cannot be evaluated at its start");
  if (!evaluation_.indicators(t_, x_, signs_))
    throw IntegrationFailed(time(), "the event indicators cannot be evaluated at its start");
  known_ = true;
}

// With D the change of x in the time T = |x'| / |x''| in which x' changes, in tolerances, an error of order 5 is
// D (h/T)^5. No unit of time is hidden in the choice (unlike in that of Hairer, Nørsett and Wanner 1993, §II.4).
double OneStepSolver::first_size(double end) {
  const double span = std::min(end - t_, longest_step_);
  measure(x_);
  const double speed = size(slopes_);
  const double pace = rtol_ * speed;
  double h = std::min(pace > 0.0 ? 0.01 / pace : 1e-4 * span, span);
  if (h == 0.0) return h;
  for (int tries = 1;; ++tries) {
    for (std::size_t i = 0; i < x_.size(); ++i) probe_[i] = x_[i] + h * slopes_[i];
    if (evaluation_.slopes(t_ + h, probe_, next_slopes_)) break;
    h = 0.1 * h;
    if (tries == most_tries) return h;
  }
  for (std::size_t i = 0; i < x_.size(); ++i) next_slopes_[i] = next_slopes_[i] - slopes_[i];
  const double bend = size(next_slopes_) / h;
  double found = 100.0 * h;
  if (bend > 0.0) {
    const double time = speed / bend, change = speed * time;
    double by_order = 0.0;
    if (change > 0.0) {
      const double root = eighth_root(0.01 / change);
      by_order = time * (root * std::sqrt(root));
    }
    found = std::min(found, std::max(by_order, std::sqrt(0.01 / bend)));
  }
  return std::min(found, span);
}

std::vector<std::size_t> OneStepSolver::step(double end) {
  look_around();
  if (h_ == 0.0) h_ = first_size(end);
  for (int failures = 0; failures < most_failures; ++failures) {
    const double h = planned(end);
    if (!(t_ + h > t_)) break;
    const double stop = h == end - t_ ? end : t_ + h;
    if (!attempt(h, stop)) continue;
    formula_->prepare(begin());
    if (!any_differ(signs_, high_)) {
      accept(h, stop);
      return {};
    }
    double root = stop;
    if (locate(h, root)) {
      std::vector<std::size_t> roots;
      for (std::size_t i = 0; i < low_.size(); ++i)
        if (differ(low_[i], high_[i])) roots.push_back(i);
      accept(h, stop);
      if (root < stop) go_back(root);
      return roots;
    }
    avoid(h);
  }
  throw IntegrationFailed(time(), "the smallest step is too large");
}

double OneStepSolver::planned(double end) const noexcept {
  const double h = std::min(h_, longest_step_), left = end - t_;
  if (h >= left) return left;
  // Two equal steps rather than a tiny one at the end.
  return 2.0 * h > left ? 0.5 * left : h;
}

bool OneStepSolver::attempt(double h, double end) {
  if (!formula_->attempt(begin(), h) || !finite(formula_->x())) {
    avoid(h);
    return false;
  }
  measure(formula_->x());
  error_ = size(formula_->error());
  if (std::isfinite(error_) && error_ > 1.0) {
    ++evaluation_.effort.error_test_failures;
    rejected_ = shrunk_ = true;
    h_ = h * shrinkage(error_);
    return false;
  }
  if (!std::isfinite(error_) || !formula_->slopes_at_end(end, next_slopes_) ||
      !evaluation_.indicators(end, formula_->x(), high_)) {
    avoid(h);
    return false;
  }
  return true;
}

void OneStepSolver::avoid(double h) noexcept {
  ++evaluation_.effort.convergence_failures;
  shrunk_ = true;
  h_ = 0.25 * h;
}

void OneStepSolver::accept(double h, double end) {
  ++evaluation_.effort.steps;
  const double factor = growth(error_, std::max(last_error_, least_error));
  // A step that only the limit has made short tells nothing against a longer one.
  h_ = shrunk_ ? h * std::min(factor, 1.0) : std::max(h * factor, h < h_ ? h_ : 0.0);
  last_error_ = error_;
  if (first_step_ == 0.0) first_step_ = h;
  shrunk_ = false;
  from_ = t_;
  length_ = h;
  std::copy(formula_->x().begin(), formula_->x().end(), x_.begin());
  std::swap(slopes_, next_slopes_);
  std::swap(signs_, high_);
  t_ = end;
  formula_->leave_start();
}

void OneStepSolver::go_back(double t) {
  formula_->interpolate((t - from_) / length_, x_);
  t_ = t;
  known_ = false;
}

void OneStepSolver::measure(std::span<const double> end) noexcept {
  for (std::size_t i = 0; i < x_.size(); ++i)
    scale_[i] = rtol_ * std::max(std::abs(x_[i]), std::abs(end[i])) + atol_[i];
}

double OneStepSolver::size(std::span<const double> vector) const noexcept {
  double sum = 0.0;
  for (std::size_t i = 0; i < vector.size(); ++i) {
    const double part = vector[i] / scale_[i];
    sum += part * part;
  }
  return std::sqrt(sum / static_cast<double>(vector.size()));
}

std::size_t OneStepSolver::leading() const noexcept {
  std::size_t found = 0;
  double most = -1.0;
  for (std::size_t i = 0; i < low_.size(); ++i) {
    if (!differ(low_[i], high_[i])) continue;
    if (const double part = std::abs(high_[i]) / std::abs(high_[i] - low_[i]); part > most) {
      most = part;
      found = i;
    }
  }
  return found;
}

// Regula falsi with halved weights of an end that stays (Illinois), on the indicator that crosses first; each third
// guess is the middle, so that the work is bounded for any function.
bool OneStepSolver::locate(double h, double& end) {
  low_ = signs_;
  double low = t_, high = end, weight = 1.0;
  int side = 0;
  const double close = 4.0 * epsilon * end;
  for (int i = 1; high - low > close; ++i) {
    const double width = high - low;
    const std::size_t k = leading();
    double part = 0.5;
    if (i % 3 != 0) part = high_[k] / (high_[k] - weight * low_[k]);
    const double middle = std::clamp(high - width * part, low + 0.5 * close, high - 0.5 * close);
    if (!(low < middle && middle < high)) break;
    formula_->interpolate((middle - t_) / h, probe_);
    if (!evaluation_.indicators(middle, probe_, middle_)) return false;
    if (any_differ(low_, middle_)) {
      high = middle;
      std::swap(high_, middle_);
      weight = side == 1 ? 0.5 * weight : 1.0;
      side = 1;
    } else {
      low = middle;
      std::swap(low_, middle_);
      weight = side == -1 ? 2.0 * weight : 1.0;
      side = -1;
    }
  }
  end = high;
  return true;
}

std::unique_ptr<OdeSolver> make_solver(SolverKind kind, OdeProblem& problem, OdeSize size, double rtol) {
  switch (kind) {
    case SolverKind::dormand_prince: return std::make_unique<OneStepSolver>(make<DormandPrince>, problem, size, rtol);
    case SolverKind::rosenbrock: return std::make_unique<OneStepSolver>(make<Rosenbrock>, problem, size, rtol);
  }
  throw std::invalid_argument("unknown solver");
}

}  // namespace ssptool
