#include "dense.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace ssptool {

namespace {

constexpr int rounds = 3;                 // the sizes of rows and columns settle after two or three
constexpr int doublings = 6;              // of the power of a matrix that tells whether its powers grow
constexpr double surely_growing = 1e100;  // as nothing overflows that is squared once more
constexpr int largest_exponent = 500;     // so that no product with two factors overflows

void subtract_multiple(std::vector<double>& from, double factor, std::span<const double> of) noexcept {
  for (std::size_t i = 0; i < from.size(); ++i) from[i] -= factor * of[i];
}

double reciprocal_power(double size) noexcept {
  if (!std::isfinite(size)) return 1.0;
  int exponent = 0;
  std::frexp(size, &exponent);
  return std::ldexp(1.0, -std::clamp(exponent, -largest_exponent, largest_exponent));
}

}  // namespace

DenseMatrix DenseMatrix::identity(std::size_t size) {
  DenseMatrix result(size, size);
  for (std::size_t i = 0; i < size; ++i) result(i, i) = 1.0;
  return result;
}

bool finite(std::span<const double> numbers) noexcept {
  return std::all_of(numbers.begin(), numbers.end(), [](double number) { return std::isfinite(number); });
}

bool DenseMatrix::finite() const noexcept { return ssptool::finite(elements); }

double dot(std::span<const double> a, std::span<const double> b) noexcept {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

double norm(std::span<const double> a) noexcept { return std::sqrt(dot(a, a)); }

std::vector<double> times(const DenseMatrix& matrix, std::span<const double> vector) {
  std::vector<double> result(matrix.rows);
  for (std::size_t i = 0; i < matrix.rows; ++i)
    result[i] = dot({matrix.elements.data() + i * matrix.columns, matrix.columns}, vector);
  return result;
}

DenseMatrix product(const DenseMatrix& a, const DenseMatrix& b) {
  DenseMatrix found(a.rows, b.columns);
  for (std::size_t i = 0; i < a.rows; ++i)
    for (std::size_t k = 0; k < a.columns; ++k)
      for (std::size_t j = 0; j < b.columns; ++j) found(i, j) += a(i, k) * b(k, j);
  return found;
}

bool powers_grow(DenseMatrix a) {
  for (int doubling = 0; doubling < doublings; ++doubling) {
    const double size = norm(a.elements);
    if (!(size <= surely_growing)) return true;
    if (size < 1.0 / surely_growing) return false;
    a = product(a, a);
  }
  return !(norm(a.elements) <= 1.0);
}

FullPivotLu::FullPivotLu(DenseMatrix matrix)
    : lu_(std::move(matrix)), row_order_(lu_.rows), column_order_(lu_.columns) {
  std::iota(row_order_.begin(), row_order_.end(), std::size_t{0});
  std::iota(column_order_.begin(), column_order_.end(), std::size_t{0});
  for (; rank_ < lu_.rows; ++rank_) {
    const auto [row, column] = largest(rank_);
    exchange(rank_, row, column);
    if (!(std::abs(lu_(rank_, rank_)) > 0.0)) break;
    eliminate(rank_);
  }
}

std::pair<std::size_t, std::size_t> FullPivotLu::largest(std::size_t from) const noexcept {
  std::pair<std::size_t, std::size_t> place{from, from};
  double most = -1.0;
  for (std::size_t i = from; i < lu_.rows; ++i)
    for (std::size_t j = from; j < lu_.columns; ++j)
      if (const double size = std::abs(lu_(i, j)); size > most) {
        most = size;
        place = {i, j};
      }
  return place;
}

void FullPivotLu::exchange(std::size_t to, std::size_t row, std::size_t column) noexcept {
  for (std::size_t j = 0; j < lu_.columns; ++j) std::swap(lu_(to, j), lu_(row, j));
  for (std::size_t i = 0; i < lu_.rows; ++i) std::swap(lu_(i, to), lu_(i, column));
  std::swap(row_order_[to], row_order_[row]);
  std::swap(column_order_[to], column_order_[column]);
}

void FullPivotLu::eliminate(std::size_t k) noexcept {
  for (std::size_t i = k + 1; i < lu_.rows; ++i) {
    lu_(i, k) /= lu_(k, k);
    for (std::size_t j = k + 1; j < lu_.columns; ++j) lu_(i, j) -= lu_(i, k) * lu_(k, j);
  }
}

double FullPivotLu::smallest_pivot() const noexcept {
  if (rank_ < lu_.rows) return 0.0;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < lu_.rows; ++i) least = std::min(least, std::abs(lu_(i, i)));
  return least;
}

double FullPivotLu::largest_pivot() const noexcept {
  double most = 0.0;
  for (std::size_t i = 0; i < rank_; ++i) most = std::max(most, std::abs(lu_(i, i)));
  return most;
}

double FullPivotLu::last_pivot() const noexcept {
  return rank_ < lu_.rows || rank_ == 0 ? 0.0 : std::abs(lu_(rank_ - 1, rank_ - 1));
}

bool FullPivotLu::regular(double precision) const noexcept {
  return rank_ == lu_.rows && smallest_pivot() > precision * largest_pivot();
}

void FullPivotLu::substitute_back(std::vector<double>& y, std::size_t size) const noexcept {
  for (std::size_t k = size; k-- > 0;) {
    y[k] /= lu_(k, k);
    for (std::size_t i = 0; i < k; ++i) y[i] -= lu_(i, k) * y[k];
  }
}

