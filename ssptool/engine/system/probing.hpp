// Real variables of parts that are changed at the first point, to observe the effects.
#pragma once

#include <algorithm>
#include <cmath>

#include "plan.hpp"

namespace ssptool::runtime {

// A real variable; `maximum` is the largest value that an input may have.
struct RealEnd {
  Slot slot;
  fmi::Reference reference;
  double nominal = 1.0, maximum = HUGE_VAL;
};

inline double size(double value, const RealEnd& end) { return std::max(std::abs(value), std::abs(end.nominal)); }

// A value that differs from this one by about `part` of its size, within the range; the differences of two inputs are
// not equal.
inline double beside(double value, const RealEnd& input, std::size_t place, double part) {
  const double change = part * (1.0 + 0.37 * static_cast<double>(place)) * size(value, input);
  return value + change <= input.maximum ? value + change : value - change;
}

}  // namespace ssptool::runtime
