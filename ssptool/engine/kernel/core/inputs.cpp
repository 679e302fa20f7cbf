#include "inputs.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace ssptool {

History::History(SlotValues& slot_values, const Wires& wires) : slot_values_(slot_values), wires_(wires) {
  for (Point& point : ring_) point.values.resize(slot_values.size());
}

// Drops points at this time or later, so that an instant can be accepted again.
void History::accept(double t) noexcept {
  wires_.copy_outer();
  for (; count_ > 0 && point(0).t >= t; --count_) ++latest_;
  --latest_;
  count_ = std::min(count_ + 1, points);
  point(0).t = t;
  std::copy(slot_values_.values.begin(), slot_values_.values.end(), point(0).values.begin());
}

std::vector<History::Point> History::all() const {
  std::vector<Point> found;
  for (int k = 0; k < count_; ++k) found.push_back((*this)[static_cast<unsigned>(k)]);
  return found;
}

void History::go_on(const std::vector<Point>& points) {
  if (points.size() > static_cast<std::size_t>(History::points))
    throw std::invalid_argument("a history has at most " + std::to_string(History::points) + " points");
  for (unsigned k = 0; k < points.size(); ++k) point(k) = points[k];
  count_ = static_cast<int>(points.size());
}

void History::discard_point() {
  if (count_ == 0) throw std::invalid_argument("no point was accepted");
  std::copy(point(0).values.begin(), point(0).values.end(), slot_values_.values.begin());
}

// Points before a jump have a time long ago, and are ignored.
Trends::Trends(const History& history) noexcept {
  for (int k = 0; k < history.size() && history[static_cast<unsigned>(k)].t > long_ago / 2.0; ++k) {
    const History::Point& point = history[static_cast<unsigned>(k)];
    values_[k] = point.values.data();
    if (k > 0) durations_[k - 1] = history[static_cast<unsigned>(k - 1)].t - point.t;
    count_ = k;
  }
}

void Inputs::hold_slots(const InputSlots& inputs) noexcept {
  for (const Slot slot : inputs.floats) slot_values_.move(slot, slot_values_.values[slot], 0.0, 0.0);
  stay(inputs, slot_values_.values);
}

// Inputs of other types than Float64 are constant over the step.
void Inputs::stay(const InputSlots& inputs, const std::vector<double>& values) noexcept {
  for (const Slot slot : inputs.typed) slot_values_.input_value[slot] = values[slot];
}

void Inputs::extrapolate(Index group, int order) {
  check_order(order);
  extrapolate_slots(groups_.at(group).inputs, order);
}

void Inputs::extrapolate_slots(const InputSlots& inputs, int order) noexcept {
  if (history_.size() == 0) return hold_slots(inputs);
  order = std::min(order, history_.size() - 1);
  const History::Point& now = history_[0];
  stay(inputs, now.values);
  if (order == 0)
    for (const Slot slot : inputs.floats) slot_values_.move(slot, now.values[slot], 0.0, 0.0);
  if (order == 1) on_lines(inputs.floats);
  if (order == 2) on_parabolas(inputs.floats);
}

// Through the last two points.
void Inputs::on_lines(const std::vector<Small>& slots) noexcept {
  const History::Point &now = history_[0], &before = history_[1];
  const double h = now.t - before.t;
  for (const Slot slot : slots) {
    const double y0 = now.values[slot];
    slot_values_.move(slot, y0, (y0 - before.values[slot]) / h, 0.0);
  }
}

// Through the last three points.
void Inputs::on_parabolas(const std::vector<Small>& slots) noexcept {
  const History::Point &now = history_[0], &before = history_[1], &oldest = history_[2];
  const double h = now.t - before.t;
  for (const Slot slot : slots) {
    const double y0 = now.values[slot];
    const double d01 = (y0 - before.values[slot]) / h;
    const double d12 = (before.values[slot] - oldest.values[slot]) / (before.t - oldest.t);
    const double curvature = (d01 - d12) / (now.t - oldest.t);
    slot_values_.move(slot, y0, d01 + curvature * h, 2.0 * curvature);
  }
}

void Inputs::interpolate(Index group, int order, double h) {
  if (order != 0) check_order(order);
  interpolate_slots(groups_.at(group).inputs, order, h);
}

void Inputs::interpolate_slots(const InputSlots& inputs, int order, double h) noexcept {
  if (history_.size() == 0) return hold_slots(inputs);
  order = std::min(order, history_.size());
  const History::Point &now = history_[0], &before = history_[1];
  stay(inputs, now.values);
  for (const Slot slot : inputs.floats) {
    const double y0 = now.values[slot];
    if (order == 0) {
      slot_values_.move(slot, 0.5 * (y0 + slot_values_.values[slot]), 0.0, 0.0);
      continue;
    }
    const double slope = (slot_values_.values[slot] - y0) / h;
    if (order == 1) {
      slot_values_.move(slot, y0, slope, 0.0);
      continue;
    }
    const double d01 = (y0 - before.values[slot]) / (now.t - before.t);
    const double curvature = (slope - d01) / (h + (now.t - before.t));
    slot_values_.move(slot, y0, slope - curvature * h, 2.0 * curvature);
  }
}

void Inputs::interpolate_from_middle(const InputSlots& inputs, double h) noexcept {
  interpolate_slots(inputs, 1, h);
  const Trends trends(history_);
  for (const Slot slot : inputs.floats) {
    const double start = trends.now(slot) + 0.5 * trends.change_to_now(slot);
    slot_values_.move(slot, start, (slot_values_.values[slot] - start) / h, 0.0);
  }
}

void Inputs::mid_step(Index group, int order, double h) {
  if (order != 0) check_order(order);
  mid_step_slots(groups_.at(group).inputs, order, h);
}

void Inputs::mid_step_slots(const InputSlots& inputs, int order, double h) noexcept {
  hold_slots(inputs);
  const Trends trends(history_);
  for (const Slot slot : inputs.floats) {
    if (order == 0)
      slot_values_.input_value[slot] = trends.ahead(slot_values_, slot, 0.5 * h);
    else if (!trends.rings(slot))
      slot_values_.input_value[slot] = 0.5 * (trends.now(slot) + slot_values_.values[slot]);
  }
}

}  // namespace ssptool
