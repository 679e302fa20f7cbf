#include "loop_solvers.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "digits.hpp"
#include "special_numbers.hpp"

namespace ssptool {

namespace {

// An iteration is considered divergent if its residual exceeds its minimum by this factor.
constexpr double norm_growth_limit = 1e6;
// Maximum number of halvings of a step to a point at which g cannot be evaluated.
constexpr int max_retreats = 20;
// Maximum number of halvings of a Newton step, and the required part of the predicted decrease of the residual.
constexpr int max_halvings = 30;
constexpr double sufficient_decrease = 1e-4;

constexpr double first_step = 0.05;
constexpr double smallest_step = 1e-6;
constexpr int max_steps = 500;
constexpr int max_corrections = 6;
constexpr double path_tolerance = 1e-4;
constexpr double farthest = 1e8;

// Maximum iterations of each method: used alone, and used after Newton's method in the default chain.
constexpr std::int64_t fixed_point_iterations = 1000;
constexpr std::int64_t accelerated_iterations = 200;
constexpr std::int64_t patience = 100;
constexpr double damped = 0.5;

using Vector = std::vector<double>;

Vector over(std::span<const double> numbers, std::span<const double> nominal) {
  Vector result(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) result[i] = numbers[i] / nominal[i];
  return result;
}

Vector along(std::span<const double> x, double size, std::span<const double> direction) {
  Vector result(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) result[i] = x[i] + size * direction[i];
  return result;
}

// Scaled by nominal values.
DenseMatrix scaled(DenseMatrix jacobian, std::span<const double> nominal) noexcept {
  for (std::size_t i = 0; i < jacobian.rows; ++i)
    for (std::size_t j = 0; j < jacobian.columns; ++j) jacobian(i, j) = jacobian(i, j) * nominal[j] / nominal[i];
  return jacobian;
}

void tell(const Watch& watch, std::string_view solver, std::int64_t number, std::span<const double> x,
          std::span<const double> residual) {
  if (watch) watch(solver, number, x, residual);
}

}  // namespace

bool Convergence::reached(std::span<const double> difference, std::span<const double> x,
                          std::span<const double> nominal) const noexcept {
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!(std::abs(difference[i]) <= atol + rtol * std::max(std::abs(x[i]), nominal[i]))) return false;
  return true;
}

double scaled_norm(std::span<const double> residual, std::span<const double> nominal) noexcept {
  double most = 0.0;
  for (std::size_t i = 0; i < residual.size(); ++i) {
    const double own = std::abs(residual[i]) / nominal[i];
    if (std::isnan(own)) return own;
    most = std::max(most, own);
  }
  return most;
}

// -- fixed-point methods -----------------------------------------------------------------------------------------

namespace {

// The state of a fixed-point iteration.
struct Progress {
  explicit Progress(Vector start) : x(start), good(start), best(std::move(start)), best_residual(best.size(), nan) {}

  // To where the next residual is to be found.
  Vector x, good, best, best_residual;
  double best_norm = infinity;
  int retreats = 0;
  Vector history{};

  void note(const Vector& residual, double norm) {
    retreats = 0;
    good = x;
    history.push_back(norm);
    if (norm <= best_norm) keep(residual, norm);
  }
  void keep(const Vector& residual, double norm) {
    best = x;
    best_residual = residual;
    best_norm = norm;
  }
  // Returns false if there is no earlier point to go back to.
  bool retreat(double norm) {
    ++retreats;
    if (history.empty() || retreats > max_retreats) {
      history.push_back(norm);
      return false;
    }
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = good[i] + (x[i] - good[i]) / 2.0;
    return true;
  }
  [[nodiscard]] bool growing() const noexcept { return history.size() > 1 && history.back() > history.front(); }
};

}  // namespace

