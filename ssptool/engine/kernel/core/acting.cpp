// What acts on the system from outside: courses of inputs, and wires that deliver something else for some time.
#include <stdexcept>
#include <string>
#include <utility>

#include "kernel.hpp"

namespace ssptool {

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
  driven_wires_ = wires_.set(slots);
}

void Kernel::drive(double t, double h) noexcept {
  for (DrivenInput& input : driven_inputs_) input.start = values_[input.slot];
  courses_.write(t, values_.data());
  wires_.copy(driven_wires_, values_.data());
  for (const DrivenInput& input : driven_inputs_) {
    const double start = input.start, end = values_[input.slot];
    switch (input.run) {
      case DrivenInput::Run::held: move(input.slot, start, 0.0, 0.0); break;
      case DrivenInput::Run::following: move(input.slot, start, (end - start) / h, 0.0); break;
      case DrivenInput::Run::middle: move(input.slot, 0.5 * (start + end), 0.0, 0.0); break;
    }
  }
}

void Kernel::act(const std::vector<ActedWire>& wires) {
  for (const ActedWire& acted : wires) {
    check_slot(acted.destination);
    if (!wires_.lead_to(acted.destination))
      throw std::invalid_argument("no wire leads to slot " + std::to_string(acted.destination));
  }
  wires_.act(wires);
}

}  // namespace ssptool
