#include "kernel.hpp"

#include <stdexcept>
#include <string>
#include <utility>

namespace ssptool {

Kernel::Kernel(std::size_t slots, const std::vector<Slot>& integers)
    : slot_values(slots, integers),
      members(slot_values),
      wires(slot_values, members.owned()),
      driven(slot_values, wires),
      groups(members, wires, driven),
      access(slot_values, members),
      history(slot_values, wires),
      inputs(slot_values, wires, groups, history),
      calls(slot_values, wires, members, access),
      loops(slot_values, calls, access),
      loop_solutions(loops),
      schedules(calls, loops, access),
      rescues(schedules, loop_solutions),
      stepper(slot_values, members, groups, access, inputs, history),
      iterations(slot_values, wires, groups, inputs, stepper, schedules, rescues, access),
      recorder(slot_values, wires, members, access),
      programs(groups, members, wires, driven, history, inputs, stepper, schedules, iterations, recorder, access) {}

Index Kernel::add(Member member) {
  if (!wires.empty()) throw std::invalid_argument("instances must be added before wires are stated");
  const Index index = members.add(std::move(member));
  stepper.add(index);
  recorder.add(index);
  return index;
}

void Kernel::connect(const std::vector<Wire>& stated) {
  check_nothing_registered("wires");
  wires.connect(stated);
}

void Kernel::time_tables(std::vector<std::vector<double>> axes, std::vector<TableColumn> columns,
                         std::vector<DrivenInput> driven_inputs) {
  check_nothing_registered("time tables");
  driven.state(std::move(axes), std::move(columns), std::move(driven_inputs));
}

void Kernel::check_nothing_registered(const char* what) const {
  if (groups.size() + loops.size() + schedules.size() > 0)
    throw std::invalid_argument(std::string(what) + " must be stated before groups, loops and schedules");
}

}  // namespace ssptool
