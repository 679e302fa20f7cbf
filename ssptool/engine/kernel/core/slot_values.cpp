#include "slot_values.hpp"

#include <algorithm>

#include "special_numbers.hpp"

namespace ssptool {

namespace {

// Memory of an entry in addition to its bytes.
constexpr std::size_t entry_bytes = 64;

}  // namespace

void check_index(std::size_t index, std::size_t count, const char* what) {
  if (index >= count)
    throw std::out_of_range(std::string(what) + " " + std::to_string(index) + " does not exist, there are " +
                            std::to_string(count));
}

void check_order(int order) {
  if (order < 1 || order > max_order)
    throw std::invalid_argument("polynomial order is " + std::to_string(order) + ", must be 1 to " +
                                std::to_string(max_order));
}

void check_size(std::size_t size, std::size_t wanted, const char* what) {
  if (size != wanted)
    throw std::invalid_argument(std::string(what) + " has " + std::to_string(size) + " numbers, must have " +
                                std::to_string(wanted));
}

const std::string* StringTable::find(std::int64_t number) const {
  const auto found = all_.find(number);
  return found == all_.end() ? nullptr : &found->second.text;
}

std::int64_t StringTable::number(std::string_view text, bool keep) {
  if (const auto known = numbers_.find(text); known != numbers_.end()) {
    all_.at(known->second).keep |= keep;
    return known->second;
  }
  const Entry& entry = all_.try_emplace(next_, std::string(text), keep).first->second;
  numbers_.emplace(entry.text, next_);
  bytes_ += entry_bytes + text.size();
  return next_++;
}

std::vector<std::int64_t> StringTable::forget(std::span<const std::int64_t> needed) {
  std::vector<std::int64_t> forgotten;
  for (const auto& [number, entry] : all_)
    if (!entry.keep && !std::ranges::binary_search(needed, number)) forgotten.push_back(number);
  std::ranges::sort(forgotten);
  for (const std::int64_t number : forgotten) {
    const std::string& text = all_.at(number).text;
    bytes_ -= entry_bytes + text.size();
    numbers_.erase(text);
    all_.erase(number);
  }
  return forgotten;
}

double SlotOverride::of_double(double value) const noexcept {
  if (kind == Kind::none) return value;
  return kind == Kind::override_ ? this->value : value + this->value;
}

std::int64_t SlotOverride::of_integer(std::int64_t number) const noexcept {
  if (kind == Kind::none) return number;
  if (kind == Kind::override_) return as_integer(value);
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(number) + static_cast<std::uint64_t>(as_integer(value)));
}

SlotValues::SlotValues(std::size_t slots, const std::vector<Slot>& integers)
    : values(slots),
      input_value(slots),
      input_rates(max_order * slots),
      holds_integer(slots),
      least(slots, -infinity),
      most(slots, infinity),
      still(slots) {
  for (const Slot slot : integers) {
    check(slot);
    holds_integer[slot] = true;
  }
}

void SlotValues::demand(Slot slot, Demand demand) {
  check(slot);
  if (!holds_integer[slot]) throw std::invalid_argument("slot " + std::to_string(slot) + " holds no integer");
  Demand& known = demands[slot];
  known.nonnegative |= demand.nonnegative;
  known.digits = std::min(known.digits, demand.digits);
}

Window::Window(double* array, const std::vector<Slot>& slots) : array_(array) {
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

}  // namespace ssptool
