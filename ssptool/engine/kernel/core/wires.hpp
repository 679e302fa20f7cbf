// Wires between slots, and sets of wires that a step copies.
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
  std::unordered_map<std::int64_t, std::int64_t> table;  // for integers
  bool from_integer = false, to_integer = false;
  bool discrete = false;                       // its source is discrete, so the destination is constant over each step
  double least = -infinity, most = infinity;   // range of the destination
  SlotOverride at_source{}, at_destination{};  // of integers; for doubles included in factor and offset
};

// Returns `value` itself if the wire changes nothing, and `offset` itself if the factor is zero, so that zeros keep
// their signs.
inline double delivered(double factor, double offset, double value) noexcept {
  if (factor == 0.0) return offset;
  return factor == 1.0 && offset == 0.0 ? value : factor * value + offset;
}

// Overrides at both ends of the wire to this slot.
struct OverriddenWire {
  Slot destination;
  SlotOverride at_source, at_destination;
};

class Wires {
 public:
  using Set = std::uint32_t;
  static constexpr Set empty_set = 0;

  // Wires to slots that are not `owned` are outer ones.
  Wires(SlotValues& slot_values, const std::vector<bool>& owned)
      : slot_values_(slot_values), owned_(owned), into_(slot_values.size(), nowhere), sets_(1) {}

  [[nodiscard]] bool empty() const noexcept { return wires_.empty(); }
  // At most one wire to each slot.
  void connect(const std::vector<Wire>&);
  // The wires to these slots.
  Set set(std::span<const Slot>);
  // Sets the overrides of the wires to these slots.
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
  // To slots that belong to no instance.
  void copy_outer() const noexcept { copy(outer_set_); }
  // By the chain rule; integers have no tangents.
  void copy_tangents(Set, double* tangents) const noexcept;

 private:
  static constexpr std::uint32_t nowhere = static_cast<std::uint32_t>(-1);

  struct Ends {
    std::uint32_t source, destination;
  };
  struct Scale {
    double factor, offset;
  };
  // Places of a set: first wires that copy a double, then those with factor and offset, then those of integers.
  struct Places {
    std::uint32_t plain = 0, scaled = 0, integers = 0, end = 0;
  };

  // Not inlined, so that the code of each step stays small.
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
  // Stated factors and offsets of overridden wires, by destination.
  std::unordered_map<Slot, std::pair<double, double>> stated_;
  std::vector<Slot> outer_;
  Set outer_set_ = empty_set;
  std::vector<Places> sets_;
  // The wires of all sets, one after the other. Data for plain copies are stored separately from the rest.
  std::vector<Ends> ends_;
  std::vector<Scale> scales_;
  std::vector<std::uint32_t> which_;  // index into wires_
};

}  // namespace ssptool
