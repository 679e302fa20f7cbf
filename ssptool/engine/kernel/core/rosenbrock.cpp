#include "rosenbrock.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ssptool {

namespace {

constexpr std::size_t rodas_stages = 8;
constexpr double diagonal = 0.21193756319429014;

constexpr std::array<double, rodas_stages> rodas_nodes{
    0.0, 0.6358126895828704, 0.4095798393397535, 0.9769306725060716, 0.4288403609558664, 1.0, 1.0, 1.0};

constexpr std::array<double, rodas_stages> time_weights{0.21193756319429014,
                                                        -0.42387512638858027,
                                                        -0.3384627126235924,
                                                        1.8046452872882734,
                                                        2.325825639765069,
                                                        0.0,
                                                        0.0,
                                                        0.0};

// Of the changes of earlier stages, by which a stage is away from the start.
constexpr std::array<std::array<double, rodas_stages - 1>, rodas_stages> rodas_weights{{
    {},
    {3.0},
    {2.849394379747939, 0.45842242204463923},
    {-6.954028509809101, 2.489845061869568, -10.358996098473584},
    {2.8029986275628964, 0.5072464736228206, -0.3988312541770524, -0.04721187230404641},
    {-7.502846399306121, 2.561846144803919, -11.627539656261098, -0.18268767659942256, 0.030198172008377946},
    {-7.502846399306121, 2.561846144803919, -11.627539656261098, -0.18268767659942256, 0.030198172008377946, 1.0},
    {-7.502846399306121, 2.561846144803919, -11.627539656261098, -0.18268767659942256, 0.030198172008377946, 1.0, 1.0},
}};

// Of the changes of earlier stages, over the size of the step, on the right-hand side of a stage.
constexpr std::array<std::array<double, rodas_stages - 1>, rodas_stages> couplings{{
    {},
    {-14.155112264123755},
    {-17.97296035885952, -2.859693295451294},
    {147.12150275711716, -1.41221402718213, 71.68940251302358},
    {165.43517024871676, -0.4592823456491126, 42.90938336958603, -5.961986721573306},
    {24.854864614690072, -3.0009227002832186, 47.4931110020768, 5.5814197821558125, -0.6610691825249471},
    {30.91273214028599, -3.1208243349937974, 77.79954646070892, 34.28646028294783, -19.097331116725623,
     -28.087943162872662},
    {37.80277123390563, -3.2571969029072276, 112.26918849496327, 66.9347231244047, -40.06618937091002,
     -54.66780262877968, -9.48861652309627},
}};

// Of all changes, for the powers of the interpolation.
constexpr std::array<std::array<double, rodas_stages>, 3> rodas_dense_weights{{
    {25.948786856663858, -2.5579724845846235, 10.433815404888879, -2.3679251022685204, 0.524948541321073,
     1.1241088310450404, 0.4272876194431874, -0.17202221070155493},
    {-9.91568850695171, -0.9689944594115154, 3.0438037242978453, -24.495224566215796, 20.176138334709044,
     15.98066361424651, -6.789040303419874, -6.710236069923372},
    {11.419903575922262, 2.8879645146136994, 72.92137995996029, 80.12511834622643, -52.072871366152654,
     -59.78993625266729, -0.15582684282751913, 4.883087185713722},
}};

constexpr double relative_difference = 0x1p-26;    // √ε: balances truncation and rounding of a one-sided difference
constexpr double time_difference = 0x1p-13;        // of a step; the difference over two of them is of second order
constexpr double least_time_difference = 0x1p-48;  // of the present time: 16 units in the last place
constexpr double noise = 0.5;                      // of the change of a derivative: how far it may be off a line
constexpr double slope_rounding = 0x1p-33;         // of a derivative

void add_multiple(std::vector<double>& to, double factor, const std::vector<double>& of) noexcept {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += factor * of[i];
}

}  // namespace

Rosenbrock::Rosenbrock(OdeEvaluation& evaluation)
    : StepFormula(evaluation.size.states),
      evaluation_(evaluation),
      columns_(evaluation.size.states * evaluation.size.states),
      in_time_(evaluation.size.states),
      point_(evaluation.size.states),
      right_(evaluation.size.states),
      slopes_(evaluation.size.states) {
  for (auto& one : changes_) one.resize(evaluation.size.states);
  for (auto& one : polynomial_) one.resize(evaluation.size.states);
}

// With W = 1/(γ h) − df/dx, the change U_i of stage i is that of
//     W U_i = f(t + α_i h, x + Σ a_ij U_j) + Σ (c_ij / h) U_j + h γ_i ∂f/∂t,
// the last change is the error, and the last point with it the end of the step.
bool Rosenbrock::attempt(const StepStart& start, double h) {
  if (!linearized_ && !linearize(start, h)) return false;
  const auto matrix = factorized(h);
  if (!matrix) return false;
  for (std::size_t stage = 0; stage < rodas_stages; ++stage) {
    if (stage == 0) {
      std::copy(start.slopes.begin(), start.slopes.end(), right_.begin());
      std::copy(start.x.begin(), start.x.end(), x_.begin());
    } else {
      std::fill(point_.begin(), point_.end(), 0.0);
      for (std::size_t j = 0; j < stage; ++j) add_multiple(point_, rodas_weights[stage][j], changes_[j]);
      for (std::size_t i = 0; i < x_.size(); ++i) x_[i] = start.x[i] + point_[i];
      if (!evaluation_.slopes(start.t + rodas_nodes[stage] * h, x_, right_)) return false;
      std::fill(point_.begin(), point_.end(), 0.0);
      for (std::size_t j = 0; j < stage; ++j) add_multiple(point_, couplings[stage][j], changes_[j]);
      for (std::size_t i = 0; i < x_.size(); ++i) right_[i] += point_[i] / h;
    }
    add_multiple(right_, h * time_weights[stage], in_time_);
    matrix->solve(right_, changes_[stage]);
  }
  for (std::size_t i = 0; i < x_.size(); ++i) {
    error_[i] = changes_.back()[i];
    x_[i] = x_[i] + error_[i];
  }
  return true;
}

