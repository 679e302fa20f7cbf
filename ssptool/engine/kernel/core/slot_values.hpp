// What slots hold, and how those of inputs run over a step.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "calls.hpp"

namespace ssptool {

// Of the polynomials that inputs follow.
inline constexpr int max_order = 2;

// [s], before every time: see interface.py.
inline constexpr double long_ago = -1e300;

// Arguments that cannot be right.
void check_index(std::size_t index, std::size_t count, const char* what);
void check_order(int order);
void check_size(std::size_t size, std::size_t wanted, const char* what);

inline std::int64_t as_integer(double number) noexcept { return std::bit_cast<std::int64_t>(number); }
inline double as_double(std::int64_t number) noexcept { return std::bit_cast<double>(number); }

// Texts that a kernel has met, and what binary variables had, by number; 0 is the empty one. No number means another
// text later.
class StringTable {
 public:
  StringTable() { number({}, true); }
  StringTable(const StringTable&) = delete;
  StringTable& operator=(const StringTable&) = delete;
  ~StringTable() = default;

  // So many numbers were given out.
  [[nodiscard]] std::int64_t size() const noexcept { return next_; }
  // Memory that they take, about.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  // Null if no text has this number, or it is forgotten.
  [[nodiscard]] const std::string* find(std::int64_t number) const;
  [[nodiscard]] const std::string& at(std::int64_t number) const { return all_.at(number).text; }
  std::int64_t number(std::string_view text, bool keep = false);
  // All that are not to be kept and not among the needed ones, which are in order; gives their numbers, in order.
  std::vector<std::int64_t> forget(std::span<const std::int64_t> needed);

 private:
  struct Entry {
    std::string text;
    bool keep;
  };
  std::unordered_map<std::int64_t, Entry> all_;  // strings stay where they are
  std::unordered_map<std::string_view, std::int64_t> numbers_;
  std::int64_t next_ = 0;
  std::size_t bytes_ = 0;
};

// What is done to a value on its way, for some time.
struct SlotOverride {
  enum class Kind { none, override_, bias };

  Kind kind = Kind::none;
  double value = 0.0;  // in the type of the signal: a double, or an integer in the same eight bytes

  [[nodiscard]] double of_double(double value) const noexcept;
  // Sums wrap around as they do in all integers of the machine: so those without a sign are right as well.
  [[nodiscard]] std::int64_t of_integer(std::int64_t number) const noexcept;
};

// What an integer that an instance gives must be, so that all that it is connected to can have it.
struct Demand {
  bool nonnegative = false;  // the same bits mean another number with or without a sign
  int digits = 64;           // from the first one to the last one that is not zero, in binary

  [[nodiscard]] bool met_by(std::int64_t number) const noexcept {
    const auto bits = static_cast<std::uint64_t>(number), size = number < 0 ? 0 - bits : bits;
    if (number < 0 && nonnegative) return false;
    return size == 0 || static_cast<int>(std::bit_width(size)) - std::countr_zero(size) <= digits;
  }
};

// One number per slot; the vectors stay where they are.
struct SlotValues {
  SlotValues(std::size_t slots, const std::vector<Slot>& integers);
  SlotValues(const SlotValues&) = delete;
  SlotValues& operator=(const SlotValues&) = delete;
  ~SlotValues() = default;

  std::vector<double> values, input_value;
  std::vector<double> input_rates;  // first derivatives, then second ones
  std::vector<bool> holds_integer;
  std::vector<double> least, most;           // ranges of inputs, which extrapolation does not leave
  std::vector<bool> still;                   // inputs whose sources are discrete: constant over each step
  std::unordered_map<Slot, Demand> demands;  // of integers that get narrower on their way
  StringTable contents;

  [[nodiscard]] std::size_t size() const noexcept { return values.size(); }
  void check(Slot slot) const { check_index(slot, size(), "slot"); }

  void demand(Slot, Demand);
  [[nodiscard]] bool meets_demand(Slot slot) const {
    const auto found = demands.find(slot);
    return found == demands.end() || found->second.met_by(as_integer(values[slot]));
  }

  void move(Slot slot, double value, double first, double second) noexcept {
    input_value[slot] = value;
    input_rates[slot] = first;
    input_rates[size() + slot] = second;
  }
};

// Some slots of an array over all slots, as the contiguous numbers that FMI functions take. Where the slots are
// consecutive this is a view of the array itself, else a buffer beside it. The array must stay where it is. With
// buffers alone, a macro step of 10 to 2000 tiny FMUs in a chain would take 3 to 7 times as long (benchmarks/chain.py).
class Window {
 public:
  Window(double* array, const std::vector<Slot>& slots);
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
