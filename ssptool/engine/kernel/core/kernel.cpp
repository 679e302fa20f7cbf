#include "kernel.hpp"

#include <stdexcept>
#include <string>
#include <utility>

namespace ssptool {

Kernel::Kernel(std::size_t slots, const std::vector<Slot>& integers)
    : cells(slots, integers),
      members(cells),
      wires(cells, members.owned()),
      driven(cells, wires),
      groups(members, wires, driven),
      access(cells, members),
      history(cells, wires),
      inputs(cells, wires, groups, history),
      calls(cells, wires, members, access),
      loops(cells, calls, access),
      sweeps(calls, loops, access),
      stepper(cells, members, groups, access, inputs, history),
      iterations(cells, wires, groups, inputs, stepper, sweeps, access),
      recorder(cells, wires, members, access),
      programs(groups, members, wires, driven, history, inputs, stepper, sweeps, iterations, recorder, access) {}

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

void Kernel::courses(std::vector<std::vector<double>> axes, std::vector<Column> columns,
                     std::vector<DrivenInput> driven_inputs) {
  check_nothing_registered("courses");
  driven.state(std::move(axes), std::move(columns), std::move(driven_inputs));
}

void Kernel::check_nothing_registered(const char* what) const {
  if (groups.size() + loops.size() + sweeps.size() > 0)
    throw std::invalid_argument(std::string(what) + " must be stated before groups, loops and sweeps");
}

}  // namespace ssptool