std::vector<double> FullPivotLu::solve(std::span<const double> right) const {
  const std::size_t size = lu_.rows;
  std::vector<double> y(size), x(size);
  for (std::size_t i = 0; i < size; ++i) y[i] = right[row_order_[i]];
  for (std::size_t k = 0; k < size; ++k)
    for (std::size_t i = k + 1; i < size; ++i) y[i] -= lu_(i, k) * y[k];
  substitute_back(y, size);
  for (std::size_t j = 0; j < size; ++j) x[column_order_[j]] = y[j];
  return x;
}

DenseMatrix FullPivotLu::inverse() const {
  const std::size_t size = lu_.rows;
  DenseMatrix result(size, size);
  for (std::size_t j = 0; j < size; ++j) {
    std::vector<double> unit(size);
    unit[j] = 1.0;
    const auto column = solve(unit);
    for (std::size_t i = 0; i < size; ++i) result(i, j) = column[i];
  }
  return result;
}

std::vector<double> FullPivotLu::null_vector() const {
  const std::size_t free = std::min(rank_, lu_.columns - 1);
  std::vector<double> y(free), z(lu_.columns);
  for (std::size_t i = 0; i < free; ++i) y[i] = -lu_(i, free);
  substitute_back(y, free);
  for (std::size_t j = 0; j < free; ++j) z[column_order_[j]] = y[j];
  z[column_order_[free]] = 1.0;
  return z;
}

PartialPivotLu::PartialPivotLu(DenseMatrix matrix) : lu_(std::move(matrix)), row_order_(lu_.rows) {
  const std::size_t size = lu_.rows;
  std::iota(row_order_.begin(), row_order_.end(), std::size_t{0});
  for (std::size_t k = 0; k < size && regular_; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k + 1; i < size; ++i)
      if (std::abs(lu_(i, k)) > std::abs(lu_(pivot, k))) pivot = i;
    std::swap_ranges(&lu_(k, 0), &lu_(k, 0) + size, &lu_(pivot, 0));
    std::swap(row_order_[k], row_order_[pivot]);
    regular_ = std::isfinite(lu_(k, k)) && lu_(k, k) != 0.0;
    if (!regular_) break;
    const double* const row = &lu_(k, 0);
    for (std::size_t i = k + 1; i < size; ++i) {
      double* const other = &lu_(i, 0);
      other[k] /= row[k];
      const double factor = other[k];
      for (std::size_t j = k + 1; j < size; ++j) other[j] -= factor * row[j];
    }
  }
}

void PartialPivotLu::solve(std::span<const double> right, std::span<double> x) const noexcept {
  const std::size_t size = lu_.rows;
  for (std::size_t i = 0; i < size; ++i) {
    double sum = right[row_order_[i]];
    for (std::size_t j = 0; j < i; ++j) sum -= lu_(i, j) * x[j];
    x[i] = sum;
  }
  for (std::size_t i = size; i-- > 0;) {
    double sum = x[i];
    for (std::size_t j = size; --j > i;) sum -= lu_(i, j) * x[j];
    x[i] = sum / lu_(i, i);
  }
}

Equilibration::Equilibration(const DenseMatrix& sizes) : rows(sizes.rows, 1.0), columns(sizes.columns, 1.0) {
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < sizes.rows; ++i) {
      double most = 0.0;
      for (std::size_t j = 0; j < sizes.columns; ++j) most = std::max(most, std::abs(sizes(i, j)) * columns[j]);
      rows[i] = reciprocal_power(most);
    }
    for (std::size_t j = 0; j < sizes.columns; ++j) {
      double most = 0.0;
      for (std::size_t i = 0; i < sizes.rows; ++i) most = std::max(most, std::abs(sizes(i, j)) * rows[i]);
      columns[j] = reciprocal_power(most);
    }
  }
}

DenseMatrix Equilibration::scaled(DenseMatrix matrix) const {
  for (std::size_t i = 0; i < matrix.rows; ++i)
    for (std::size_t j = 0; j < matrix.columns; ++j) matrix(i, j) = rows[i] * matrix(i, j) * columns[j];
  return matrix;
}

std::optional<DenseMatrix> inverse_of(const DenseMatrix& matrix) {
  if (!matrix.finite()) return std::nullopt;
  const Equilibration factors(matrix);
  const FullPivotLu lu(factors.scaled(matrix));
  if (!lu.regular(static_cast<double>(matrix.rows) * std::numeric_limits<double>::epsilon())) return std::nullopt;
  DenseMatrix result = lu.inverse();
  for (std::size_t i = 0; i < result.rows; ++i)
    for (std::size_t j = 0; j < result.columns; ++j) result(i, j) = factors.columns[i] * result(i, j) * factors.rows[j];
  return result;
}

std::vector<double> correction(std::span<const SecantColumn> columns, std::span<const double> residual, double limit) {
  std::vector<std::vector<double>> basis, answers;
  std::vector<double> total(residual.size()), left(residual.begin(), residual.end());
  for (const SecantColumn& column : columns) {
    std::vector<double> change(column.change.begin(), column.change.end());
    std::vector<double> answer(column.answer.begin(), column.answer.end());
    const double size = norm(change);
    for (std::size_t k = 0; k < basis.size(); ++k) {
      const double share = dot(basis[k], change);
      subtract_multiple(change, share, basis[k]);
      subtract_multiple(answer, share, answers[k]);
    }
    const double rest = norm(change);
    if (rest <= limit * size) continue;
    for (double& number : change) number /= rest;
    for (double& number : answer) number /= rest;
    const double share = dot(change, left);
    subtract_multiple(total, share, answer);
    subtract_multiple(left, share, change);
    basis.push_back(std::move(change));
    answers.push_back(std::move(answer));
    if (basis.size() == residual.size()) break;
  }
  return total;
}

}  // namespace ssptool
