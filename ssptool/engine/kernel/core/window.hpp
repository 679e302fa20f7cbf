// Some slots of an array over all slots, as the contiguous numbers that FMI functions take.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace ssptool {

using Slot = std::size_t;

// Where the slots are consecutive this is a view of the array itself, else a buffer beside it. The array must stay
// where it is.
class Window {
 public:
  Window(double* array, const std::vector<Slot>& slots) : array_(array) {
    bool consecutive = true;
    for (std::size_t i = 1; i < slots.size(); ++i) consecutive = consecutive && slots[i] == slots[0] + i;
    if (slots.empty()) return;
    if (consecutive) {
      numbers_ = {array + slots[0], slots.size()};
    } else {
      scattered_ = slots;
      buffer_.resize(slots.size());
      numbers_ = buffer_;
    }
  }
  Window(Window&&) = default;  // moving a vector leaves its numbers where they are
  Window& operator=(Window&&) = default;
  ~Window() = default;

  // The numbers as they are in the array now.
  std::span<const double> read() noexcept {
    if (scattered()) gather();
    return numbers_;
  }

  // Room to write them to, before `written`.
  [[nodiscard]] std::span<double> room() noexcept { return numbers_; }
  [[nodiscard]] bool scattered() const noexcept { return !scattered_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return numbers_.size(); }

  // Everything that was written goes to the array.
  void written() noexcept {
    if (scattered()) scatter();
  }

 private:
  void gather() noexcept {
    for (std::size_t i = 0; i < scattered_.size(); ++i) buffer_[i] = array_[scattered_[i]];
  }
  void scatter() noexcept {
    for (std::size_t i = 0; i < scattered_.size(); ++i) array_[scattered_[i]] = buffer_[i];
  }

  double* array_;
  std::vector<Slot> scattered_;  // empty for a view
  std::vector<double> buffer_;
  std::span<double> numbers_;
};

}  // namespace ssptool
