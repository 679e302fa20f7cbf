// Numbers in messages, independent of the locale.
#pragma once

#include <clocale>
#include <cstdio>
#include <string>

namespace ssptool {

// With at most `count` significant digits.
inline std::string digits(double number, int count = 6) {
  char text[32];
  std::snprintf(text, sizeof text, "%.*g", count, number);
  std::string found = text;
  const std::string point = std::localeconv()->decimal_point;
  if (const auto at = found.find(point); at != std::string::npos) found.replace(at, point.size(), ".");
  return found;
}

inline std::string seconds(double t, int count = 12) { return digits(t, count) + " s"; }

}  // namespace ssptool
