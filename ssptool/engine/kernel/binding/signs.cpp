// Finds columns of a trace that may show signs of too large steps, and power bonds that may create energy: one pass
// excludes most columns. Also: errors of inputs that take their values from a column.
#include <nanobind/stl/array.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <tuple>

#include "kernel.hpp"

namespace ssptool::binding {

using namespace nb::literals;

namespace {

using Cells = nb::ndarray<const double, nb::ndim<2>, nb::device::cpu>;
using Times = nb::ndarray<const double, nb::ndim<1>, nb::device::cpu>;
using Flags = nb::ndarray<const bool, nb::ndim<1>, nb::device::cpu>;
using Weights = std::array<double, 3>;  // of the values before a step, at its start and at its end

void check_place(const Cells& cells, std::size_t place) {
  if (place >= cells.shape(1)) throw std::out_of_range("the column does not exist");
}

const double* cell(const Cells& cells, std::int64_t row, std::size_t place) {
  return cells.data() + row * cells.stride(0) + static_cast<std::int64_t>(place) * cells.stride(1);
}

constexpr std::int64_t tile = 512;  // rows that stay in a cache while all columns are looked at

class Column {
 public:
  void look(const double* value, std::int64_t stride, std::int64_t begin, std::int64_t end, std::int64_t window) {
    Extremes found = found_;  // a copy that no value can be a part of: it stays in registers
    for (std::int64_t row = begin; row < end; ++row, value += stride) {
      const double change = *value - found.last;
      found.low = std::min(found.low, *value);
      found.high = std::max(found.high, *value);
      if (row > 0) found.steepest = std::max(found.steepest, std::abs(change));
      if (row > 1 && change * found.last_change <= 0) turn(row, window);
      found.last = *value;
      found.last_change = change;
    }
    found_ = found;
  }

  // A sign needs turns that are close together, or a change of at least this fraction of the range.
  bool suspect(double share) const {
    return found_.high > found_.low && (crowded_ || found_.steepest > share * (found_.high - found_.low));
  }

 private:
  void turn(std::int64_t row, std::int64_t window) {
    std::int64_t& oldest = turns_[next_];
    crowded_ |= row - oldest < window;
    oldest = row;
    next_ = (next_ + 1) % turns_.size();
  }

  struct Extremes {
    double low = std::numeric_limits<double>::infinity(), high = -low, steepest = 0, last = 0, last_change = 0;
  };

  Extremes found_;
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::min() / 2;
  std::array<std::int64_t, 6> turns_{never, never, never, never, never, never};
  std::size_t next_ = 0;
  bool crowded_ = false;
};

std::vector<bool> suspects(const Cells& cells, const std::vector<std::size_t>& places, std::int64_t window,
                           double share) {
  for (const std::size_t place : places) check_place(cells, place);
  const auto rows = static_cast<std::int64_t>(cells.shape(0));
  std::vector<Column> columns(places.size());
  for (std::int64_t begin = 0; begin < rows; begin += tile)
    for (std::size_t number = 0; number < places.size(); ++number)
      columns[number].look(cell(cells, begin, places[number]), cells.stride(0), begin, std::min(begin + tile, rows),
                           window);
  std::vector<bool> found;
  for (const Column& column : columns) found.push_back(column.suspect(share));
  return found;
}

// One side of a power bond: its values around a step.
struct Side {
  const double* value;
  Weights weights;  // for the input that is taken from it
  double before, start, end;

  void move(std::int64_t stride) {
    before = start;
    start = end;
    end = *(value += stride);
  }
  double mean() const { return 0.5 * (start + end); }
  double taken() const { return weights[0] * before + weights[1] * start + weights[2] * end; }
};

bool creates_energy(const Times& t, const Cells& cells, const std::array<std::size_t, 2>& places,
                    const std::array<Weights, 2>& taken, double share) {
  const auto rows = static_cast<std::int64_t>(std::min(t.shape(0), cells.shape(0)));
  for (const std::size_t place : places) check_place(cells, place);
  if (rows < 2) return false;
  const auto side = [&](std::size_t number) {
    const double* value = cell(cells, 0, places[number]);
    return Side{value, taken[number], *value, *value, *value};
  };
  Side one = side(0), other = side(1);
  double created = 0, flowed = 0, least = 0, greatest = 0;
  for (std::int64_t row = 1; row < rows; ++row) {
    const double h = t.data()[row * t.stride(0)] - t.data()[(row - 1) * t.stride(0)];
    one.move(cells.stride(0));
    other.move(cells.stride(0));
    created += h * (one.mean() * other.taken() - other.mean() * one.taken());
    flowed += h * one.mean() * other.mean();
    least = std::min(least, flowed);
    greatest = std::max(greatest, flowed);
  }
  return std::abs(created) > share * (greatest - least);
}

// A column, relative to its largest value, and the inputs that take their values from it in each step.
class TakenColumn {
 public:
  TakenColumn(const Times& t, const Cells& cells, std::size_t place, const Weights& weights, const Flags& damped)
      : t_(t), cells_(cells), place_(place), weights_(weights), damped_(damped) {
    check_place(cells, place);
    rows_ = static_cast<std::int64_t>(std::min(t.shape(0), cells.shape(0)));
    if (!damped.size() || rows_ < 1) return;
    if (static_cast<std::int64_t>(damped.shape(0)) + 1 < rows_) throw std::out_of_range("there are too few steps");
  }