bool Rosenbrock::slopes_at_end(double t, std::span<double> slopes) { return evaluation_.slopes(t, x_, slopes); }

bool Rosenbrock::linearize(const StepStart& start, double h) {
  ++evaluation_.effort.jacobians;
  const bool done = evaluation_.has_jacobian() ? evaluation_.jacobian(start.t, start.x, columns_) : differences(start);
  linearized_ = done && time_derivative(start, h);
  return linearized_;
}

// Away from zero, or to the other side where f cannot be evaluated there.
bool Rosenbrock::differences(const StepStart& start) {
  const std::size_t n = x_.size();
  for (std::size_t j = 0; j < n; ++j) {
    std::copy(start.x.begin(), start.x.end(), point_.begin());
    const double step = relative_difference * std::max(std::abs(start.x[j]), start.nominal[j]);
    point_[j] = start.x[j] + step;
    if (!evaluation_.slopes(start.t, point_, slopes_)) {
      point_[j] = start.x[j] - step;
      if (!evaluation_.slopes(start.t, point_, slopes_)) return false;
    }
    const double change = point_[j] - start.x[j];
    for (std::size_t i = 0; i < n; ++i) columns_[j * n + i] = (slopes_[i] - start.slopes[i]) / change;
  }
  return finite(columns_);
}

// From f at two later times within the step, by differences of the times that f was asked for. Where f has the same
// values at the first of them, it does not depend on time. Where it is noise over such times, it is not over the whole
// step.
bool Rosenbrock::time_derivative(const StepStart& start, double h) {
  const double now = evaluation_.absolute(start.t);
  double step = std::min(std::max(time_difference * h, least_time_difference * std::abs(now)), 0.5 * h);
  std::fill(in_time_.begin(), in_time_.end(), 0.0);
  if (!evaluation_.slopes(start.t + step, start.x, slopes_)) return false;
  if (std::equal(slopes_.begin(), slopes_.end(), start.slopes.begin())) return true;
  if (!second_time(start, step)) return false;
  if (step < 0.5 * h && noise_in_time(start, step)) {
    step = 0.5 * h;
    if (!evaluation_.slopes(start.t + step, start.x, slopes_) || !second_time(start, step)) return false;
  }
  const auto [first, second] = times(start, step);
  if (!(0.0 < first && first < second)) return true;
  const double near = second / first, far = first / second, span = second - first;
  for (std::size_t i = 0; i < in_time_.size(); ++i)
    in_time_[i] = (near * (slopes_[i] - start.slopes[i]) - far * (right_[i] - start.slopes[i])) / span;
  return finite(in_time_);
}

bool Rosenbrock::second_time(const StepStart& start, double step) {
  return evaluation_.slopes(start.t + 2.0 * step, start.x, right_);
}

// Distances of both times [s].
std::pair<double, double> Rosenbrock::times(const StepStart& start, double step) const {
  const double now = evaluation_.absolute(start.t);
  return {evaluation_.absolute(start.t + step) - now, evaluation_.absolute(start.t + 2.0 * step) - now};
}

// Whether the changes of f do not lie on a line.
bool Rosenbrock::noise_in_time(const StepStart& start, double step) const {
  const auto [first, second] = times(start, step);
  for (std::size_t i = 0; i < in_time_.size(); ++i) {
    const double near = second * (slopes_[i] - start.slopes[i]), far = first * (right_[i] - start.slopes[i]);
    const double allowed =
        noise * std::max(std::abs(near), std::abs(far)) + slope_rounding * second * std::abs(start.slopes[i]);
    if (std::abs(near - far) > allowed) return true;
  }
  return false;
}

std::optional<PartialPivotLu> Rosenbrock::factorized(double h) const {
  const std::size_t n = x_.size();
  DenseMatrix matrix(n, n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j) matrix(i, j) = 0.0 - columns_[j * n + i];
  const double shift = 1.0 / (diagonal * h);
  for (std::size_t i = 0; i < n; ++i) matrix(i, i) = shift + matrix(i, i);
  PartialPivotLu lu(std::move(matrix));
  if (!lu.regular()) return std::nullopt;
  return lu;
}

void Rosenbrock::prepare(const StepStart& start) {
  auto& [begin, end, first, second, third] = polynomial_;
  std::copy(start.x.begin(), start.x.end(), begin.begin());
  std::copy(x_.begin(), x_.end(), end.begin());
  for (std::size_t k = 0; k < rodas_dense_weights.size(); ++k) {
    auto& sum = polynomial_[2 + k];
    std::fill(sum.begin(), sum.end(), 0.0);
    for (std::size_t j = 0; j < rodas_stages; ++j) add_multiple(sum, rodas_dense_weights[k][j], changes_[j]);
  }
}

void Rosenbrock::interpolate(double part, std::span<double> x) const {
  const auto& [begin, end, first, second, third] = polynomial_;
  const double left = 1.0 - part;
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = left * begin[i] + part * (end[i] + left * (first[i] + part * (second[i] + part * third[i])));
}

}  // namespace ssptool
