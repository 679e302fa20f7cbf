// Wires between slots, and sets of them as a step copies them.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "change.hpp"
#include "window.hpp"

namespace ssptool {

struct Wire {
  Slot source, destination;
  double factor, offset;
  std::unordered_map<std::int64_t, std::int64_t> table;  // of integers
  bool from_integer = false, to_integer = false;
  Change at_source{}, at_destination{};  // of integers; of doubles they are in factor and offset
};

// What is done at the ends of the wire that leads to this slot.
struct ActedWire {
  Slot destination;
  Change at_source, at_destination;
};

class Wires {
 public:
  using Set = std::uint32_t;
  static constexpr Set empty_set = 0;

  explicit Wires(std::size_t slots) : into_(slots, none), sets_(1) {}

  [[nodiscard]] bool empty() const noexcept { return wires_.empty(); }
  [[nodiscard]] bool lead_to(Slot slot) const noexcept { return into_[slot] != none; }
  // At most one to a slot.
  void add(const Wire&);
  // Those that lead to these slots.
  Set set(std::span<const Slot>);
  // From now on those to these slots deliver something else; there must be such.
  void act(const std::vector<ActedWire>&);

  void copy(Set set, double* values) const noexcept {
    const Places& places = sets_[set];
    const bool others = places.scaled != places.end;
    const Ends* const end = ends_.data() + places.scaled;
    for (const Ends* wire = ends_.data() + places.plain; wire != end; ++wire)
      values[wire->destination] = values[wire->source];
    if (others) copy_others(set, values);
  }
  // By the chain rule; integers do not move.
  void copy_tangents(Set, double* tangents) const noexcept;

 private:
  static constexpr std::uint32_t none = static_cast<std::uint32_t>(-1);

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
  [[gnu::noinline]] void copy_others(Set, double* values) const noexcept;
  static void copy_integer(const Wire&, double* values) noexcept;
  void act(const ActedWire&);
  void sort(Places&);

  std::vector<Wire> wires_;
  std::vector<std::uint32_t> into_;  // by destination slot: index into wires_
  // Factor and offset as they were stated, of wires that have been acted on, by destination.
  std::unordered_map<Slot, std::pair<double, double>> stated_;
  std::vector<Places> sets_;
  // Of all sets, one after the other; what a step needs of a wire that only copies is apart from the rest.
  std::vector<Ends> ends_;
  std::vector<Scale> scales_;
  std::vector<std::uint32_t> which_;  // index into wires_
};

}  // namespace ssptool
