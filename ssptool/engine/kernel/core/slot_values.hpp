// Contents of slots, and how those of inputs vary over a step.
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

// Maximum order of the polynomials of inputs.
inline constexpr int max_order = 2;

// Throws for invalid arguments.
void check_index(std::size_t index, std::size_t count, const char* what);
void check_order(int order);
void check_size(std::size_t size, std::size_t wanted, const char* what);

inline std::int64_t as_integer(double number) noexcept { return std::bit_cast<std::int64_t>(number); }
inline double as_double(std::int64_t number) noexcept { return std::bit_cast<double>(number); }

// Texts and binary data of a kernel, by number; 0 is the empty one. A number never refers to another text later.
class StringTable {
 public:
  StringTable() { number({}, true); }
  StringTable(const StringTable&) = delete;
  StringTable& operator=(const StringTable&) = delete;
  ~StringTable() = default;

  // Number of numbers given out.
  [[nodiscard]] std::int64_t size() const noexcept { return next_; }
  // Approximate memory of the entries.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  // Null if no text has this number, or if it was deleted.
  [[nodiscard]] const std::string* find(std::int64_t number) const;
  [[nodiscard]] const std::string& at(std::int64_t number) const { return all_.at(number).text; }
  std::int64_t number(std::string_view text, bool keep = false);
  // Deletes all entries that are neither permanent nor among the needed ones (sorted); returns their numbers, sorted.
  std::vector<std::int64_t> forget(std::span<const std::int64_t> needed);

 private:
  struct Entry {
    std::string text;
    bool keep;
  };
  std::unordered_map<std::int64_t, Entry> all_;  // strings must keep their addresses
  std::unordered_map<std::string_view, std::int64_t> numbers_;
  std::int64_t next_ = 0;
  std::size_t bytes_ = 0;
};

// A change of a value on its way, for some time.
struct SlotOverride {
  enum class Kind { none, override_, bias };

  Kind kind = Kind::none;
  double value = 0.0;  // in the type of the signal: a double, or an integer in the same eight bytes

  [[nodiscard]] double of_double(double value) const noexcept;
  // Sums wrap around like machine integers, so that they are also correct for unsigned ones.
  [[nodiscard]] std::int64_t of_integer(std::int64_t number) const noexcept;
};

// Requirements for an integer from an instance, so that all connected variables can represent it.
struct Demand {
  bool nonnegative = false;  // because the same bits may mean a signed or an unsigned number
  int digits = 64;           // from the first to the last binary digit that is not zero

  [[nodiscard]] bool met_by(std::int64_t number) const noexcept {
    const auto bits = static_cast<std::uint64_t>(number), size = number < 0 ? 0 - bits : bits;
    if (number < 0 && nonnegative) return false;
    return size == 0 || static_cast<int>(std::bit_width(size)) - std::countr_zero(size) <= digits;
  }
};

// One number per slot; the vectors must keep their addresses.
struct SlotValues {
  SlotValues(std::size_t slots, const std::vector<Slot>& integers);
  SlotValues(const SlotValues&) = delete;
  SlotValues& operator=(const SlotValues&) = delete;
  ~SlotValues() = default;

  std::vector<double> values, input_value;
  std::vector<double> input_rates;  // first derivatives, then second ones
  std::vector<bool> holds_integer;
  std::vector<double> least, most;           // ranges of inputs, which limit extrapolation
  std::vector<bool> still;                   // inputs with discrete sources: constant over each step
  std::unordered_map<Slot, Demand> demands;  // of integers whose type becomes narrower on the way
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
// consecutive, this is a view of the array; otherwise it is a separate buffer. The array must keep its address. With
// buffers only, a macro step of 10 to 2000 tiny FMUs in a chain would take 3 to 7 times as long (benchmarks/chain.py).
class Window {
 public:
  Window(double* array, const std::vector<Slot>& slots);
  Window(Window&&) = default;  // moving a vector does not move its elements
  Window& operator=(Window&&) = default;
  ~Window() = default;

  // The present numbers in the array.
  std::span<const double> read() noexcept {
    if (scattered()) gather();
    return numbers_;
  }

  // Buffer for writing; call `written` afterwards.
  [[nodiscard]] std::span<double> room() noexcept { return numbers_; }
  [[nodiscard]] bool scattered() const noexcept { return !scattered_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return numbers_.size(); }

  // Copies written numbers to the array.
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
