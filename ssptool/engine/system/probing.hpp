// Real variables of parts that are tried at the first point: what happens if their values are others.
#pragma once

#include <algorithm>
#include <cmath>

#include "plan.hpp"

namespace ssptool::runtime {

// Of an input with the largest value that it may have.
struct RealEnd {
  Slot slot;
  fmi::Reference reference;
  double nominal = 1.0, maximum = HUGE_VAL;
};

inline double size(double value, const RealEnd& end) { return std::max(std::abs(value), std::abs(end.nominal)); }

// A value beside this one, within the range, away by about this part of its size; of two inputs the changes differ.
inline double beside(double value, const RealEnd& input, std::size_t place, double part) {
  const double change = part * (1.0 + 0.37 * static_cast<double>(place)) * size(value, input);
  return value + change <= input.maximum ? value + change : value - change;
}

}  // namespace ssptool::runtime
