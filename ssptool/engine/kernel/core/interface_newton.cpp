#include "interface_newton.hpp"

#include <utility>

#include "special_numbers.hpp"

namespace ssptool {

namespace {

// An iteration that leaves more than this part of the residual hardly reduces it; after a number of those in a step,
// derivatives are not used.
constexpr double contraction = 0.2;
constexpr int most_misses = 2;
// Relative step of finite differences, in nominal values.
constexpr double relative_step = 1e-5;

// The step as a function of some unknowns; the others are constant.
class PartOfStep final : public LoopFunction {
 public:
  PartOfStep(RepeatedStep& step, std::span<const double> x, const std::vector<std::size_t>& columns)
      : step_(step), x_(x.begin(), x.end()), columns_(columns) {}

  std::vector<double> value(std::span<const double> part) override {
    std::vector<double> moved = x_;
    for (std::size_t k = 0; k < columns_.size(); ++k) moved[columns_[k]] = part[k];
    return step_.repeated(moved);
  }
  std::vector<double> product(std::span<const double> seed) override { return {seed.begin(), seed.end()}; }

 private:
  RepeatedStep& step_;
  const std::vector<double> x_;
  const std::vector<std::size_t>& columns_;
};

// Computes some columns of the Jacobian; the components are at another point afterwards.
void add_differences(DenseMatrix& jacobian, const std::vector<std::size_t>& columns, std::span<const double> x,
                     std::span<const double> found, RepeatedStep& step) {
  const std::size_t size = x.size(), count = columns.size();
  const Pattern whole = step.pattern();
  Pattern pattern(size, count, false);
  std::vector<double> start(count);
  for (std::size_t k = 0; k < count; ++k) {
    start[k] = x[columns[k]];
    for (std::size_t i = 0; i < size; ++i)
      if (whole(i, columns[k])) pattern.set(i, k);
  }
  const Domain domain{std::vector<double>(count, 1.0), std::vector<double>(count, -infinity),
                      std::vector<double>(count, infinity)};
  PartOfStep function(step, x, columns);
  const DenseMatrix some = FiniteDifferences(pattern, relative_step).at(function, start, found, domain);
  for (std::size_t k = 0; k < count; ++k)
    for (std::size_t i = 0; i < size; ++i) jacobian(i, columns[k]) = some(i, k);
}

}  // namespace

void InterfaceNewton::begin() noexcept {
  last_size_.reset();
  misses_ = 0;
}

std::vector<double> InterfaceNewton::next(std::span<const double> x, std::span<const double> found,
                                          RepeatedStep& step) {
  const std::vector<double> residual = minus(found, x);
  const double size = norm(residual);
  const bool slow = last_size_ && size > contraction * *last_size_;
  if (slow && free_) doubt();
  if (!inverse_ || slow || free_) inverse_ = inverse(x, found, step);
  last_size_ = size;
  return inverse_ ? minus(x, times(*inverse_, residual)) : std::vector<double>(found.begin(), found.end());
}

void InterfaceNewton::doubt() noexcept {
  if (++misses_ == most_misses) differences_ = true;
}

// None if the step fails at the required points, or if the Jacobian is singular.
std::optional<DenseMatrix> InterfaceNewton::inverse(std::span<const double> x, std::span<const double> found,
                                                    RepeatedStep& step) {
  DenseMatrix system = jacobian(x, found, step);
  for (std::size_t i = 0; i < x.size(); ++i) system(i, i) -= 1.0;
  return inverse_of(system);
}

DenseMatrix InterfaceNewton::jacobian(std::span<const double> x, std::span<const double> found, RepeatedStep& step) {
  StepDerivatives known = differences_ ? StepDerivatives(x.size()) : step.derivatives();
  std::vector<std::size_t> left;
  for (std::size_t j = 0; j < x.size(); ++j)
    if (!known.known[j]) left.push_back(j);
  free_ = left.empty();
  if (!free_) add_differences(known.matrix, left, x, found, step);
  return known.matrix;
}

bool InterfaceNewton::repels() const {
  if (!inverse_) return false;
  std::optional<DenseMatrix> step = inverse_of(*inverse_);
  if (!step) return false;
  for (std::size_t i = 0; i < step->rows; ++i) (*step)(i, i) += 1.0;
  return powers_grow(std::move(*step));
}

JacobianMemory InterfaceNewton::memory() const {
  return {.differences = differences_, .free = free_, .inverse = inverse_ ? inverse_->elements : std::vector<double>{}};
}

void InterfaceNewton::go_on(const JacobianMemory& memory, std::size_t unknowns) {
  differences_ = memory.differences;
  free_ = memory.free;
  inverse_.reset();
  if (!memory.inverse.empty()) inverse_.emplace(unknowns, unknowns).elements = memory.inverse;
}

}  // namespace ssptool
