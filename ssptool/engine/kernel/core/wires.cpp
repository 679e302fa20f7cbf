#include "wires.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <tuple>

namespace ssptool {

namespace {

// A wire with overrides of doubles at its ends is still a factor and an offset.
void override_source(Wire& wire, const SlotOverride& by) noexcept {
  if (by.kind == SlotOverride::Kind::none) return;
  wire.offset = delivered(wire.factor, wire.offset, by.value);
  if (by.kind == SlotOverride::Kind::override_) wire.factor = 0.0;
}

void override_destination(Wire& wire, const SlotOverride& by) noexcept {
  if (by.kind == SlotOverride::Kind::none) return;
  const bool replaced = by.kind == SlotOverride::Kind::override_;
  wire.offset = replaced ? by.value : wire.offset + by.value;
  if (replaced) wire.factor = 0.0;
}

}  // namespace

void Wires::check(const Wire& wire) const {
  slot_values_.check(wire.source);
  slot_values_.check(wire.destination);
  const std::string source = std::to_string(wire.source), destination = std::to_string(wire.destination);
  if (slot_values_.holds_integer[wire.destination]) {
    if (!slot_values_.holds_integer[wire.source])
      throw std::invalid_argument("a wire connects slot " + source + ", a double, to " + destination + ", an integer");
    if (wire.factor != 1.0 || wire.offset != 0.0)
      throw std::invalid_argument("the wire to slot " + destination + ", an integer, has a factor or an offset");
  }
  if (!wire.table.empty() && !slot_values_.holds_integer[wire.source])
    throw std::invalid_argument("the wire from slot " + source + ", a double, has a table");
  if (lead_to(wire.destination)) throw std::invalid_argument("two wires end at slot " + destination);
}

void Wires::connect(const std::vector<Wire>& wires) {
  for (const Wire& wire : wires) {
    check(wire);
    into_[wire.destination] = static_cast<std::uint32_t>(wires_.size());
    wires_.push_back(wire);
    wires_.back().from_integer = slot_values_.holds_integer[wire.source];
    wires_.back().to_integer = slot_values_.holds_integer[wire.destination];
    slot_values_.least[wire.destination] = wire.least;
    slot_values_.most[wire.destination] = wire.most;
    slot_values_.still[wire.destination] = wire.discrete || wires_.back().from_integer;
    if (!owned_[wire.destination]) outer_.push_back(wire.destination);
  }
  outer_set_ = set(outer_);
}

Wires::Set Wires::set(std::span<const Slot> slots) {
  Places places{.plain = static_cast<std::uint32_t>(which_.size()), .scaled = 0, .integers = 0, .end = 0};
  for (const Slot slot : slots)
    if (lead_to(slot)) which_.push_back(into_[slot]);
  places.end = static_cast<std::uint32_t>(which_.size());
  ends_.resize(which_.size());
  scales_.resize(which_.size());
  sort(places);
  sets_.push_back(places);
  return static_cast<Set>(sets_.size() - 1);
}

// Sorts the present wires of a set by kind.
void Wires::sort(Places& places) {
  const auto begin = which_.begin() + places.plain, end = which_.begin() + places.end;
  const auto integers = std::stable_partition(begin, end, [&](auto which) { return !wires_[which].from_integer; });
  const auto scaled = std::stable_partition(
      begin, integers, [&](auto which) { return wires_[which].factor == 1.0 && wires_[which].offset == 0.0; });
  places.scaled = static_cast<std::uint32_t>(scaled - which_.begin());
  places.integers = static_cast<std::uint32_t>(integers - which_.begin());
  for (std::uint32_t i = places.plain; i < places.end; ++i) {
    const Wire& wire = wires_[which_[i]];
    ends_[i] = {static_cast<std::uint32_t>(wire.source), static_cast<std::uint32_t>(wire.destination)};
    scales_[i] = {wire.factor, wire.offset};
  }
}

void Wires::copy_others(Set set) const noexcept {
  const Places& places = sets_[set];
  double* const values = slot_values_.values.data();
  for (std::uint32_t i = places.scaled; i < places.integers; ++i)
    values[ends_[i].destination] = delivered(scales_[i].factor, scales_[i].offset, values[ends_[i].source]);
  for (std::uint32_t i = places.integers; i < places.end; ++i) copy_integer(wires_[which_[i]], values);
}

void Wires::copy_integer(const Wire& wire, double* values) noexcept {
  std::int64_t number = wire.at_source.of_integer(as_integer(values[wire.source]));
  if (const auto entry = wire.table.find(number); entry != wire.table.end()) number = entry->second;
  values[wire.destination] = wire.to_integer ? as_double(wire.at_destination.of_integer(number))
                                             : delivered(wire.factor, wire.offset, static_cast<double>(number));
}

void Wires::copy_tangents(Set set, double* tangents) const noexcept {
  const Places places = sets_[set];
  for (std::uint32_t i = places.plain; i < places.integers; ++i)
    tangents[ends_[i].destination] = scales_[i].factor * tangents[ends_[i].source];
}

void Wires::override_wires(const std::vector<OverriddenWire>& overridden) {
  for (const OverriddenWire& one : overridden) {
    slot_values_.check(one.destination);
    if (!lead_to(one.destination))
      throw std::invalid_argument("no wire ends at slot " + std::to_string(one.destination));
  }
  for (const OverriddenWire& one : overridden) override_wire(one);
  for (Places& places : sets_) sort(places);
}

void Wires::override_wire(const OverriddenWire& overridden) {
  Wire& wire = wires_[into_[overridden.destination]];
  const auto stated = stated_.try_emplace(overridden.destination, wire.factor, wire.offset).first;
  std::tie(wire.factor, wire.offset) = stated->second;
  if (wire.from_integer)
    wire.at_source = overridden.at_source;
  else
    override_source(wire, overridden.at_source);
  if (wire.to_integer)
    wire.at_destination = overridden.at_destination;
  else
    override_destination(wire, overridden.at_destination);
}

}  // namespace ssptool
