// Wires between slots, and sets of them as a step copies them.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "slot_values.hpp"
#include "special_numbers.hpp"

namespace ssptool {

struct Wire {
  Slot source, destination;
  double factor, offset;
  std::unordered_map<std::int64_t, std::int64_t> table;  // of integers
  bool from_integer = false, to_integer = false;
  bool discrete = false;                       // its source is, so that the destination keeps its value over each step
  double least = -infinity, most = infinity;   // range of the destination
  SlotOverride at_source{}, at_destination{};  // of integers; of doubles they are in factor and offset
};

// Where nothing is done to it the value itself, and where it does not count the offset itself: a zero with its sign.
inline double delivered(double factor, double offset, double value) noexcept {
  if (factor == 0.0) return offset;
  return factor == 1.0 && offset == 0.0 ? value : factor * value + offset;
}

// What is done at the ends of the wire that leads to this slot.
struct OverriddenWire {
  Slot destination;
  SlotOverride at_source, at_destination;
};

class Wires {
 public:
  using Set = std::uint32_t;
  static constexpr Set empty_set = 0;

  // Those to slots that are not `owned` are outer ones.
  Wires(SlotValues& slot_values, const std::vector<bool>& owned)
      : slot_values_(slot_values), owned_(owned), into_(slot_values.size(), nowhere), sets_(1) {}

  [[nodiscard]] bool empty() const noexcept { return wires_.empty(); }
  // At most one to a slot.
  void connect(const std::vector<Wire>&);
  // Those that lead to these slots.
  Set set(std::span<const Slot>);
  // From now on those to these slots deliver something else.
  void override_wires(const std::vector<OverriddenWire>&);

  void copy(Set set) const noexcept {
    const Places& places = sets_[set];
    double* const values = slot_values_.values.data();
    const bool others = places.scaled != places.end;
    const Ends* const end = ends_.data() + places.scaled;
    for (const Ends* wire = ends_.data() + places.plain; wire != end; ++wire)
      values[wire->destination] = values[wire->source];
    if (others) copy_others(set);
  }
  // To slots of no instance.
  void copy_outer() const noexcept { copy(outer_set_); }
  // By the chain rule; integers do not move.
  void copy_tangents(Set, double* tangents) const noexcept;

 private:
  static constexpr std::uint32_t nowhere = static_cast<std::uint32_t>(-1);

  struct Ends {
    std::uint32_t source, destination;
  };
  struct Scale {
    double factor, offset;
  };
  // Of a set: first wires that copy a double as it is, then those with a factor and an offset, then those of integers.
  struct Places {
    std::uint32_t plain = 0, scaled = 0, integers = 0, end = 0;
  };

  // Not inlined, so that what is in every step stays small.
  [[gnu::noinline]] void copy_others(Set) const noexcept;
  static void copy_integer(const Wire&, double* values) noexcept;
  [[nodiscard]] bool lead_to(Slot slot) const noexcept { return into_[slot] != nowhere; }
  void check(const Wire&) const;
  void override_wire(const OverriddenWire&);
  void sort(Places&);

  SlotValues& slot_values_;
  const std::vector<bool>& owned_;
  std::vector<Wire> wires_;
  std::vector<std::uint32_t> into_;  // by destination slot: index into wires_
  // Factor and offset as they were stated, of wires that have been overridden on, by destination.
  std::unordered_map<Slot, std::pair<double, double>> stated_;
  std::vector<Slot> outer_;
  Set outer_set_ = empty_set;
  std::vector<Places> sets_;
  // Of all sets, one after the other; what a step needs of a wire that only copies is apart from the rest.
  std::vector<Ends> ends_;
  std::vector<Scale> scales_;
  std::vector<std::uint32_t> which_;  // index into wires_
};

}  // namespace ssptool
