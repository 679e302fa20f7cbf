#include "exponential.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "special_numbers.hpp"

namespace ssptool {

namespace {

double largest_sum_of_columns(const DenseMatrix& a) {
  double most = 0.0;
  for (std::size_t j = 0; j < a.columns; ++j) {
    double sum = 0.0;
    for (std::size_t i = 0; i < a.rows; ++i) sum += std::abs(a(i, j));
    most = std::max(most, sum);
  }
  return most;
}

DenseMatrix filled(std::size_t rows, std::size_t columns, double value) {
  DenseMatrix found(rows, columns);
  std::ranges::fill(found.elements, value);
  return found;
}

// Solves a x = b, column by column; nan if a is singular.
DenseMatrix solution_of(DenseMatrix a, const DenseMatrix& b) {
  const PartialPivotLu lu(std::move(a));
  if (!lu.regular()) return filled(b.rows, b.columns, nan);
  DenseMatrix found(b.rows, b.columns);
  std::vector<double> right(b.rows), x(b.rows);
  for (std::size_t j = 0; j < b.columns; ++j) {
    for (std::size_t i = 0; i < b.rows; ++i) right[i] = b(i, j);
    lu.solve(right, x);
    for (std::size_t i = 0; i < b.rows; ++i) found(i, j) = x[i];
  }
  return found;
}

}  // namespace

DenseMatrix exponential(DenseMatrix a) {
  const std::size_t n = a.rows;
  if (!a.finite()) return filled(n, n, nan);
  const double size = largest_sum_of_columns(a);
  if (!std::isfinite(size)) return filled(n, n, nan);
  const int squarings = size > 0.0 ? std::max(0, static_cast<int>(std::ceil(std::log2(size))) + 3) : 0;
  for (double& one : a.elements) one = std::ldexp(one, -squarings);
  const DenseMatrix square = product(a, a);
  DenseMatrix even = square, odd = square;
  for (double& one : even.elements) one /= 10;
  for (double& one : odd.elements) one /= 120;
  for (std::size_t i = 0; i < n; ++i) {
    even(i, i) += 1.0;
    odd(i, i) += 0.5;
  }
  odd = product(a, odd);
  DenseMatrix below = even;
  for (std::size_t k = 0; k < odd.elements.size(); ++k) {
    below.elements[k] -= odd.elements[k];
    even.elements[k] += odd.elements[k];
  }
  DenseMatrix result = solution_of(std::move(below), even);
  for (int k = 0; k < squarings; ++k) result = product(result, result);
  return result;
}

DenseMatrix step_response(const DenseMatrix& a, const DenseMatrix& b, double h, std::span<const int> orders) {
  const std::size_t n = b.rows, inputs = b.columns;
  // The exponential of this matrix has h φ1 B, h φ2 B and h φ3 B in its first block row.
  DenseMatrix whole(n + 3 * inputs, n + 3 * inputs);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) whole(i, j) = h * a(i, j);
    for (std::size_t j = 0; j < inputs; ++j) whole(i, n + j) = h * b(i, j);
  }
  for (std::size_t k = 0; k < 2 * inputs; ++k) whole(n + k, n + inputs + k) = 1.0;
  const DenseMatrix found = exponential(std::move(whole));
  DenseMatrix response(n, inputs);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < inputs; ++j) {
      const double held = found(i, n + j), ramp = found(i, n + inputs + j), bent = found(i, n + 2 * inputs + j);
      response(i, j) = orders[j] == 0 ? held : orders[j] == 1 ? ramp : bent + ramp / 2;
    }
  return response;
}

}  // namespace ssptool
