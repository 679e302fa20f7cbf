#include "proposals.hpp"

#include <cmath>
#include <utility>

namespace ssptool {

namespace {

// A difference of residuals is ignored if its part that is independent of newer ones is at most this, relative.
constexpr double dependent = 1e-12;

std::vector<double> difference(std::span<const double> a, std::span<const double> b) {
  std::vector<double> result(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) result[i] = a[i] - b[i];
  return result;
}

std::vector<double> relaxed(std::span<const double> x, double factor, std::span<const double> residual) {
  std::vector<double> result(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) result[i] = x[i] + factor * residual[i];
  return result;
}

}  // namespace

std::vector<double> Relaxation::next(std::span<const double> x, std::span<const double> value) {
  // Without relaxation, g(x) is used directly instead of x + (g(x) − x), which would round.
  return factor_ == 1.0 ? std::vector<double>(value.begin(), value.end()) : relaxed(x, factor_, difference(value, x));
}

std::vector<double> AitkenRelaxation::next(std::span<const double> x, std::span<const double> value) {
  std::vector<double> residual = difference(value, x);
  if (residual_) {
    const std::vector<double> change = difference(residual, *residual_);
    const double square = dot(change, change);
    if (square > 0.0) {
      const double factor = -factor_ * dot(*residual_, change) / square;
      // A factor of 0 would stop the iteration; the previous factor is used instead.
      if (factor != 0.0 && std::isfinite(factor)) factor_ = factor;
    }
  }
  auto result = relaxed(x, factor_, residual);
  residual_ = std::move(residual);
  return result;
}

std::vector<double> AndersonMixing::next(std::span<const double> x, std::span<const double> value) {
  std::vector<double> residual = difference(value, x);
  if (last_) {
    Column column{.change = difference(residual, last_->residual), .answer = difference(x, last_->x)};
    for (std::size_t i = 0; i < x.size(); ++i) column.answer[i] += mixing_ * column.change[i];
    columns_.push_front(std::move(column));
    if (columns_.size() > window_) columns_.pop_back();
  }
  std::vector<SecantColumn> columns;
  for (const Column& column : columns_) columns.push_back({column.change, column.answer});
  const auto corrected = correction(columns, residual, dependent);
  auto result = relaxed(x, mixing_, residual);
  for (std::size_t i = 0; i < x.size(); ++i) result[i] += corrected[i];
  last_ = {{x.begin(), x.end()}, std::move(residual)};
  return result;
}

}  // namespace ssptool
