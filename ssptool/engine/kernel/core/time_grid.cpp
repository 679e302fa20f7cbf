#include "time_grid.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace ssptool {

namespace {

// The largest power of ten that a double represents exactly.
constexpr int exact_power = 22;

double power_of_ten(int exponent) noexcept {
  double power = 1.0;
  for (int i = 0; i < exponent; ++i) power *= 10.0;
  return power;
}

// The result of std::to_chars, whose tables would be an eighth of the runtime of exported FMUs.
std::string shortest(double value) {
  std::array<char, 32> text{};
  for (int places = 0; places < 17; ++places) {
    std::snprintf(text.data(), text.size(), "%.*e", places, value);
    if (std::strtod(text.data(), nullptr) == value) break;
  }
  return text.data();
}

}  // namespace

// Its shortest digits are those of repr in Python: digits · 10^−places. Larger numbers, and those with more than 44
// places, are used unchanged.
Decimal::Decimal(double value) : number(value) {
  if (!std::isfinite(value)) return;
  const std::string text = shortest(std::abs(value));
  const std::size_t e = text.find('e');
  std::int64_t digits = 0;
  int places = 0;
  for (std::size_t i = 0; i < e; ++i) {
    if (text[i] < '0' || text[i] > '9') continue;  // the decimal point of the locale
    digits = 10 * digits + (text[i] - '0');
    places += i > 0 ? 1 : 0;
  }
  places -= std::atoi(text.c_str() + e + 1);
  if (places <= 0 || places > 2 * exact_power) return;
  // digits − |value| · 10^places, in doubled precision.
  const double power = power_of_ten(std::min(places, exact_power)),
               more = power_of_ten(std::max(places - exact_power, 0));
  const auto upper = static_cast<double>(digits);
  const auto lower = static_cast<double>(digits - static_cast<std::int64_t>(upper));
  const double scaled = std::abs(value) * power, below = std::fma(std::abs(value), power, -scaled);
  const double left = (-std::fma(scaled, more, -upper) + lower) - below * more;
  rest = std::copysign(left / power / more, left * value);
}

}  // namespace ssptool