Solution ProposalSolver::solve(LoopFunction& g, const Vector& x0, const Domain& domain, const Watch& watch) const {
  const auto proposal = begin_(relaxation_);
  Progress progress(domain.clip(x0));
  SolutionStatus status = SolutionStatus::max_iterations;
  for (std::int64_t number = 1; number <= max_iterations_; ++number) {
    const Vector value = g.value(progress.x), residual = minus(value, progress.x);
    tell(watch, name_, number, progress.x, residual);
    const double norm = scaled_norm(residual, domain.nominal);
    if (!std::isfinite(norm)) {
      if (progress.retreat(norm)) continue;
      status = SolutionStatus::nonfinite;
      break;
    }
    progress.note(residual, norm);
    if (convergence_.reached(residual, progress.x, domain.nominal)) {
      progress.keep(residual, norm);
      status = SolutionStatus::converged;
      break;
    }
    if (norm > norm_growth_limit * progress.best_norm) {
      status = SolutionStatus::diverged;
      break;
    }
    Vector next = proposal->next(over(progress.x, domain.nominal), over(value, domain.nominal));
    for (std::size_t i = 0; i < next.size(); ++i) next[i] = domain.nominal[i] * next[i];
    progress.x = domain.clip(std::move(next));
  }
  if (status == SolutionStatus::max_iterations && progress.growing()) status = SolutionStatus::diverged;
  const auto count = static_cast<std::int64_t>(progress.history.size());
  return {.x = progress.best,
          .status = status,
          .iterations = count,
          .residual_norm = progress.best_norm,
          .residual = progress.best_residual,
          .history = progress.history,
          .solver = name_};
}

// -- Newton's method ---------------------------------------------------------------------------------------------

Solution Newton::solve(LoopFunction& g, const Vector& x0, const Domain& domain, const Watch& watch) const {
  const std::string name = std::string("Newton (") + jacobian_.name() + ")";
  Point point{.x = domain.clip(x0), .value = {}};
  point.value = g.value(point.x);
  Vector residual = minus(point.value, point.x);
  Vector history{scaled_norm(residual, domain.nominal)};
  tell(watch, name, 1, point.x, residual);
  std::optional<SolutionStatus> status = judge(point.x, residual, domain);
  bool tiny = false;
  while (!status && static_cast<std::int64_t>(history.size()) < max_iterations_) {
    const auto full = step(g, point, domain);
    if (!full) {
      status = SolutionStatus::singular;
      break;
    }
    tiny = convergence_.reached(*full, point.x, domain.nominal);
    auto moved = search(g, point, *full, domain);
    if (!moved) {
      static_cast<void>(g.value(point.x));  // leaves the components at the best point
      status = tiny ? SolutionStatus::converged : SolutionStatus::stalled;
      break;
    }
    point = std::move(*moved);
    residual = minus(point.value, point.x);
    history.push_back(scaled_norm(residual, domain.nominal));
    tell(watch, name, static_cast<std::int64_t>(history.size()), point.x, residual);
    status = judge(point.x, residual, domain);
  }
  const auto count = static_cast<std::int64_t>(history.size());
  return {.x = point.x,
          .status = status.value_or(tiny ? SolutionStatus::converged : SolutionStatus::max_iterations),
          .iterations = count,
          .residual_norm = scaled_norm(residual, domain.nominal),
          .residual = residual,
          .history = std::move(history),
          .solver = name};
}

std::optional<SolutionStatus> Newton::judge(std::span<const double> x, std::span<const double> residual,
                                            const Domain& domain) const {
  if (!finite(residual)) return SolutionStatus::nonfinite;
  if (convergence_.reached(residual, x, domain.nominal)) return SolutionStatus::converged;
  return std::nullopt;
}

