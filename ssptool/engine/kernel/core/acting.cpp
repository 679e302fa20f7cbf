// What acts on the system from outside: courses of inputs, and wires that deliver something else for some time.
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>

#include "kernel.hpp"

namespace ssptool {

// -- courses ---------------------------------------------------------------------------------------------------

void Kernel::courses(std::vector<std::vector<double>> axes, std::vector<Column> columns,
                     std::vector<DrivenInput> inputs) {
  if (!groups_.empty() || !loops_.empty() || !sweeps_.empty())
    throw std::invalid_argument("courses must be stated before groups, loops and sweeps");
  std::vector<Slot> slots;
  for (Column& column : columns) {
    check_slot(column.slot);
    column.integer = holds_integer_[column.slot];
  }
  for (const DrivenInput& input : inputs) {
    check_slot(input.slot);
    if (holds_integer_[input.slot] && input.run != DrivenInput::Run::held)
      throw std::invalid_argument("slot " + std::to_string(input.slot) + " holds integers, which are held");
    slots.push_back(input.slot);
  }
  courses_ = Courses(std::move(axes), std::move(columns));
  for (const Slot slot : slots) driven_[slot] = true;
  driven_inputs_ = std::move(inputs);
  driven_wires_ = wires_into(slots);
}

void Kernel::drive(double t, double h) noexcept {
  for (DrivenInput& input : driven_inputs_) input.start = values_[input.slot];
  courses_.write(t, values_.data());
  copy(driven_wires_);
  for (const DrivenInput& input : driven_inputs_) {
    const double start = input.start, end = values_[input.slot];
    switch (input.run) {
      case DrivenInput::Run::held: move(input.slot, start, 0.0, 0.0); break;
      case DrivenInput::Run::following: move(input.slot, start, (end - start) / h, 0.0); break;
      case DrivenInput::Run::middle: move(input.slot, 0.5 * (start + end), 0.0, 0.0); break;
    }
  }
}

// -- wires -----------------------------------------------------------------------------------------------------

namespace {

// With what is done to doubles at its ends, a wire still is a factor and an offset.
void change_source(Wire& wire, const Change& change) noexcept {
  if (change.kind == Change::Kind::bias) wire.offset = wire.factor * change.cell + wire.offset;
  if (change.kind != Change::Kind::override_) return;
  wire.offset = wire.factor * change.cell + wire.offset;
  wire.factor = 0.0;
}

void change_destination(Wire& wire, const Change& change) noexcept {
  if (change.kind == Change::Kind::none) return;
  const bool replaced = change.kind == Change::Kind::override_;
  wire.offset = replaced ? change.cell : wire.offset + change.cell;
  if (replaced) wire.factor = 0.0;
}

}  // namespace

void Kernel::act(const std::vector<ActedWire>& wires) {
  for (const ActedWire& acted : wires) {
    check_slot(acted.destination);
    if (wire_into_[acted.destination] == unconnected)
      throw std::invalid_argument("no wire leads to slot " + std::to_string(acted.destination));
  }
  for (const ActedWire& acted : wires) act(acted);
  for (Wires* all : every_wires()) {
    for (auto& wire : all->linear) {
      const Wire& now = wires_[wire_into_[wire.destination]];
      wire.factor = now.factor;
      wire.offset = now.offset;
    }
    for (Wire& wire : all->integer) {
      const Wire& now = wires_[wire_into_[wire.destination]];
      wire.factor = now.factor;
      wire.offset = now.offset;
      wire.at_source = now.at_source;
      wire.at_destination = now.at_destination;
    }
  }
}

void Kernel::act(const ActedWire& acted) {
  Wire& wire = wires_[wire_into_[acted.destination]];
  const auto stated = unchanged_.try_emplace(acted.destination, wire.factor, wire.offset).first;
  std::tie(wire.factor, wire.offset) = stated->second;
  if (holds_integer_[wire.source])
    wire.at_source = acted.at_source;
  else
    change_source(wire, acted.at_source);
  if (holds_integer_[wire.destination])
    wire.at_destination = acted.at_destination;
  else
    change_destination(wire, acted.at_destination);
}

// All copies of wires, wherever they are done.
std::vector<Kernel::Wires*> Kernel::every_wires() {
  std::vector<Wires*> found{&outer_wires_, &driven_wires_};
  for (Group& group : groups_) found.push_back(&group.wires);
  for (Loop& loop : loops_)
    for (ResolvedCall& call : loop.body) found.push_back(&call.wires);
  for (auto& sweep : sweeps_)
    for (auto& step : sweep)
      if (auto* call = std::get_if<ResolvedCall>(&step)) found.push_back(&call->wires);
  return found;
}

}  // namespace ssptool
