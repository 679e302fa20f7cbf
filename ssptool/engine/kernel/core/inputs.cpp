// How inputs run over a step.
#include <algorithm>

#include "checks.hpp"
#include "kernel.hpp"

namespace ssptool {

void Kernel::move(Slot slot, double value, double first, double second) noexcept {
  input_value_[slot] = value;
  input_rates_[slot] = first;
  input_rates_[values_.size() + slot] = second;
}

const Kernel::Group& Kernel::checked_group(Index group) const {
  check_index(group, groups_.size(), "group");
  return groups_[group];
}

Kernel::Group& Kernel::checked_group(Index group) {
  check_index(group, groups_.size(), "group");
  return groups_[group];
}

void Kernel::exchange(Index group) { wires_.copy(checked_group(group).wires, values_.data()); }

void Kernel::hold(Index group) { hold(checked_group(group).inputs); }

void Kernel::hold(const Inputs& inputs) noexcept {
  for (const Slot slot : inputs.floats) move(slot, values_[slot], 0.0, 0.0);
  stay(inputs, values_.data());
}

// Inputs of types other than Float64, over the step.
void Kernel::stay(const Inputs& inputs, const double* cells) noexcept {
  for (const Slot slot : inputs.typed) input_value_[slot] = cells[slot];
}

void Kernel::extrapolate(Index group, int order) {
  check_order(order, max_order);
  extrapolate(checked_group(group).inputs, order);
}

void Kernel::extrapolate(const Inputs& inputs, int order) noexcept {
  if (accepted_ == 0) return hold(inputs);
  order = std::min(order, accepted_ - 1);
  const Point& now = accepted(0);
  stay(inputs, now.values);
  if (order == 0)
    for (const Slot slot : inputs.floats) move(slot, now.values[slot], 0.0, 0.0);
  if (order == 1) on_lines(inputs.floats, now, accepted(1));
  if (order == 2) on_parabolas(inputs.floats, now, accepted(1), accepted(2));
}

// Through the last two points.
void Kernel::on_lines(const std::vector<Small>& inputs, const Point& now, const Point& before) noexcept {
  const double h = now.t - before.t;
  for (const Slot slot : inputs) {
    const double y0 = now.values[slot];
    move(slot, y0, (y0 - before.values[slot]) / h, 0.0);
  }
}

// Through the last three.
void Kernel::on_parabolas(const std::vector<Small>& inputs, const Point& now, const Point& before,
                          const Point& oldest) noexcept {
  const double h = now.t - before.t;
  for (const Slot slot : inputs) {
    const double y0 = now.values[slot];
    const double d01 = (y0 - before.values[slot]) / h;
    const double d12 = (before.values[slot] - oldest.values[slot]) / (before.t - oldest.t);
    const double curvature = (d01 - d12) / (now.t - oldest.t);
    move(slot, y0, d01 + curvature * h, 2.0 * curvature);
  }
}

void Kernel::interpolate(Index group, int order, double h) {
  check_order(order, max_order);
  interpolate(checked_group(group).inputs, order, h);
}

void Kernel::interpolate(const Inputs& inputs, int order, double h) noexcept {
  if (accepted_ == 0) return hold(inputs);
  order = std::min(order, accepted_);
  const Point& now = accepted(0);
  const Point& before = accepted(1);
  stay(inputs, now.values);
  for (const Slot slot : inputs.floats) {
    const double y0 = now.values[slot];
    const double slope = (values_[slot] - y0) / h;
    if (order == 1) {
      move(slot, y0, slope, 0.0);
      continue;
    }
    const double d01 = (y0 - before.values[slot]) / (now.t - before.t);
    const double curvature = (slope - d01) / (h + (now.t - before.t));
    move(slot, y0, slope - curvature * h, 2.0 * curvature);
  }
}

}  // namespace ssptool
