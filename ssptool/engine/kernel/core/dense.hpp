// Small dense linear algebra in a fixed order of operations: equal numbers give equal bits with every compiler, which
// products and factorizations of BLAS do not.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace ssptool {

// Row by row.
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

// One product after the other.
double dot(std::span<const double> a, std::span<const double> b) noexcept;
double norm(std::span<const double>) noexcept;
std::vector<double> times(const DenseMatrix&, std::span<const double>);
DenseMatrix product(const DenseMatrix&, const DenseMatrix&);

// P A Q = L U with the largest element left as the pivot (Golub and Van Loan 2013, "Matrix Computations", 4th ed.,
// §3.4.8) of a matrix with as many columns as rows, or one more. Of equal ones it is the first, row by row.
class FullPivotLu {
 public:
  explicit FullPivotLu(DenseMatrix);

  [[nodiscard]] std::size_t size() const noexcept { return lu_.rows; }
  [[nodiscard]] std::size_t rank() const noexcept { return rank_; }
  [[nodiscard]] double smallest_pivot() const noexcept;
  [[nodiscard]] double largest_pivot() const noexcept;
  // |A z| of the null vector z of a square matrix.
  [[nodiscard]] double last_pivot() const noexcept;
  // No pivot is less than this, relative to the largest.
  [[nodiscard]] bool regular(double precision) const noexcept;

  // Of a matrix without a pivot of zero.
  [[nodiscard]] std::vector<double> solve(std::span<const double> right) const;
  [[nodiscard]] DenseMatrix inverse() const;
  // z with A z = 0 but for the last pivot, which counts as zero: |A z| is its size. One element of z is 1.
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

  // No pivot is zero, and all are numbers.
  [[nodiscard]] bool regular() const noexcept { return regular_; }
  // Of a regular matrix.
  void solve(std::span<const double> right, std::span<double> x) const noexcept;

 private:
  DenseMatrix lu_;
  std::vector<std::size_t> row_order_;
  bool regular_ = true;
};

// Powers of two by which rows and columns have a largest element of about 1; no rounding comes from them.
struct Equilibration {
  explicit Equilibration(const DenseMatrix& sizes);

  [[nodiscard]] DenseMatrix scaled(DenseMatrix) const;

  std::vector<double> rows, columns;
};

// None if an element is not finite, or the matrix singular to rounding in whatever units rows and columns are.
std::optional<DenseMatrix> inverse_of(const DenseMatrix&);

// Whether x ← a x, with a square matrix, leads to infinity: by the size of a high power of it.
bool powers_grow(DenseMatrix a);

// What V has, and what W has, in one column.
struct SecantColumn {
  std::span<const double> change, answer;
};

// W α for the α with least ‖V α + residual‖, by modified Gram–Schmidt. Each column of W undergoes the same elimination
// as that of V, so that no triangular system is left to solve; a column of V of which no more than `limit`, relative,
// is independent of those before it is left out.
std::vector<double> correction(std::span<const SecantColumn>, std::span<const double> residual, double limit);

}  // namespace ssptool
