#include "time_tables.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

namespace ssptool {

namespace {

void check_times(const std::vector<double>& times, std::size_t number) {
  const std::string name = "axis " + std::to_string(number);
  if (times.empty()) throw std::invalid_argument(name + " has no times");
  for (std::size_t row = 0; row < times.size(); ++row) {
    if (!std::isfinite(times[row])) throw std::invalid_argument(name + " has a time that is not finite");
    if (row > 0 && times[row] < times[row - 1]) throw std::invalid_argument(name + " has times that descend");
  }
}

void check_column(const TableColumn& column, std::size_t rows) {
  const std::string name = "the column of slot " + std::to_string(column.slot);
  if (column.values.size() != rows)
    throw std::invalid_argument(name + " has " + std::to_string(column.values.size()) + " rows, its axis has " +
                                std::to_string(rows));
  if (column.integer && column.linear) throw std::invalid_argument(name + ", an integer, cannot be linear");
  if (!column.integer &&
      !std::all_of(column.values.begin(), column.values.end(), [](double x) { return std::isfinite(x); }))
    throw std::invalid_argument(name + " has a value that is not finite");
}

}  // namespace

TimeTables::TimeTables(std::vector<std::vector<double>> axes, std::vector<TableColumn> columns)
    : columns_(std::move(columns)) {
  for (auto& times : axes) {
    check_times(times, axes_.size());
    axes_.push_back({std::move(times)});
  }
  for (const TableColumn& column : columns_) {
    if (column.axis >= axes_.size())
      throw std::out_of_range("axis " + std::to_string(column.axis) + " does not exist, there are " +
                              std::to_string(axes_.size()));
    check_column(column, axes_[column.axis].times.size());
  }
}

TableColumn& TimeTables::checked(std::size_t column) {
  if (column >= columns_.size())
    throw std::out_of_range("column " + std::to_string(column) + " does not exist, there are " +
                            std::to_string(columns_.size()));
  return columns_[column];
}

std::span<double> TimeTables::column(std::size_t column) { return checked(column).values; }

void TimeTables::override_column(std::size_t column, SlotOverride value) { checked(column).applied = value; }

void TimeTables::between(double begin, double end) noexcept {
  begin_ = begin;
  end_ = end;
}

void TimeTables::write(double t, double* values) noexcept {
  const bool from_left = t >= end_;
  const double time = from_left ? end_ : std::max(t, begin_);
  for (Axis& axis : axes_) seek(axis, time, from_left);
  for (const TableColumn& column : columns_) {
    const Axis& axis = axes_[column.axis];
    const double value = at(column, axis, axis.row, time);
    values[column.slot] =
        column.integer ? as_double(column.applied.of_integer(as_integer(value))) : column.applied.of_double(value);
  }
}

// The row is usually the same as before, or the next one.
void TimeTables::seek(Axis& axis, double t, bool from_left) noexcept {
  const auto& times = axis.times;
  if (from_left) {
    axis.row = static_cast<std::size_t>(std::lower_bound(times.begin(), times.end(), t) - times.begin());
    return;
  }
  for (int tries = 0; tries < 2; ++tries) {
    const bool reached = axis.row == 0 || times[axis.row - 1] <= t;
    if (reached && (axis.row == times.size() || t < times[axis.row])) return;
    if (!reached || axis.row == times.size()) break;
    ++axis.row;
  }
  axis.row = static_cast<std::size_t>(std::upper_bound(times.begin(), times.end(), t) - times.begin());
}

// At both ends of a line, and on a level line, returns the exact number in the table, so that a zero keeps its sign.
double TimeTables::at(const TableColumn& column, const Axis& axis, std::size_t row, double t) noexcept {
  if (row == 0) return column.values[0];
  const double first = column.values[row - 1];
  if (!column.linear || row == axis.times.size()) return first;
  const double before = axis.times[row - 1], second = column.values[row];
  const double share = (t - before) / (axis.times[row] - before);
  if (share == 0.0 || first == second) return first;
  return share == 1.0 ? second : first + share * (second - first);
}

bool TimeTables::beyond_ends(double t, double h, double* found) const noexcept {
  const double begin = std::max(t - h, begin_), end = std::min(t, end_);
  bool any = false;
  for (const TableColumn& column : columns_) {
    if (!column.linear) continue;
    const bool replaced = column.applied.kind == SlotOverride::Kind::override_;
    const double beyond = replaced ? 0.0 : beyond_chord(column, axes_[column.axis], begin, end);
    found[column.slot] = beyond;
    any |= beyond != 0.0;
  }
  return any;
}

// Relative to the chord between both ends, so that it is zero if all rows between them are on a level line.
double TimeTables::beyond_chord(const TableColumn& column, const Axis& axis, double begin, double end) noexcept {
  const auto& times = axis.times;
  std::size_t high = axis.row;
  while (high > 0 && times[high - 1] >= end) --high;
  std::size_t low = high;
  while (low > 0 && times[low - 1] > begin) --low;
  if (low == high) return 0.0;
  const double first = at(column, axis, low, begin), last = at(column, axis, high, end);
  const double slope = (last - first) / (end - begin);
  double area = 0.0, before = begin, height = 0.0;
  for (std::size_t row = low; row < high; ++row) {
    const double above = column.values[row] - (first + slope * (times[row] - begin));
    area += 0.5 * (height + above) * (times[row] - before);
    before = times[row];
    height = above;
  }
  area += 0.5 * height * (end - before);
  return area / (end - begin);
}

void DrivenInputs::state(std::vector<std::vector<double>> axes, std::vector<TableColumn> columns,
                         std::vector<DrivenInput> inputs) {
  std::vector<Slot> slots;
  for (TableColumn& column : columns) {
    slot_values_.check(column.slot);
    column.integer = slot_values_.holds_integer[column.slot];
  }
  for (const DrivenInput& input : inputs) {
    slot_values_.check(input.slot);
    if (slot_values_.holds_integer[input.slot] && input.run != DrivenInput::Run::held)
      throw std::invalid_argument("slot " + std::to_string(input.slot) + " holds integers, which are held");
    slots.push_back(input.slot);
  }
  tables_ = TimeTables(std::move(axes), std::move(columns));
  for (const Slot slot : slots) drives_[slot] = true;
  inputs_ = std::move(inputs);
  averages_ =
      std::any_of(inputs_.begin(), inputs_.end(), [](const auto& one) { return one.run == DrivenInput::Run::middle; });
  into_inputs_ = wires_.set(slots);
}

void DrivenInputs::follow(std::vector<SlotPolynomial> polynomials) {
  for (const SlotPolynomial& one : polynomials) {
    slot_values_.check(one.slot);
    if (slot_values_.holds_integer[one.slot])
      throw std::invalid_argument("slot " + std::to_string(one.slot) + " holds integers, which are on no polynomial");
  }
  polynomials_ = std::move(polynomials);
  find_curvatures();
}

// By the chain rule, from slots on polynomials to inputs.
void DrivenInputs::find_curvatures() noexcept {
  std::fill(curvatures_.begin(), curvatures_.end(), 0.0);
  for (const SlotPolynomial& one : polynomials_) curvatures_[one.slot] = one.second;
  wires_.copy_tangents(into_inputs_, curvatures_.data());
}

void DrivenInputs::write(double t) noexcept {
  tables_.write(t, slot_values_.values.data());
  for (const SlotPolynomial& one : polynomials_) slot_values_.values[one.slot] = one.at(t);
}

void DrivenInputs::drive(double t, double h) noexcept {
  for (DrivenInput& input : inputs_) input.start = slot_values_.values[input.slot];
  write(t);
  wires_.copy(into_inputs_);
  const bool beyond = averages_ && tables_.beyond_ends(t, h, beyond_.data());
  if (beyond) wires_.copy_tangents(into_inputs_, beyond_.data());
  for (const DrivenInput& input : inputs_) {
    const double start = input.start, end = slot_values_.values[input.slot], second = curvatures_[input.slot];
    switch (input.run) {
      case DrivenInput::Run::held: slot_values_.move(input.slot, start, 0.0, 0.0); break;
      case DrivenInput::Run::following:
        slot_values_.move(input.slot, start, (end - start) / h - 0.5 * h * second, second);
        break;
      case DrivenInput::Run::middle: {
        const double middle = start == end ? start : 0.5 * (start + end);
        slot_values_.move(input.slot, beyond ? middle + beyond_[input.slot] : middle, 0.0, 0.0);
        break;
      }
    }
  }
}

}  // namespace ssptool