  // Returns the number of rows that have a successor; 0 if the column hardly changes or is not always finite.
  std::int64_t prepare() {
    double low = std::numeric_limits<double>::infinity(), high = -low, largest = 0;
    for (std::int64_t row = 0; row < rows_; ++row) {
      const double value = *cell(cells_, row, place_);
      if (!std::isfinite(value)) return 0;
      low = std::min(low, value);
      high = std::max(high, value);
      largest = std::max(largest, std::abs(value));
    }
    if (!(high / 2 - low / 2 > noise * largest)) return 0;
    scale_ = largest;
    return rows_ - 1;
  }

  double size(std::int64_t step) const { return time(step + 1) - time(step); }

  // Mean of the inputs in a step.
  double taken(std::int64_t step) const {
    const double change = value(step + 1) - value(step);
    return is_damped(step) ? value(step + 1) : value(step) + weights_[2] * change - weights_[0] * past_change(step);
  }

  // Difference between that mean and the mean of a parabola through the last three points.
  double missed(std::int64_t step) const {
    const double change = value(step + 1) - value(step);
    if (is_damped(step)) return 0.5 * change_to_go_on(step, change);
    if (step < (weights_[0] == 0.0 ? 1 : 2) || is_damped(step - 1)) return 0.0;  // which tells nothing of this one
    const double before = size(step - 1), bend = (change - past_change(step)) / (1.0 + before / size(step));
    return taken(step) - (value(step) + 0.5 * change) + bend / 6.0;
  }

 private:
  static constexpr double noise = 1e-9;

  double time(std::int64_t row) const { return t_.data()[row * t_.stride(0)]; }
  double value(std::int64_t row) const { return *cell(cells_, row, place_) / scale_; }
  bool is_damped(std::int64_t step) const { return damped_.size() != 0 && damped_.data()[step * damped_.stride(0)]; }
  // Error of inputs that have the value at the end of the step: half of the change. If the change does not continue in
  // the next step, it has ended in this one: for a part that decays by a constant factor per step, the value is then
  // correct up to the square of the factor.
  double change_to_go_on(std::int64_t step, double change) const {
    const double next = step + 2 < rows_ ? value(step + 2) - value(step + 1) : 0.0;
    const double least = std::min(std::abs(change), std::abs(next));
    return change * next > 0.0 && least < std::abs(change) ? next * next / change : std::copysign(least, change);
  }
  double past_change(std::int64_t step) const {  // as long as this step
    return step == 0 ? 0.0 : (value(step) - value(step - 1)) * size(step) / size(step - 1);
  }

  const Times& t_;
  const Cells& cells_;
  std::size_t place_;
  Weights weights_;
  const Flags& damped_;
  std::int64_t rows_ = 0;
  double scale_ = 1.0;
};

// Errors of inputs that take their values from a column over a run: relative to the range of the integral (without
// mean), in total and with cancellation; relative to the whole integral; and the step with the largest error.
std::tuple<double, double, double, std::int64_t> missed(const Times& t, const Cells& cells, std::size_t place,
                                                        const Weights& weights, const Flags& damped) {
  TakenColumn column(t, cells, place, weights, damped);
  const std::int64_t steps = column.prepare();
  double length = 0, whole = 0;
  for (std::int64_t step = 0; step < steps; ++step) {
    length += column.size(step);
    whole += column.size(step) * column.taken(step);
  }
  if (!(length > 0)) return {0.0, 0.0, 0.0, 0};
  const double mean = whole / length;
  double all = 0, drift = 0, least_drift = 0, most_drift = 0, passed = 0, sum = 0, least = 0, most = 0, worst = 0;
  std::int64_t at = 0;
  for (std::int64_t step = 0; step < steps; ++step) {
    const double h = column.size(step), off = h * column.missed(step), flow = h * (column.taken(step) - mean);
    all += std::abs(off);
    drift += off;
    least_drift = std::min(least_drift, drift);
    most_drift = std::max(most_drift, drift);
    passed += std::abs(flow);
    sum += flow;
    least = std::min(least, sum);
    most = std::max(most, sum);
    if (std::abs(off) > worst) {
      worst = std::abs(off);
      at = step;
    }
  }
  if (!(most > least)) return {0.0, 0.0, 0.0, 0};
  return {all / (most - least), (most_drift - least_drift) / (most - least), all / passed, at};
}

}  // namespace

void bind_signs(nb::module_& module) {
  module.def("suspects", suspects, "cells"_a, "places"_a, "window"_a, "share"_a,
             nb::sig("def suspects(cells: ssptool.engine.kernel.calls.Floats, places: "
                     "collections.abc.Sequence[int], window: int, share: float) -> list[bool]"));
  module.def("creates_energy", creates_energy, "t"_a, "cells"_a, "places"_a, "taken"_a, "share"_a,
             nb::sig("def creates_energy(t: ssptool.engine.kernel.calls.Floats, cells: "
                     "ssptool.engine.kernel.calls.Floats, places: collections.abc.Sequence[int], taken: "
                     "collections.abc.Sequence[tuple[float, float, float]], share: float) -> bool"));
  module.def("missed", missed, "t"_a, "cells"_a, "place"_a, "weights"_a, "damped"_a,
             nb::sig("def missed(t: ssptool.engine.kernel.calls.Floats, cells: ssptool.engine.kernel.calls.Floats, "
                     "place: int, weights: tuple[float, float, float], damped: numpy.typing.NDArray[numpy.bool_]) -> "
                     "tuple[float, float, float, int]"));
}

}  // namespace ssptool::binding
