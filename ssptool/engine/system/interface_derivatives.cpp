#include "interface_derivatives.hpp"

#include <algorithm>
#include <utility>

#include "../kernel/core/exponential.hpp"

namespace ssptool::runtime {

namespace {

constexpr const char* adjoint_of_fmi3 = "fmi3GetAdjointDerivative";

Pattern transposed(const Pattern& pattern) {
  Pattern found(pattern.columns, pattern.rows, false);
  for (std::size_t i = 0; i < pattern.rows; ++i)
    for (std::size_t j = 0; j < pattern.columns; ++j)
      if (pattern(i, j)) found.set(j, i);
  return found;
}

DenseMatrix part_of(const DenseMatrix& matrix, std::size_t row, std::size_t column, std::size_t rows,
                    std::size_t columns) {
  DenseMatrix found(rows, columns);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) found(i, j) = matrix(row + i, column + j);
  return found;
}

}  // namespace

PartialDerivatives::PartialDerivatives(const Part& part, const AskedDerivatives& asked, const Pattern& pattern)
    : part_(part), asked_(asked), pattern_(pattern) {
  std::vector<std::vector<std::size_t>> columns, rows;
  if (asked.forward) columns = colours(pattern);
  if (asked.adjoint) rows = colours(transposed(pattern));
  by_rows_ = !asked.forward || (asked.adjoint && rows.size() < columns.size());
  groups_ = by_rows_ ? rows : columns;
  const bool sized = part.plan().fmi_major >= 3;
  const char* const forward = sized ? "fmi3GetDirectionalDerivative" : "fmi2GetDirectionalDerivative";
  function_ = reinterpret_cast<void*>(part.functions().find<void()>(by_rows_ ? adjoint_of_fmi3 : forward));
}

std::optional<DenseMatrix> PartialDerivatives::matrix() {
  DenseMatrix found(pattern_.rows, pattern_.columns);
  if (found.elements.empty()) return found;
  if (refused_) return {};
  const std::size_t seeds = by_rows_ ? pattern_.rows : pattern_.columns;
  std::vector<double> answer(by_rows_ ? pattern_.columns : pattern_.rows);
  for (const std::vector<std::size_t>& group : groups_) {
    std::vector<double> seed(seeds);
    for (const std::size_t one : group) seed[one] = 1.0;
    std::ranges::fill(answer, 0.0);
    refused_ = ask(seed, answer) > fmi::warning;
    if (refused_ || !finite(answer)) return {};
    for (const std::size_t one : group)
      for (std::size_t k = 0; k < answer.size(); ++k) {
        const std::size_t i = by_rows_ ? one : k, j = by_rows_ ? k : one;
        if (pattern_(i, j)) found(i, j) = answer[k];
      }
  }
  return found;
}

int PartialDerivatives::ask(const std::vector<double>& seed, std::vector<double>& answer) const {
  const auto& [unknowns, knowns, forward, adjoint] = asked_;
  if (part_.plan().fmi_major < 3)
    return reinterpret_cast<fmi::v2::GetDirectionalDerivative*>(function_)(
        part_.component(), unknowns.data(), unknowns.size(), knowns.data(), knowns.size(), seed.data(), answer.data());
  return reinterpret_cast<fmi::v3::GetDirectionalDerivative*>(function_)(
      part_.component(), unknowns.data(), unknowns.size(), knowns.data(), knowns.size(), seed.data(), seed.size(),
      answer.data(), answer.size());
}

// Response of outputs to inputs: through states over the step, and direct; and the inputs whose direct feedthrough is
// unknown.
struct InterfaceDerivatives::Response {
  DenseMatrix answer, feedthrough;
  std::vector<bool> known, blind;
};

InterfaceDerivatives::InterfaceDerivatives(const PlannedInterface& plan,
                                           const std::vector<std::unique_ptr<Part>>& parts)
    : plan_(plan) {
  for (const PlannedInterfaceMember& one : plan.members) {
    partial_.emplace_back();
    if (one.asked) partial_.back().emplace(*parts[one.part], *one.asked, one.pattern);
  }
}

StepDerivatives InterfaceDerivatives::over(double h, int order, double held) {
  const std::size_t size = plan_.wires.rows, outputs = plan_.wires.columns;
  Response response{DenseMatrix(outputs, size), DenseMatrix(outputs, size), std::vector<bool>(size),
                    std::vector<bool>(size)};
  for (std::size_t member = 0; member < partial_.size(); ++member) add(member, h, order, held, response);
  StepDerivatives found(size);
  DenseMatrix through = DenseMatrix::identity(outputs);
  const DenseMatrix back = product(response.feedthrough, plan_.wires);
  for (std::size_t k = 0; k < back.elements.size(); ++k) through.elements[k] -= back.elements[k];
  const PartialPivotLu lu(std::move(through));
  if (!lu.regular()) return found;
  std::vector<double> right(outputs), moved(outputs);
  for (std::size_t j = 0; j < size; ++j) {
    bool known = response.known[j];
    for (std::size_t i = 0; i < size; ++i) known = known && !(plan_.pattern(i, j) && response.blind[i]);
    if (!known) continue;
    found.known[j] = true;
    for (std::size_t k = 0; k < outputs; ++k) right[k] = response.answer(k, j);
    lu.solve(right, moved);
    const std::vector<double> column = times(plan_.wires, moved);
    for (std::size_t i = 0; i < size; ++i) found.matrix(i, j) = column[i];
  }
  return found;
}

void InterfaceDerivatives::add(std::size_t number, double h, int order, double held, Response& response) {
  const PlannedInterfaceMember& member = plan_.members[number];
  const std::size_t n = member.states, inputs = member.columns.size(), outputs = member.rows.size();
  const auto matrix = partial_[number] ? partial_[number]->matrix() : std::nullopt;
  if (!matrix) {
    for (std::size_t j = 0; j < inputs; ++j)
      for (std::size_t i = 0; i < outputs; ++i)
        if (member.pattern(n + i, n + j)) response.blind[member.columns[j]] = true;
    return;
  }
  std::vector<int> orders;
  for (const bool moves : member.moves) orders.push_back(moves ? order : 0);
  const DenseMatrix a = part_of(*matrix, 0, 0, n, n), b = part_of(*matrix, 0, n, n, inputs);
  const DenseMatrix through_states = n > 0 ? product(part_of(*matrix, n, 0, outputs, n), step_response(a, b, h, orders))
                                           : DenseMatrix(outputs, inputs);
  for (std::size_t j = 0; j < inputs; ++j) {
    response.known[member.columns[j]] = true;
    const double part = orders[j] == 0 ? held : 1.0;
    for (std::size_t i = 0; i < outputs; ++i) {
      response.answer(member.rows[i], member.columns[j]) = part * through_states(i, j);
      response.feedthrough(member.rows[i], member.columns[j]) = (*matrix)(n + i, n + j);
    }
  }
}

}  // namespace ssptool::runtime
