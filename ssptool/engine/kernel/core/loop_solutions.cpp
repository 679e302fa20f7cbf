#include "loop_solutions.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "special_numbers.hpp"

namespace ssptool {

namespace {

using Vector = std::vector<double>;

// Ratio of changes of the residual and of the unknowns, in nominal values, below which the residual counts as constant.
constexpr double flatness = 1e-8;
// Relative distance along the null direction at which the equations are checked again, for the unknown with the
// shortest range.
constexpr double distance = 1e-3;
// Maximum number of changes of the discrete signals of a loop.
constexpr std::size_t settling = 100;
// Allowed residual over rounding of x times the gain.
constexpr double roundings = 4.0;

void check(const LoopCalls& calls) {
  const std::size_t size = calls.torn.size();
  for (const auto& bounds : {calls.minimum, calls.maximum})
    if (!bounds.empty() && bounds.size() != size)
      throw std::invalid_argument("as many bounds as torn slots are needed, or none at all");
  if (!calls.pattern) return;
  for (const auto& [row, column] : *calls.pattern)
    if (row >= size || column >= size)
      throw std::invalid_argument("the pattern does not fit into (" + std::to_string(size) + ", " +
                                  std::to_string(size) + ")");
}

Vector bounds_of(const Vector& given, std::size_t size, double none_at_all) {
  return given.empty() ? Vector(size, none_at_all) : given;
}

Pattern pattern_of(const LoopCalls& calls) {
  const std::size_t size = calls.torn.size();
  Pattern pattern(size, size, !calls.pattern);
  if (calls.pattern)
    for (const auto& [row, column] : *calls.pattern) pattern.set(row, column);
  return pattern;
}

}  // namespace

Equations::Equations(Loops& loops, Index number, const LoopCalls& calls)
    : loops_(loops),
      number_(number),
      domain_{.nominal = calls.nominal,
              .minimum = bounds_of(calls.minimum, calls.torn.size(), -infinity),
              .maximum = bounds_of(calls.maximum, calls.torn.size(), infinity)},
      rounding_(calls.rounding) {
  if (calls.directional) sources_.push_back(std::make_unique<Products>());
  // √ε balances truncation and rounding of a one-sided difference.
  sources_.push_back(std::make_unique<FiniteDifferences>(pattern_of(calls), std::sqrt(calls.rounding)));
}

void Equations::begin() noexcept {
  rejected_ = {};
  contradicted_ = false;
}

Vector Equations::value(std::span<const double> x) {
  Vector found(x.size());
  const Outcome outcome = loops_.residual(number_, x, found);
  return usable(outcome, std::move(found));
}

Vector Equations::product(std::span<const double> seed) {
  Vector found(seed.size());
  const Outcome outcome = loops_.jacobian_product(number_, seed, found);
  return usable(outcome, std::move(found));
}

Vector Equations::usable(const Outcome& outcome, Vector found) {
  if (outcome.ok()) return found;
  if (outcome.code == Code::fmi && outcome.fmi_status != fmi::discard) throw Broken{outcome};
  rejected_ = outcome;
  return Vector(found.size(), nan);
}

Vector Equations::start(std::optional<std::span<const double>> second) {
  Vector first = loops_.torn_values(number_);
  if (!second || std::equal(first.begin(), first.end(), second->begin()) || finite(value(first))) return first;
  return finite(value(*second)) ? Vector(second->begin(), second->end()) : first;
}

Solution Equations::settled(LoopMethod method, const Vector& start) {
  Solution solution = solved(method, start);
  std::vector<std::vector<std::int64_t>> seen{loops_.frozen_values(number_)};
  while (solution.converged() && loops_.update_frozen(number_)) {
    auto now = loops_.frozen_values(number_);
    const auto before = std::find(seen.begin(), seen.end(), now);
    const auto place = before - seen.begin();  // the place of `now` itself if it is new
    const bool again = before != seen.end();
    seen.push_back(std::move(now));
    if (again || seen.size() > settling) {
      solution.status = SolutionStatus::switching;
      solution.switched.assign(seen.begin() + place, seen.end());
      break;
    }
    const std::int64_t iterations = solution.iterations;
    solution = solved(method, Vector(solution.x));
    solution.iterations += iterations;
  }
  solution.rejected = rejected_;
  solution.contradicted = contradicted_;
  return solution;
}

// With constant discrete signals.
Solution Equations::solved(LoopMethod method, const Vector& start) {
  if (start.empty()) {
    static_cast<void>(value(start));
    return {.x = {},
            .status = rejected_.ok() ? SolutionStatus::converged : SolutionStatus::nonfinite,
            .iterations = 1,
            .residual_norm = 0.0,
            .residual = {},
            .history = {},
            .solver = "evaluation"};
  }
  const Watch watch = [this](std::string_view solver, std::int64_t number, std::span<const double> x,
                             std::span<const double> residual) { loops_.note(number_, solver, number, x, residual); };
  const auto solver = solver_for(method, sources_, {.convergence = loops_.convergence(number_)});
  Solution solution = solver->solve(*this, start, domain_, watch);
  if (solution.status == SolutionStatus::nonfinite) return solution;
  auto [matrix, precision] = jacobian_at(solution.x);
  matrix_ = std::move(matrix);
  judge(solution, precision);
  return solution;
}

// The Jacobian at the present point of the components, and its precision. The torn slots contain g(x), which is less
// accurate than x.
std::pair<DenseMatrix, double> Equations::jacobian_at(std::span<const double> x) {
  std::optional<DenseMatrix> matrix;
  double precision = infinity;
  for (const auto& source : sources_) {
    const Vector there = value(x);
    matrix = source->at(*this, x, there, domain_);
    precision = source->precision();
    const bool right = !source->doubtful() || fits(*matrix, x, *this, domain_);
    contradicted_ = contradicted_ || !right;
    static_cast<void>(value(x));
    if (right && matrix->finite()) break;
  }
  return {std::move(*matrix), precision};
}

// A solution remains one unless the equations leave it undetermined; without a solution, determines the direction in
// which there is none.
void Equations::judge(Solution& solution, double precision) {
  if (!matrix_->finite()) return;
  auto direction = null_direction(*matrix_, precision);
  if (!direction) return;
  if (solution.converged() && !flat(solution.x, *direction)) return;
  solution.status = solution.converged() ? SolutionStatus::undetermined : SolutionStatus::inconsistent;
  solution.direction = std::move(*direction);
}

// Whether the equations also hold at some distance along a direction, so that x is one of many solutions. At a double
// root, where the Jacobian is also singular, they do not: the residual grows with the square of the distance.
bool Equations::flat(std::span<const double> x, std::span<const double> direction) {
  const Vector& nominal = domain_.nominal;
  double way = infinity;
  for (std::size_t i = 0; i < x.size(); ++i)
    way = std::min(way, std::max(std::abs(x[i]), nominal[i]) / std::max(std::abs(direction[i]), 1e-12));
  const double size = distance * way;
  Vector moved(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) moved[i] = x[i] + size * direction[i];
  moved = domain_.clip(std::move(moved));
  const Vector residual = minus(value(moved), moved);
  static_cast<void>(value(x));
  const double reached = scaled_norm(minus(moved, x), nominal);
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!(std::abs(residual[i]) <= flatness * reached * nominal[i])) return false;
  return true;
}

