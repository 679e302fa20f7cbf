#include "jacobians.hpp"

#include <algorithm>
#include <cmath>

namespace ssptool {

namespace {

constexpr double golden = 0.6180339887498949;
// Relative error that proves a Jacobian wrong: far above the effect of curvature over a small step, but below errors
// that make a Jacobian useless.
constexpr double contradiction = 0.1;
// Relative step for checking a Jacobian; with loops inside loops, values are accurate to its square.
constexpr double probed = 1e-6;

std::vector<double> sizes_of(std::vector<double> numbers) {
  for (double& number : numbers) number = std::abs(number);
  return numbers;
}

bool disjoint(const Pattern& pattern, std::size_t column, const std::vector<bool>& used) {
  for (std::size_t i = 0; i < pattern.rows; ++i)
    if (used[i] && pattern(i, column)) return false;
  return true;
}

void use(const Pattern& pattern, std::size_t column, std::vector<bool>& used) {
  for (std::size_t i = 0; i < pattern.rows; ++i)
    if (pattern(i, column)) used[i] = true;
}

}  // namespace

std::vector<double> probe(std::vector<double> sizes) {
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const double turned = static_cast<double>(i) * golden;
    sizes[i] = sizes[i] * (i % 2 == 0 ? 1.0 : -1.0) * (1.0 + (turned - std::floor(turned)));
  }
  return sizes;
}

bool contradicted(const DenseMatrix& matrix, std::span<const double> step, std::span<const double> change,
                  std::span<const double> noise) {
  if (!matrix.finite()) return true;
  DenseMatrix sizes = matrix;
  sizes.elements = sizes_of(std::move(sizes.elements));
  const auto most = times(sizes, sizes_of({step.begin(), step.end()}));
  const auto predicted = times(matrix, step);
  for (std::size_t i = 0; i < change.size(); ++i) {
    const double size = std::max(most[i], std::abs(change[i]));
    if (std::abs(predicted[i] - change[i]) > contradiction * size + noise[i]) return true;
  }
  return false;
}

std::vector<double> minus(std::span<const double> a, std::span<const double> b) {
  std::vector<double> result(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) result[i] = a[i] - b[i];
  return result;
}

std::vector<double> Domain::clip(std::vector<double> x) const noexcept {
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i] < minimum[i]) x[i] = minimum[i];
    if (x[i] > maximum[i]) x[i] = maximum[i];
  }
  return x;
}

DenseMatrix Products::at(LoopFunction& g, std::span<const double> x, std::span<const double>, const Domain&) const {
  DenseMatrix jacobian(x.size(), x.size());
  for (std::size_t j = 0; j < x.size(); ++j) {
    std::vector<double> seed(x.size());
    seed[j] = 1.0;
    const auto column = g.product(seed);
    for (std::size_t i = 0; i < x.size(); ++i) jacobian(i, j) = column[i];
  }
  return jacobian;
}

FiniteDifferences::FiniteDifferences(const Pattern& pattern, double relative_step)
    : pattern_(pattern), colours_(colours(pattern)), relative_step_(relative_step) {}

DenseMatrix FiniteDifferences::at(LoopFunction& g, std::span<const double> x, std::span<const double> value,
                                  const Domain& domain) const {
  std::vector<double> steps(x.size());
  for (std::size_t j = 0; j < x.size(); ++j) {
    steps[j] = relative_step_ * std::max(std::abs(x[j]), domain.nominal[j]);
    if (x[j] + steps[j] > domain.maximum[j]) steps[j] = -steps[j];
  }
  DenseMatrix jacobian(value.size(), x.size());
  for (const Columns& columns : colours_) {
    const Moved found = moved(g, columns, x, value, steps);
    for (const std::size_t j : columns) {
      const double step = found.x[j] - x[j];  // the rounded step, not the intended one
      for (std::size_t i = 0; i < value.size(); ++i) jacobian(i, j) = pattern_(i, j) ? found.change[i] / step : 0.0;
    }
  }
  return jacobian;
}

FiniteDifferences::Moved FiniteDifferences::moved(LoopFunction& g, const Columns& columns, std::span<const double> x,
                                                  std::span<const double> value, std::span<const double> steps) const {
  Moved found;
  for (const double side : {1.0, -1.0}) {
    found.x.assign(x.begin(), x.end());
    for (const std::size_t j : columns) found.x[j] += side * steps[j];
    found.change = minus(g.value(found.x), value);
    if (finite(found.change)) break;
  }
  return found;
}

std::vector<std::vector<std::size_t>> colours(const Pattern& pattern) {
  std::vector<std::vector<std::size_t>> groups;
  std::vector<std::vector<bool>> taken;
  for (std::size_t column = 0; column < pattern.columns; ++column) {
    std::size_t group = 0;
    while (group < groups.size() && !disjoint(pattern, column, taken[group])) ++group;
    if (group == groups.size()) {
      groups.emplace_back();
      taken.emplace_back(pattern.rows);
    }
    groups[group].push_back(column);
    use(pattern, column, taken[group]);
  }
  return groups;
}

bool fits(const DenseMatrix& matrix, std::span<const double> x, LoopFunction& g, const Domain& domain) {
  const std::size_t size = x.size();
  std::vector<double> sizes(size), moved(size), noise(size);
  for (std::size_t i = 0; i < size; ++i) sizes[i] = probed * std::max(std::abs(x[i]), domain.nominal[i]);
  const auto wanted = probe(std::move(sizes));
  for (std::size_t i = 0; i < size; ++i) moved[i] = x[i] + wanted[i];
  const auto step = minus(domain.clip(std::move(moved)), x);
  const auto value = g.value(x);
  for (std::size_t i = 0; i < size; ++i) noise[i] = probed * probed * std::max(std::abs(value[i]), domain.nominal[i]);
  std::vector<double> beside(size);
  for (std::size_t i = 0; i < size; ++i) beside[i] = x[i] + step[i];
  return !contradicted(matrix, step, minus(g.value(beside), value), noise);
}

std::optional<std::vector<double>> null_direction(const DenseMatrix& jacobian, double precision) {
  const std::size_t size = jacobian.rows;
  if (size == 0) return std::nullopt;
  DenseMatrix system = jacobian, sizes = jacobian;
  for (double& element : sizes.elements) element = std::abs(element);
  for (std::size_t i = 0; i < size; ++i) {
    system(i, i) -= 1.0;
    sizes(i, i) += 1.0;
  }
  const Equilibration factors(sizes);
  const DenseMatrix scaled = factors.scaled(std::move(system));
  const FullPivotLu lu(scaled);
  std::vector<double> direction = lu.null_vector();
  if (lu.last_pivot() / norm(direction) > precision * (1.0 + norm(scaled.elements))) return std::nullopt;
  double largest = 0.0;
  for (std::size_t i = 0; i < size; ++i) {
    direction[i] = factors.columns[i] * direction[i];
    if (std::abs(direction[i]) > std::abs(largest)) largest = direction[i];
  }
  for (double& element : direction) element /= largest;
  return direction;
}

}  // namespace ssptool