// The full step, in the units of the signals; none if the Jacobian is singular or not finite.
std::optional<Vector> Newton::step(LoopFunction& g, const Point& point, const Domain& domain) const {
  const DenseMatrix jacobian = jacobian_.at(g, point.x, point.value, domain);
  if (!jacobian.finite() || null_direction(jacobian, jacobian_.precision())) return std::nullopt;
  DenseMatrix system = scaled(jacobian, domain.nominal);
  for (std::size_t i = 0; i < system.rows; ++i) system(i, i) -= 1.0;
  const FullPivotLu lu(std::move(system));
  if (lu.smallest_pivot() == 0.0) return std::nullopt;
  Vector result = lu.solve(over(minus(point.x, point.value), domain.nominal));
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = result[i] * domain.nominal[i];
  return result;
}

// The first point along the step whose residual is sufficiently smaller.
std::optional<Newton::Point> Newton::search(LoopFunction& g, const Point& point, std::span<const double> step,
                                            const Domain& domain) {
  const double size = norm(over(minus(point.value, point.x), domain.nominal));
  double alpha = 1.0;
  for (int halving = 0; halving < max_halvings; ++halving) {
    Point trial{.x = domain.clip(along(point.x, alpha, step)), .value = {}};
    if (trial.x == point.x) return std::nullopt;
    trial.value = g.value(trial.x);
    const double found = norm(over(minus(trial.value, trial.x), domain.nominal));
    if (found <= (1.0 - sufficient_decrease * alpha) * size) return trial;
    alpha /= 2.0;
  }
  return std::nullopt;
}

// -- homotopy ----------------------------------------------------------------------------------------------------

namespace {

// Points (x/nominal, λ) with λ (g(x) − x) + (1 − λ)(x0 − x) = 0, and the position on this curve.
class Curve {
 public:
  Curve(const LoopJacobian& jacobian, LoopFunction& g, const Domain& domain, Vector x0)
      : x(x0), value(g.value(x0)), jacobian_(jacobian), g_(g), domain_(domain), x0_(std::move(x0)) {}

  Vector x, value;

  // Calls `at_point` with each point and its number; returns the number of points, and whether λ = 1 is reached.
  template <class Tell>
  std::pair<std::int64_t, bool> follow(const Tell& at_point) {
    Vector z = over(x, domain_.nominal);
    z.push_back(0.0);
    Vector ahead(x.size());
    ahead.push_back(1.0);
    double size = first_step;
    for (std::int64_t number = 1; number <= max_steps; ++number) {
      if (!finite(value)) return {number - 1, false};
      at_point(number);
      auto tangent = tangent_at(z, ahead);
      if (!tangent) return {number, false};
      auto found = advance(z, *tangent, size);
      if (!found || norm(*found) > farthest) return {number, false};
      z = std::move(*found);
      ahead = std::move(*tangent);
      if (z.back() >= 1.0) return {number, true};
    }
    return {max_steps, false};
  }

 private:
  // The next point, with the next step size; none if no step size leads to a point.
  std::optional<Vector> advance(const Vector& z, const Vector& tangent, double& size) {
    while (size > smallest_step) {
      auto found = correct(along(z, size, tangent), tangent);
      // A point far from the prediction may be on another branch.
      if (found && norm(minus(*found, z)) <= 2.0 * size) {
        size = 1.5 * size;
        return found;
      }
      size /= 2.0;
    }
    return std::nullopt;
  }

  // Newton's method in the plane through z that is normal to the tangent.
  std::optional<Vector> correct(Vector z, const Vector& tangent) {
    const Vector predicted = z;
    for (int correction = 0; correction < max_corrections; ++correction) {
      Vector at = x_of(z);
      Vector found = g_.value(at);
      if (!finite(found)) return std::nullopt;
      Vector residual = residual_of(z, found);
      residual.push_back(dot(tangent, minus(z, predicted)));
      if (largest(residual) <= path_tolerance * first_step) {
        x = std::move(at);
        value = std::move(found);
        return z;
      }
      DenseMatrix matrix = derivatives(z, at, found, 1);
      std::copy(tangent.begin(), tangent.end(), matrix.elements.end() - static_cast<std::ptrdiff_t>(tangent.size()));
      const FullPivotLu lu(std::move(matrix));
      if (lu.smallest_pivot() == 0.0) return std::nullopt;
      z = minus(z, lu.solve(residual));
      if (!finite(z)) return std::nullopt;
    }
    return std::nullopt;
  }