double Equations::gain() const {
  if (!matrix_) return 0.0;
  const Vector& nominal = domain_.nominal;
  double most = 0.0;
  for (std::size_t i = 0; i < matrix_->rows; ++i) {
    double sum = 0.0;
    for (std::size_t j = 0; j < matrix_->columns; ++j) sum += std::abs((*matrix_)(i, j)) * nominal[j] / nominal[i];
    if (std::isnan(sum)) return sum;
    most = std::max(most, sum);
  }
  return most;
}

Index LoopSolutions::add(const LoopCalls& calls) {
  check(calls);
  const Index number = loops_.add(calls);
  all_.push_back(std::make_unique<Equations>(loops_, number, calls));
  return number;
}

Equations& LoopSolutions::at(Index loop) {
  check_index(loop, all_.size(), "loop");
  return *all_[loop];
}

Solved LoopSolutions::solve(Index loop, LoopMethod method, std::optional<std::span<const double>> second) {
  Equations& equations = at(loop);
  if (second) check_size(second->size(), loops_.torn_values(loop).size(), "the list of second values");
  equations.begin();
  try {
    return {{}, equations.settled(method, equations.start(second))};
  } catch (const Equations::Broken& broken) {
    return {broken.outcome, {}};
  }
}

void LoopSolutions::refresh_chord(Index loop) {
  const auto& matrix = at(loop).matrix();
  if (!matrix) return;
  DenseMatrix system = *matrix;
  for (std::size_t i = 0; i < system.rows; ++i) system(i, i) -= 1.0;
  if (const auto inverse = inverse_of(system)) loops_.set_chord(loop, inverse->elements);
}

double LoopSolutions::allow_rounding(Index loop) {
  const Equations& equations = at(loop);
  return loops_.loosen(loop, roundings * equations.rounding() * equations.gain());
}

bool Rescues::rescued(Index loop) const noexcept {
  return std::any_of(latest_.begin(), latest_.end(), [loop](const Rescue& rescue) { return rescue.loop == loop; });
}

Outcome Rescues::evaluate(Index schedule) {
  latest_.clear();
  return finished(schedule, schedules_.evaluate(schedule));
}

Outcome Rescues::go_on(Index schedule, const Outcome& unsolved) {
  latest_.clear();
  const Outcome outcome = finished(schedule, unsolved);
  for (const Rescue& rescue : latest_) {
    ++work_.solved;
    work_.iterations += rescue.solution.iterations;
    work_.contradicted |= rescue.solution.contradicted;
  }
  return outcome;
}

Outcome Rescues::finished(Index schedule, Outcome outcome) {
  // A loop that needs this twice at the same point has no solution.
  while (outcome.code == Code::loop && !rescued(static_cast<Index>(outcome.loop))) {
    const auto loop = static_cast<Index>(outcome.loop);
    Solved solved = solutions_.solve(loop, LoopMethod::automatic, std::nullopt);
    if (!solved.outcome.ok()) return solved.outcome;
    latest_.push_back({loop, std::move(solved.solution)});
    if (!latest_.back().solution.converged()) return outcome;
    solutions_.refresh_chord(loop);
    outcome = schedules_.evaluate(schedule);
  }
  return outcome;
}

}  // namespace ssptool
