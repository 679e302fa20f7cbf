// Jacobians dg/dx of a loop x = g(x), by directional derivatives or finite differences, and checks whether they are
// correct and whether they are singular. Columns without common rows are perturbed together: Curtis, Powell, Reid 1974,
// "On the estimation of sparse Jacobian matrices".
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "dense.hpp"

namespace ssptool {

// The function g, and products with its Jacobian.
class LoopFunction {
 public:
  LoopFunction() = default;
  LoopFunction(const LoopFunction&) = delete;
  LoopFunction& operator=(const LoopFunction&) = delete;
  virtual ~LoopFunction() = default;

  // g(x); nan if it cannot be evaluated.
  virtual std::vector<double> value(std::span<const double> x) = 0;
  // dg/dx · seed at the last x.
  virtual std::vector<double> product(std::span<const double> seed) = 0;
};

// Nominal, minimum and maximum values of the unknowns.
struct Domain {
  std::vector<double> nominal, minimum, maximum;

  [[nodiscard]] std::vector<double> clip(std::vector<double> x) const noexcept;
};

// Which values (rows) depend on which unknowns (columns).
class Pattern {
 public:
  Pattern(std::size_t row_count, std::size_t column_count, bool all)
      : rows(row_count), columns(column_count), all_(row_count * column_count, all) {}

  std::size_t rows, columns;

  void set(std::size_t i, std::size_t j) { all_[i * columns + j] = true; }
  [[nodiscard]] bool operator()(std::size_t i, std::size_t j) const { return all_[i * columns + j]; }

 private:
  std::vector<bool> all_;
};

// A method to compute dg/dx.
class LoopJacobian {
 public:
  LoopJacobian() = default;
  LoopJacobian(const LoopJacobian&) = delete;
  LoopJacobian& operator=(const LoopJacobian&) = delete;
  virtual ~LoopJacobian() = default;

  [[nodiscard]] virtual const char* name() const noexcept = 0;
  // Relative error of its results.
  [[nodiscard]] virtual double precision() const noexcept = 0;
  // Whether the results may be wrong because components provide them.
  [[nodiscard]] virtual bool doubtful() const noexcept = 0;
  // At x, the point of the last evaluation, where g has this value.
  [[nodiscard]] virtual DenseMatrix at(LoopFunction& g, std::span<const double> x, std::span<const double> value,
                                       const Domain&) const = 0;
};

// Column by column, from directional derivatives of the components.
class Products final : public LoopJacobian {
 public:
  [[nodiscard]] const char* name() const noexcept override { return "directional derivatives"; }
  [[nodiscard]] double precision() const noexcept override { return 1e-14; }
  [[nodiscard]] bool doubtful() const noexcept override { return true; }
  [[nodiscard]] DenseMatrix at(LoopFunction& g, std::span<const double> x, std::span<const double> value,
                               const Domain&) const override;
};

// One-sided differences with one evaluation of g per colour: columns without common rows are perturbed together. If g
// cannot be evaluated at a perturbed point, the other side is tried.
class FiniteDifferences final : public LoopJacobian {
 public:
  FiniteDifferences(const Pattern&, double relative_step);

  [[nodiscard]] const char* name() const noexcept override { return "finite differences"; }
  [[nodiscard]] double precision() const noexcept override { return 10.0 * relative_step_; }
  [[nodiscard]] bool doubtful() const noexcept override { return false; }
  [[nodiscard]] DenseMatrix at(LoopFunction& g, std::span<const double> x, std::span<const double> value,
                               const Domain&) const override;

 private:
  using Columns = std::vector<std::size_t>;
  struct Moved {
    std::vector<double> x, change;
  };
  Moved moved(LoopFunction& g, const Columns&, std::span<const double> x, std::span<const double> value,
              std::span<const double> steps) const;

  Pattern pattern_;
  std::vector<Columns> colours_;
  double relative_step_;
};

// Groups of columns without common rows, found greedily in order.
std::vector<std::vector<std::size_t>> colours(const Pattern&);

// Steps of about these sizes, in a direction in which errors of columns, or swapped columns, do not cancel.
std::vector<double> probe(std::vector<double> sizes);

// Whether a Jacobian contradicts a change over a small step; up to `noise` of it may be rounding. A non-finite change
// contradicts nothing.
bool contradicted(const DenseMatrix&, std::span<const double> step, std::span<const double> change,
                  std::span<const double> noise);

// Whether the loop changes near x as the Jacobian predicts, or cannot be evaluated there.
bool fits(const DenseMatrix&, std::span<const double> x, LoopFunction& g, const Domain&);

// A direction with largest element 1 along which g(x) − x does not change, independent of units; none if there is no
// such direction.
std::optional<std::vector<double>> null_direction(const DenseMatrix& jacobian, double precision);

// Elementwise difference.
std::vector<double> minus(std::span<const double> a, std::span<const double> b);

}  // namespace ssptool
