// Trial steps of components whose inputs are constant over a step, to find out whether they integrate these inputs.
#include <algorithm>
#include <cmath>
#include <utility>

#include "repetition.hpp"

namespace ssptool {

namespace {

constexpr double input_change = 0.1;    // relative to the size of an input
constexpr double least_change = 1e-10;  // of an unknown, relative to its size: above rounding
constexpr double equal_within = 0.05;
constexpr double still_growing = 0.8;  // at most this part of a response exists after half of the step

}  // namespace

// If a component integrates its input, two steps of half the size have the same effect as one; components that do one
// step of a formula (Euler, leapfrog, Newmark) are found this way. Outputs that follow an input directly are evaluated
// with the unchanged input and do not respond. If they are computed only inside steps, the complete response exists
// after half of the step, and the value at the end is the better one.
std::optional<bool> Attempts::integrates(const IterationCalls& calls, const MacroStep& step) noexcept {
  const std::vector<double> kept = slot_values_.values;
  const std::optional<Response> whole = response(calls, step, 1, kept), halves = response(calls, step, 2, kept);
  const bool returned = restore(calls);
  std::ranges::copy(kept, slot_values_.values.begin());
  if (!returned) return std::nullopt;
  if (!whole || !halves) return false;
  bool responds = false;
  for (std::size_t i = 0; i < calls.unknowns.size(); ++i) {
    const double size = std::max(std::abs(kept[calls.unknowns[i]]), calls.nominal[i]);
    const double one = whole->last[i], two = halves->last[i];
    if (std::max(std::abs(one), std::abs(two)) <= least_change * size) continue;
    responds = true;
    if (!(std::abs(one - two) <= equal_within * std::abs(two))) return false;
    if (!(std::abs(halves->first[i]) <= still_growing * std::abs(two))) return false;
  }
  return responds;
}

// The effect of a change of all inputs.
std::optional<Attempts::Response> Attempts::response(const IterationCalls& calls, const MacroStep& step, int parts,
                                                     std::span<const double> start) noexcept {
  std::optional<Response> before = course(calls, step, parts, start, 0.0),
                          after = course(calls, step, parts, start, input_change);
  if (!before || !after) return std::nullopt;
  for (std::size_t i = 0; i < calls.unknowns.size(); ++i) {
    after->first[i] -= before->first[i];
    after->last[i] -= before->last[i];
  }
  return after;
}

std::optional<Attempts::Response> Attempts::course(const IterationCalls& calls, const MacroStep& step, int parts,
                                                   std::span<const double> start, double change) noexcept {
  Group& group = groups_[calls.held];
  if (!restore(calls)) return std::nullopt;
  std::ranges::copy(start, slot_values_.values.begin());
  inputs_.hold_slots(group.inputs);
  for (std::size_t i = 0; i < calls.unknowns.size(); ++i) {
    const Slot slot = calls.unknowns[i];
    if (std::ranges::find(group.inputs.floats, slot) != group.inputs.floats.end())
      slot_values_.input_value[slot] += change * std::max(std::abs(slot_values_.values[slot]), calls.nominal[i]);
  }
  Response found{std::vector<double>(calls.unknowns.size()), std::vector<double>(calls.unknowns.size())};
  const double h = step.h / parts;
  for (int part = 0; part < parts; ++part) {
    if (!stepper_.step_all(group, step.t + part * h, h) || !evaluate(calls.schedule)) return std::nullopt;
    exchange(calls);
    find(calls, part == 0 ? found.first : found.last);
  }
  if (parts == 1) found.last = found.first;
  return found;
}

}  // namespace ssptool