  // Of length 1, in the direction of the previous one.
  std::optional<Vector> tangent_at(const Vector& z, const Vector& ahead) {
    DenseMatrix matrix = derivatives(z, x, value, 0);
    if (!matrix.finite()) return std::nullopt;
    Vector tangent = FullPivotLu(std::move(matrix)).null_vector();
    const double length = norm(tangent);
    for (double& element : tangent) element /= length;
    if (!(dot(tangent, ahead) >= 0.0))
      for (double& element : tangent) element = -element;
    return tangent;
  }

  // Derivatives of the scaled residual with respect to (x/nominal, λ), with room for more rows.
  DenseMatrix derivatives(const Vector& z, const Vector& at, const Vector& found, std::size_t more) {
    const std::size_t size = at.size();
    const DenseMatrix jacobian = scaled(jacobian_.at(g_, at, found, domain_), domain_.nominal);
    DenseMatrix matrix(size + more, size + 1);
    for (std::size_t i = 0; i < size; ++i) {
      for (std::size_t j = 0; j < size; ++j) matrix(i, j) = z.back() * jacobian(i, j) - (i == j ? 1.0 : 0.0);
      matrix(i, size) = (found[i] - x0_[i]) / domain_.nominal[i];
    }
    return matrix;
  }

  [[nodiscard]] Vector residual_of(const Vector& z, const Vector& found) const {
    const double share = z.back();
    Vector result(x0_.size());
    for (std::size_t i = 0; i < result.size(); ++i) {
      const double own = z[i] * domain_.nominal[i];
      result[i] = (share * (found[i] - own) + (1.0 - share) * (x0_[i] - own)) / domain_.nominal[i];
    }
    return result;
  }

  [[nodiscard]] Vector x_of(const Vector& z) const {
    Vector result(x0_.size());
    for (std::size_t i = 0; i < result.size(); ++i) result[i] = z[i] * domain_.nominal[i];
    return domain_.clip(std::move(result));
  }

  static double largest(std::span<const double> numbers) noexcept {
    double most = 0.0;
    for (const double number : numbers) {
      if (std::isnan(number)) return number;
      most = std::max(most, std::abs(number));
    }
    return most;
  }

  const LoopJacobian& jacobian_;
  LoopFunction& g_;
  const Domain& domain_;
  Vector x0_;
};

}  // namespace

Solution Homotopy::solve(LoopFunction& g, const Vector& x0, const Domain& domain, const Watch& watch) const {
  const std::string name = std::string("homotopy (") + jacobian_.name() + ")";
  Curve curve(jacobian_, g, domain, domain.clip(x0));
  const auto [steps, arrived] =
      curve.follow([&](std::int64_t number) { tell(watch, name, number, curve.x, minus(curve.value, curve.x)); });
  if (!arrived) {
    const Vector residual = minus(curve.value, curve.x);
    const double size = scaled_norm(residual, domain.nominal);
    return {.x = curve.x,
            .status = finite(residual) ? SolutionStatus::stalled : SolutionStatus::nonfinite,
            .iterations = steps,
            .residual_norm = size,
            .residual = residual,
            .history = {size},
            .solver = name};
  }
  const Watch shifted = [&, before = steps](std::string_view, std::int64_t number, std::span<const double> x,
                                            std::span<const double> residual) {
    tell(watch, name, before + number, x, residual);
  };
  Solution end = Newton(jacobian_, convergence_).solve(g, curve.x, domain, shifted);
  end.iterations += steps;
  end.solver = name;
  return end;
}

// -- chains ------------------------------------------------------------------------------------------------------

