#include "inputs.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace ssptool {

namespace {

// Largest difference between both sides of an event that is not a jump, relative to the change in the step before.
constexpr double no_jump = 1e-6;
// Distance of two points, relative to the step before.
constexpr double too_close = 1e-5;

// Lines continue through an event, at which rates of change jump as a rule; parabolas through it would be off by more.
int order_within(int order, int possible, int since_event) {
  return std::min({order, possible, std::max(since_event, 1)});
}

}  // namespace

History::History(SlotValues& slot_values, const Wires& wires) : slot_values_(slot_values), wires_(wires) {
  for (Point& point : ring_) point.values.resize(slot_values.size());
}

// Drops points at this time or later, so that an instant can be accepted again, and the last point if it is so close
// that rates of change between both would be rounding. Of several such points in a row, only the first is dropped:
// otherwise rates of change would stay those from before an event, however many short steps follow it.
void History::accept(double t) noexcept {
  wires_.copy_outer();
  bool after_event = false, replaces = false;
  for (; count_ > 0 && point(0).t >= t; --count_) {
    replaces = point(0).t == t && point(0).replaces;
    after_event = point(0).after_event && (point(0).t == t || point(0).replaces);
    ++latest_;
  }
  if (!after_event && count_ > 1 && !point(0).replaces && t - point(0).t < too_close * (point(0).t - point(1).t)) {
    after_event = point(0).after_event;
    replaces = true;
    ++latest_;
    --count_;
  }
  --latest_;
  count_ = std::min(count_ + 1, points);
  point(0).t = t;
  point(0).after_event = after_event;
  point(0).replaces = replaces;
  std::copy(slot_values_.values.begin(), slot_values_.values.end(), point(0).values.begin());
}

void History::accept_after_event(double t) noexcept {
  wires_.copy_outer();
  for (Slot slot = 0; count_ > 0 && slot < slot_values_.size(); ++slot) {
    const double after = slot_values_.values[slot], before = point(0).values[slot];
    const double change = count_ > 1 ? std::abs(before - point(1).values[slot]) : 0.0;
    if (std::abs(after - before) <= no_jump * change) continue;
    for (int k = 0; k < count_; ++k) point(static_cast<unsigned>(k)).values[slot] = after;
  }
  accept(t);
  point(0).after_event = true;
}

int History::since_event() const noexcept {
  for (int k = 0; k < count_; ++k)
    if ((*this)[static_cast<unsigned>(k)].after_event) return k + 1;
  return count_;
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

Trends::Trends(const History& history) noexcept {
  for (int k = 0; k < history.size(); ++k) {
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
  order = order_within(order, history_.size() - 1, history_.since_event() - 1);
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
  order = order_within(order, history_.size(), history_.since_event());
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
