#include "dormand_prince.hpp"

#include <algorithm>

namespace ssptool {

namespace {

constexpr std::size_t stages = 7;

constexpr std::array<double, stages> nodes{0.0, 1.0 / 5.0, 3.0 / 10.0, 4.0 / 5.0, 8.0 / 9.0, 1.0, 1.0};

// Weights of earlier stages; the last row gives the end of the step.
constexpr std::array<std::array<double, stages - 1>, stages> weights{{
    {},
    {1.0 / 5.0},
    {3.0 / 40.0, 9.0 / 40.0},
    {44.0 / 45.0, -56.0 / 15.0, 32.0 / 9.0},
    {19372.0 / 6561.0, -25360.0 / 2187.0, 64448.0 / 6561.0, -212.0 / 729.0},
    {9017.0 / 3168.0, -355.0 / 33.0, 46732.0 / 5247.0, 49.0 / 176.0, -5103.0 / 18656.0},
    {35.0 / 384.0, 0.0, 500.0 / 1113.0, 125.0 / 192.0, -2187.0 / 6784.0, 11.0 / 84.0},
}};

// Weights of order 5 minus those of order 4.
constexpr std::array<double, stages> error_weights{71.0 / 57600.0,      0.0,          -71.0 / 16695.0, 71.0 / 1920.0,
                                                   -17253.0 / 339200.0, 22.0 / 525.0, -1.0 / 40.0};

// For the highest power of the interpolation.
constexpr std::array<double, stages> dense_weights{-12715105075.0 / 11282082432.0,  0.0,
                                                   87487479700.0 / 32700410799.0,   -10690763975.0 / 1880347072.0,
                                                   701980252875.0 / 199316789632.0, -1453857185.0 / 822651844.0,
                                                   69997945.0 / 29380423.0};

}  // namespace

DormandPrince::DormandPrince(OdeEvaluation& evaluation) : StepFormula(evaluation.size.states), evaluation_(evaluation) {
  for (auto& one : slopes_) one.resize(evaluation.size.states);
  for (auto& one : polynomial_) one.resize(evaluation.size.states);
}

bool DormandPrince::attempt(const StepStart& start, double h) {
  h_ = h;
  std::copy(start.slopes.begin(), start.slopes.end(), slopes_[0].begin());
  for (std::size_t stage = 1; stage < stages; ++stage) {
    std::fill(x_.begin(), x_.end(), 0.0);
    for (std::size_t j = 0; j < stage; ++j)
      for (std::size_t i = 0; i < x_.size(); ++i) x_[i] += weights[stage][j] * slopes_[j][i];
    for (std::size_t i = 0; i < x_.size(); ++i) x_[i] = start.x[i] + h * x_[i];
    if (!evaluation_.slopes(start.t + nodes[stage] * h, x_, slopes_[stage])) return false;
  }
  std::fill(error_.begin(), error_.end(), 0.0);
  for (std::size_t j = 0; j < stages; ++j)
    for (std::size_t i = 0; i < error_.size(); ++i) error_[i] += error_weights[j] * slopes_[j][i];
  for (double& one : error_) one = h * one;
  return true;
}

bool DormandPrince::slopes_at_end(double, std::span<double> slopes) {
  std::copy(slopes_.back().begin(), slopes_.back().end(), slopes.begin());
  return true;
}

void DormandPrince::prepare(const StepStart& start) {
  auto& [constant, change, bend, rest, last] = polynomial_;
  std::fill(last.begin(), last.end(), 0.0);
  for (std::size_t j = 0; j < stages; ++j)
    for (std::size_t i = 0; i < last.size(); ++i) last[i] += dense_weights[j] * slopes_[j][i];
  for (std::size_t i = 0; i < x_.size(); ++i) {
    constant[i] = start.x[i];
    change[i] = x_[i] - start.x[i];
    bend[i] = h_ * slopes_[0][i] - change[i];
    rest[i] = change[i] - h_ * slopes_.back()[i] - bend[i];
    last[i] = h_ * last[i];
  }
}

void DormandPrince::interpolate(double part, std::span<double> x) const {
  const auto& [constant, change, bend, rest, last] = polynomial_;
  const double left = 1.0 - part;
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] = constant[i] + part * (change[i] + left * (bend[i] + part * (rest[i] + left * last[i])));
}

}  // namespace ssptool