Solution Chain::solve(LoopFunction& g, const Vector& x0, const Domain& domain, const Watch& watch) const {
  std::optional<Solution> best;
  std::int64_t iterations = 0;
  const auto converged = [&](const LoopSolver& solver, const Vector& start) {
    Solution solution = solver.solve(g, start, domain, watch);
    iterations += solution.iterations;
    const bool done = solution.converged();
    if (!best || done || solution.residual_norm < best->residual_norm) best = std::move(solution);
    return done;
  };
  bool done = false;
  for (const auto& solver : solvers_)
    if ((done = converged(*solver, best ? Vector(best->x) : x0))) break;
  if (!done && fresh_) converged(*fresh_, x0);
  best->iterations = iterations;
  return *std::move(best);
}

namespace {

std::unique_ptr<Proposal> relaxation_begins(double factor) { return std::make_unique<Relaxation>(factor); }
std::unique_ptr<Proposal> aitken_begins(double) { return std::make_unique<AitkenRelaxation>(); }
std::unique_ptr<Proposal> anderson_begins(double) { return std::make_unique<AndersonMixing>(); }

std::unique_ptr<LoopSolver> fixed_point(double relaxation, const Convergence& convergence, std::int64_t limit) {
  const std::string name = relaxation == 1.0 ? "fixed point" : "fixed point (relaxation " + digits(relaxation) + ")";
  return std::make_unique<ProposalSolver>(name, &relaxation_begins, relaxation, convergence, limit);
}

std::unique_ptr<LoopSolver> aitken(const Convergence& convergence, std::int64_t limit) {
  return std::make_unique<ProposalSolver>("Aitken", &aitken_begins, 0.0, convergence, limit);
}

std::unique_ptr<LoopSolver> anderson(const Convergence& convergence, std::int64_t limit) {
  return std::make_unique<ProposalSolver>("Anderson", &anderson_begins, 0.0, convergence, limit);
}

Chain::Solvers newtons(const LoopJacobians& jacobians, const Convergence& convergence, std::int64_t limit) {
  Chain::Solvers solvers;
  for (const auto& jacobian : jacobians) solvers.push_back(std::make_unique<Newton>(*jacobian, convergence, limit));
  return solvers;
}

// Newton's method with each Jacobian, Aitken, Anderson, damped fixed-point iteration, and finally homotopy.
std::unique_ptr<LoopSolver> default_chain(const LoopJacobians& jacobians, const SolverOptions& options,
                                          std::int64_t newton_limit) {
  const Convergence& convergence = options.convergence;
  const std::int64_t limit = options.max_iterations == 0 ? patience : options.max_iterations;
  Chain::Solvers solvers = newtons(jacobians, convergence, newton_limit);
  solvers.push_back(aitken(convergence, limit));
  solvers.push_back(anderson(convergence, limit));
  solvers.push_back(fixed_point(damped, convergence, limit));
  return std::make_unique<Chain>(std::move(solvers), std::make_unique<Homotopy>(*jacobians.front(), convergence));
}

}  // namespace

std::unique_ptr<LoopSolver> solver_for(LoopMethod method, const LoopJacobians& jacobians,
                                       const SolverOptions& options) {
  const auto limit = [&](std::int64_t of_method) {
    return options.max_iterations == 0 ? of_method : options.max_iterations;
  };
  const Convergence& convergence = options.convergence;
  switch (method) {
    case LoopMethod::automatic: break;
    case LoopMethod::newton:
      return std::make_unique<Chain>(newtons(jacobians, convergence, limit(Newton::default_iterations)));
    case LoopMethod::aitken: return aitken(convergence, limit(accelerated_iterations));
    case LoopMethod::anderson: return anderson(convergence, limit(accelerated_iterations));
    case LoopMethod::fixed_point: return fixed_point(options.relaxation, convergence, limit(fixed_point_iterations));
    case LoopMethod::homotopy: return std::make_unique<Homotopy>(*jacobians.front(), convergence);
  }
  return default_chain(jacobians, options, limit(Newton::default_iterations));
}

}  // namespace ssptool
