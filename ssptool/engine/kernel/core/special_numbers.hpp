// NaN, infinity, and a number just below zero.
#pragma once

#include <limits>

namespace ssptool {

inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();
inline constexpr double infinity = std::numeric_limits<double>::infinity();

// Replaces an event indicator that is exactly zero, because zero counts as negative.
inline constexpr double below_zero = -1e-300;

}  // namespace ssptool
