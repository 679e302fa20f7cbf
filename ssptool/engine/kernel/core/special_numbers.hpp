// Numbers that are none, and those beyond all others.
#pragma once

#include <limits>

namespace ssptool {

inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double infinity = std::numeric_limits<double>::infinity();

// In place of an event indicator that is exactly zero, which counts as negative.
inline constexpr double below_zero = -1e-300;

}  // namespace ssptool
