// Small dense linear algebra in a fixed order of operations: equal inputs give bitwise equal results with every
// compiler. This is not the case for products and factorizations of BLAS.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace ssptool {

// Stored by rows.
struct DenseMatrix {
  DenseMatrix(std::size_t row_count, std::size_t column_count)
      : rows(row_count), columns(column_count), elements(row_count * column_count) {}
  static DenseMatrix identity(std::size_t size);

  std::size_t rows, columns;
  std::vector<double> elements;

  [[nodiscard]] double& operator()(std::size_t i, std::size_t j) noexcept { return elements[i * columns + j]; }
  [[nodiscard]] double operator()(std::size_t i, std::size_t j) const noexcept { return elements[i * columns + j]; }
  [[nodiscard]] bool finite() const noexcept;
};

bool finite(std::span<const double>) noexcept;

// Products are added one after the other.
double dot(std::span<const double> a, std::span<const double> b) noexcept;
double norm(std::span<const double>) noexcept;
std::vector<double> times(const DenseMatrix&, std::span<const double>);
DenseMatrix product(const DenseMatrix&, const DenseMatrix&);

// P A Q = L U with the largest remaining element as the pivot (Golub and Van Loan 2013, "Matrix Computations", 4th ed.,
// §3.4.8) of a matrix with as many columns as rows, or one more. Of equal ones it is the first, row by row.
class FullPivotLu {
 public:
  explicit FullPivotLu(DenseMatrix);

  [[nodiscard]] std::size_t size() const noexcept { return lu_.rows; }
  [[nodiscard]] std::size_t rank() const noexcept { return rank_; }
  [[nodiscard]] double smallest_pivot() const noexcept;
  [[nodiscard]] double largest_pivot() const noexcept;
  // |A z| for the null vector z of a square matrix.
  [[nodiscard]] double last_pivot() const noexcept;
  // Whether no pivot is smaller than this, relative to the largest.
  [[nodiscard]] bool regular(double precision) const noexcept;

  // For a matrix without zero pivots.
  [[nodiscard]] std::vector<double> solve(std::span<const double> right) const;
  [[nodiscard]] DenseMatrix inverse() const;
  // z with A z = 0, except for the last pivot, which is treated as zero: |A z| is its size. One element of z is 1.
  [[nodiscard]] std::vector<double> null_vector() const;

 private:
  std::pair<std::size_t, std::size_t> largest(std::size_t from) const noexcept;
  void exchange(std::size_t to, std::size_t row, std::size_t column) noexcept;
  void eliminate(std::size_t) noexcept;
  void substitute_back(std::vector<double>&, std::size_t size) const noexcept;

  DenseMatrix lu_;
  std::vector<std::size_t> row_order_, column_order_;
  std::size_t rank_ = 0;  // pivots that are not zero, up to the first that is
};

// P A = L U of a square matrix with the largest element of a column as the pivot, the first of equal ones (Golub and
// Van Loan 2013, §3.4.5): for matrices of some hundreds of unknowns, which are far from singular.
class PartialPivotLu {
 public:
  explicit PartialPivotLu(DenseMatrix);

  // Whether no pivot is zero, and all are finite.
  [[nodiscard]] bool regular() const noexcept { return regular_; }
  // For a regular matrix.
  void solve(std::span<const double> right, std::span<double> x) const noexcept;

 private:
  DenseMatrix lu_;
  std::vector<std::size_t> row_order_;
  bool regular_ = true;
};

// Powers of two that scale rows and columns so that their largest elements are about 1, without rounding.
struct Equilibration {
  explicit Equilibration(const DenseMatrix& sizes);

  [[nodiscard]] DenseMatrix scaled(DenseMatrix) const;

  std::vector<double> rows, columns;
};

// None if an element is not finite, or if the matrix is singular within rounding, whatever the units of rows and
// columns.
std::optional<DenseMatrix> inverse_of(const DenseMatrix&);

// Whether the iteration x ← a x diverges, for a square matrix: determined from a high power of it.
bool powers_grow(DenseMatrix a);

// One column of V, and the same column of W.
struct SecantColumn {
  std::span<const double> change, answer;
};

// W α, where α minimizes ‖V α + residual‖, by modified Gram–Schmidt. Each column of W is eliminated together with that
// of V, so no triangular system has to be solved. A column of V is left out if its part that is independent of earlier
// columns is at most `limit`, relative.
std::vector<double> correction(std::span<const SecantColumn>, std::span<const double> residual, double limit);

}  // namespace ssptool
