// Equidistant times in decimal arithmetic: 0.018, and not 18 · 0.001 = 0.018000000000000002.
#pragma once

#include <cmath>
#include <cstdint>

namespace ssptool {

// A decimal number: the nearest double, and the remainder.
struct Decimal {
  double number = 0.0, rest = 0.0;

  Decimal() = default;
  explicit Decimal(double);
};

// The times start + k · step [s], each as the double nearest to the decimal number; see grid_time of
// engine/time_grid.py.
class DecimalTimes {
 public:
  DecimalTimes() = default;
  DecimalTimes(double start, double step) : start_(start), step_(step) {}

  [[nodiscard]] bool are(double start, double step) const noexcept {
    return start == start_.number && step == step_.number;
  }
  // Computed with doubled precision, and then rounded once.
  [[nodiscard]] double time(std::int64_t point) const noexcept {
    const auto count = static_cast<double>(point);
    const double product = count * step_.number, below = std::fma(count, step_.number, -product);
    const double sum = start_.number + product, part = sum - start_.number;
    const double lost = (start_.number - (sum - part)) + (product - part);
    return sum + (lost + (below + (start_.rest + count * step_.rest)));
  }

 private:
  Decimal start_, step_;
};

}  // namespace ssptool
