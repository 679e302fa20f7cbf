#include "iterations.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <utility>

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

double Iteration::excess(std::span<const double> values) const noexcept {
  return largest(calls.unknowns, x, values, [this](std::size_t i) noexcept {
    return calls.absolute + calls.relative * std::max(std::abs(x[i]), calls.nominal[i]);
  });
}

double Iteration::difference(std::span<const double> values) const noexcept {
  return largest(calls.unknowns, x, values, [this](std::size_t i) noexcept { return calls.nominal[i]; });
}

void Iterations::check(const IterationCalls& calls) const {
  for (const Index group : {calls.group, calls.following, calls.held}) check_index(group, groups_.size(), "group");
  check_index(calls.schedule, schedules_.size(), "schedule");
  check_order(calls.prediction);
  if (calls.order != 0) check_order(calls.order);
  if (calls.max_iterations < 1)
    throw std::invalid_argument("max_iterations is " + std::to_string(calls.max_iterations) + ", must be at least 1");
  check_size(calls.nominal.size(), calls.unknowns.size(), "the list of nominal values");
  for (const Slot slot : calls.unknowns) {
    slot_values_.check(slot);
    if (slot_values_.holds_integer[slot])
      throw std::invalid_argument("slot " + std::to_string(slot) + " holds integers and cannot be iterated");
  }
}

Index Iterations::add(IterationCalls calls) {
  check(calls);
  const std::size_t m = calls.unknowns.size();
  all_.push_back({std::move(calls), std::vector<double>(m)});
  return all_.size() - 1;
}

Iteration& Iterations::at(Index iteration) {
  check_index(iteration, all_.size(), "iteration");
  return all_[iteration];
}

void Iterations::end(const Outcome& outcome) {
  const auto begun = static_cast<std::size_t>(outcome.steps) + (outcome.ok() ? 0 : 1);
  if (begun < counts_.size()) counts_.resize(begun);
}

Outcome Iterations::iterate(Index index, double t, double h, bool first) {
  Iteration& iteration = at(index);
  if (!first) stepper_.check_saved(groups_[iteration.calls.group]);
  return access_.result(iterate_once(iteration, t, h, first));
}

bool Iterations::iterate_once(Iteration& iteration, double t, double h, bool first) noexcept {
  const IterationCalls& calls = iteration.calls;
  Group& group = groups_[calls.group];
  if (!(first ? stepper_.save_all(group) : stepper_.restore_all(group))) return false;
  if (first) {
    predict(iteration, h);
    wires_.copy(group.wires);
  }
  for (std::size_t i = 0; i < calls.unknowns.size(); ++i) slot_values_.values[calls.unknowns[i]] = iteration.x[i];
  inputs_.hold_slots(groups_[calls.held].inputs);
  if (calls.order != 0)
    inputs_.interpolate_slots(groups_[calls.following].inputs, calls.order, h);
  else
    inputs_.hold_slots(groups_[calls.following].inputs);
  if (!stepper_.step_all(group, t, h) || !schedules_.visit_all(calls.schedule)) return false;
  wires_.copy(group.wires);
  return true;
}

// Where the polynomial through the accepted points leads.
void Iterations::predict(Iteration& iteration, double h) noexcept {
  const IterationCalls& calls = iteration.calls;
  inputs_.extrapolate_slots(groups_[calls.group].inputs, calls.prediction);
  for (std::size_t i = 0; i < calls.unknowns.size(); ++i) {
    const Slot slot = calls.unknowns[i];
    iteration.x[i] = slot_values_.input_value[slot] + h * slot_values_.input_rates[slot] +
                     h * h / 2 * slot_values_.input_rates[slot_values_.size() + slot];
  }
}

bool Iterations::converge(Index index, double t, double h) noexcept {
  Iteration& iteration = all_[index];
  const IterationCalls& calls = iteration.calls;
  double least = std::numeric_limits<double>::infinity();
  std::int64_t count = 1;
  for (;; ++count) {
    if (!iterate_once(iteration, t, h, count == 1)) {
      access_.outcome.iterations = count;
      return false;
    }
    if (iteration.excess(slot_values_.values) <= 1.0) {
      counts_[step_] = std::max(counts_[step_], count);
      return true;
    }
    const double size = iteration.difference(slot_values_.values);
    if (count == calls.max_iterations || !(size <= calls.growth * least)) break;
    least = std::min(least, size);
    for (std::size_t i = 0; i < calls.unknowns.size(); ++i) {
      const double nominal = calls.nominal[i], x = iteration.x[i] / nominal;
      const double found = slot_values_.values[calls.unknowns[i]] / nominal;
      iteration.x[i] = nominal * (calls.relaxation == 1.0 ? found : x + calls.relaxation * (found - x));
    }
  }
  access_.outcome = {.code = Code::coupling, .iterations = count};
  return false;
}

}  // namespace ssptool
