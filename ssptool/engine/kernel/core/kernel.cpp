#include "kernel.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "checks.hpp"

namespace ssptool {

Kernel::Kernel(std::size_t slots, const std::vector<Slot>& integers)
    : values_(slots),
      input_value_(slots),
      input_rates_(max_order * slots),
      tangent_(slots),
      owned_(slots),
      holds_integer_(slots),
      driven_(slots),
      wires_(slots),
      recorded_(values_.data(), {}) {
  for (Point& point : history_) point.own.resize(slots);
  for (const Slot slot : integers) {
    check_slot(slot);
    holds_integer_[slot] = true;
  }
}

void Kernel::check_slot(Slot slot) const { check_index(slot, values_.size(), "slot"); }

void Kernel::check_wire(const Wire& wire) const {
  check_slot(wire.source);
  check_slot(wire.destination);
  const std::string source = std::to_string(wire.source), destination = std::to_string(wire.destination);
  if (holds_integer_[wire.destination]) {
    if (!holds_integer_[wire.source])
      throw std::invalid_argument("a wire leads from slot " + source + ", a double, to " + destination +
                                  ", an integer");
    if (wire.factor != 1.0 || wire.offset != 0.0)
      throw std::invalid_argument("the wire to slot " + destination + ", an integer, has a factor or an offset");
  }
  if (!wire.table.empty() && !holds_integer_[wire.source])
    throw std::invalid_argument("the wire from slot " + source + ", a double, has a table");
}

void Kernel::connect(const std::vector<Wire>& wires) {
  if (!groups_.empty() || !loops_.empty() || !sweeps_.empty())
    throw std::invalid_argument("wires must be stated before groups, loops and sweeps");
  for (Wire wire : wires) {
    check_wire(wire);
    if (wires_.lead_to(wire.destination))
      throw std::invalid_argument("two wires lead to slot " + std::to_string(wire.destination));
    wire.from_integer = holds_integer_[wire.source];
    wire.to_integer = holds_integer_[wire.destination];
    wires_.add(wire);
    if (!owned_[wire.destination]) outer_.push_back(wire.destination);
  }
  outer_wires_ = wires_.set(outer_);
}

}  // namespace ssptool
