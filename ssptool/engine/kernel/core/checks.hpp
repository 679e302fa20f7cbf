// Arguments that cannot be right.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>

namespace ssptool {

inline void check_index(std::size_t index, std::size_t count, const char* what) {
  if (index >= count)
    throw std::out_of_range(std::string(what) + " " + std::to_string(index) + " does not exist, there are " +
                            std::to_string(count));
}

inline void check_order(int order, int highest) {
  if (order < 1 || order > highest)
    throw std::invalid_argument("polynomial order is " + std::to_string(order) + ", must be 1 to " +
                                std::to_string(highest));
}

inline void check_size(std::size_t size, std::size_t wanted, const char* what) {
  if (size != wanted)
    throw std::invalid_argument(std::string(what) + " has " + std::to_string(size) + " numbers, must have " +
                                std::to_string(wanted));
}

}  // namespace ssptool
