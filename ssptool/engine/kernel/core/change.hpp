// What is done to a value on its way, for some time.
#pragma once

#include <cstdint>

#include "typed.hpp"

namespace ssptool {

struct Change {
  enum class Kind { none, override_, bias };

  Kind kind = Kind::none;
  double cell = 0.0;  // in the type of the value: a double, or an integer in the same eight bytes

  [[nodiscard]] double of_double(double value) const noexcept {
    if (kind == Kind::none) return value;
    return kind == Kind::override_ ? cell : value + cell;
  }

  // Sums wrap around as they do in all integers of the machine: so those without a sign are right as well.
  [[nodiscard]] std::int64_t of_integer(std::int64_t number) const noexcept {
    if (kind == Kind::none) return number;
    if (kind == Kind::override_) return as_integer(cell);
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(number) + static_cast<std::uint64_t>(as_integer(cell)));
  }
};

}  // namespace ssptool
