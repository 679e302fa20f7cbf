// Columns of a trace that may show signs of steps that are too large, and power bonds that may create energy: most
// cannot, and one pass tells.
#include <nanobind/stl/array.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "kernel.hpp"

namespace ssptool::binding {

using namespace nb::literals;

namespace {

using Cells = nb::ndarray<const double, nb::ndim<2>, nb::device::cpu>;
using Times = nb::ndarray<const double, nb::ndim<1>, nb::device::cpu>;
using Weights = std::array<double, 3>;  // of the values before a step, at its start and at its end

void check_place(const Cells& cells, std::size_t place) {
  if (place >= cells.shape(1)) throw std::out_of_range("there is no such column");
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

  // A sign needs turns that lie close together, or a change of this share of the range.
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

}  // namespace

void bind_signs(nb::module_& module) {
  module.def("suspects", suspects, "cells"_a, "places"_a, "window"_a, "share"_a,
             nb::sig("def suspects(cells: ssptool.engine.kernel.calls.Floats, places: "
                     "collections.abc.Sequence[int], window: int, share: float) -> list[bool]"));
  module.def("creates_energy", creates_energy, "t"_a, "cells"_a, "places"_a, "taken"_a, "share"_a,
             nb::sig("def creates_energy(t: ssptool.engine.kernel.calls.Floats, cells: "
                     "ssptool.engine.kernel.calls.Floats, places: collections.abc.Sequence[int], taken: "
                     "collections.abc.Sequence[tuple[float, float, float]], share: float) -> bool"));
}

}  // namespace ssptool::binding
