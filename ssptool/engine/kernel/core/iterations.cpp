// Steps that are repeated until what goes into inputs is what comes out.
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "checks.hpp"
#include "kernel.hpp"

namespace ssptool {

namespace {

// The largest difference between what came out and what went in, in units of these; nan if one is nan.
template <class Unit>
double largest(const std::vector<Slot>& unknowns, const std::vector<double>& x, std::span<const double> values,
               const Unit& unit) noexcept {
  double most = 0.0;
  for (std::size_t i = 0; i < unknowns.size(); ++i) {
    const double own = std::abs(values[unknowns[i]] - x[i]) / unit(i);
    if (!(own <= most) && !std::isnan(most)) most = own;
  }
  return most;
}

}  // namespace

double Kernel::Iteration::excess(std::span<const double> values) const noexcept {
  return largest(calls.unknowns, x, values, [this](std::size_t i) noexcept {
    return calls.absolute + calls.relative * std::max(std::abs(x[i]), calls.nominal[i]);
  });
}

double Kernel::Iteration::difference(std::span<const double> values) const noexcept {
  return largest(calls.unknowns, x, values, [this](std::size_t i) noexcept { return calls.nominal[i]; });
}

Index Kernel::iteration(IterationCalls calls) {
  for (const Index group : {calls.group, calls.following, calls.held}) check_index(group, groups_.size(), "group");
  check_index(calls.sweep, sweeps_.size(), "sweep");
  check_order(calls.prediction, max_order);
  if (calls.order != 0) check_order(calls.order, max_order);
  if (calls.max_iterations < 1)
    throw std::invalid_argument("max_iterations is " + std::to_string(calls.max_iterations) + ", must be at least 1");
  const std::size_t m = calls.unknowns.size();
  check_size(calls.nominal.size(), m, "the list of nominal values");
  for (const Slot slot : calls.unknowns) {
    check_slot(slot);
    if (holds_integer_[slot])
      throw std::invalid_argument("slot " + std::to_string(slot) + " holds integers and cannot be iterated");
  }
  iterations_.push_back({std::move(calls), std::vector<double>(m)});
  return iterations_.size() - 1;
}

Kernel::Iteration& Kernel::checked_iteration(Index iteration) {
  check_index(iteration, iterations_.size(), "iteration");
  return iterations_[iteration];
}

std::span<double> Kernel::guess(Index iteration) { return checked_iteration(iteration).x; }

Outcome Kernel::iterate(Index index, double t, double h, bool first) {
  Iteration& iteration = checked_iteration(index);
  if (!first)
    for (const Index instance : groups_[iteration.calls.group].instances)
      if (!instances_[instance]->has_saved_state())
        throw std::invalid_argument("no state of instance " + std::to_string(instance) + " was saved");
  return result(iterate(iteration, t, h, first));
}

bool Kernel::iterate(Iteration& iteration, double t, double h, bool first) noexcept {
  const IterationCalls& calls = iteration.calls;
  Group& group = groups_[calls.group];
  if (!(first ? save_all(group) : restore_all(group))) return false;
  if (first) {
    predict(iteration, h);
    wires_.copy(group.wires, values_.data());
  }
  for (std::size_t i = 0; i < calls.unknowns.size(); ++i) values_[calls.unknowns[i]] = iteration.x[i];
  hold(groups_[calls.held].inputs);
  if (calls.order != 0)
    interpolate(groups_[calls.following].inputs, calls.order, h);
  else
    hold(groups_[calls.following].inputs);
  if (!step_all(group, t, h) || !visit_all(calls.sweep)) return false;
  wires_.copy(group.wires, values_.data());
  return true;
}

// Where the polynomial through the accepted points leads.
void Kernel::predict(Iteration& iteration, double h) noexcept {
  const IterationCalls& calls = iteration.calls;
  extrapolate(groups_[calls.group].inputs, calls.prediction);
  for (std::size_t i = 0; i < calls.unknowns.size(); ++i) {
    const Slot slot = calls.unknowns[i];
    iteration.x[i] = input_value_[slot] + h * input_rates_[slot] + h * h / 2 * input_rates_[values_.size() + slot];
  }
}

bool Kernel::converge(Iteration& iteration, double t, double h) noexcept {
  const IterationCalls& calls = iteration.calls;
  double least = std::numeric_limits<double>::infinity();
  std::int64_t count = 1;
  for (;; ++count) {
    if (!iterate(iteration, t, h, count == 1)) {
      outcome_.iterations = count;
      return false;
    }
    if (iteration.excess(values_) <= 1.0) {
      counts_[step_] = std::max(counts_[step_], count);
      return true;
    }
    const double size = iteration.difference(values_);
    if (count == calls.max_iterations || !(size <= calls.growth * least)) break;
    least = std::min(least, size);
    for (std::size_t i = 0; i < calls.unknowns.size(); ++i) {
      const double nominal = calls.nominal[i], x = iteration.x[i] / nominal;
      const double found = values_[calls.unknowns[i]] / nominal;
      iteration.x[i] = nominal * (calls.relaxation == 1.0 ? found : x + calls.relaxation * (found - x));
    }
  }
  outcome_ = {.code = Code::coupling, .iterations = count};
  return false;
}

}  // namespace ssptool
