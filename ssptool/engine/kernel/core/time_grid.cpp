#include "time_grid.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

namespace ssptool {

namespace {

// The largest power of ten that is a double.
constexpr int exact_power = 22;

double power_of_ten(int exponent) noexcept {
  double power = 1.0;
  for (int i = 0; i < exponent; ++i) power *= 10.0;
  return power;
}

}  // namespace

// Its shortest digits are those of repr in Python: digits · 10^−places. Larger numbers, and those with more than 44
// places, are taken as they are.
Decimal::Decimal(double value) : number(value) {
  std::array<char, 32> text{};
  const char* const end =
      std::to_chars(text.data(), text.data() + text.size(), std::abs(value), std::chars_format::scientific).ptr;
  const std::string_view digits_and_exponent(text.data(), static_cast<std::size_t>(end - text.data()));
  const std::size_t e = digits_and_exponent.find('e');
  if (e == std::string_view::npos) return;  // not finite
  std::int64_t digits = 0;
  int places = 0, exponent = 0;
  for (std::size_t i = 0; i < e; ++i) {
    if (text[i] == '.') continue;
    digits = 10 * digits + (text[i] - '0');
    places += i > 0 ? 1 : 0;
  }
  const bool negative = digits_and_exponent[e + 1] == '-';
  std::from_chars(text.data() + e + 2, end, exponent);
  places += negative ? exponent : -exponent;
  if (places <= 0 || places > 2 * exact_power) return;
  // digits − |value| · 10^places, in twice the precision.
  const double power = power_of_ten(std::min(places, exact_power)),
               more = power_of_ten(std::max(places - exact_power, 0));
  const auto upper = static_cast<double>(digits);
  const auto lower = static_cast<double>(digits - static_cast<std::int64_t>(upper));
  const double scaled = std::abs(value) * power, below = std::fma(std::abs(value), power, -scaled);
  const double left = (-std::fma(scaled, more, -upper) + lower) - below * more;
  rest = std::copysign(left / power / more, left * value);
}

}  // namespace ssptool
