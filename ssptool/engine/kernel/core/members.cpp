#include "members.hpp"

#include <stdexcept>
#include <string>
#include <utility>

namespace ssptool {

namespace {

bool is_integer(Type type) { return type != Type::float64 && type != Type::held && type != Type::float32; }

void append(std::vector<Small>& all, const std::vector<Small>& more) {
  all.insert(all.end(), more.begin(), more.end());
}

}  // namespace

Environment* Members::make_environment() {
  environments_.push_back(std::make_unique<Environment>());
  return environments_.back().get();
}

Environment* Members::environment(void* address) const {
  if (address == nullptr) return nullptr;
  for (const auto& environment : environments_)
    if (environment.get() == address) return environment.get();
  throw std::invalid_argument("the environment of an instance must come from the same kernel");
}

Index Members::add(Member member) {
  check_size(member.inputs.references.size(), member.inputs.slots.size(), "the list of input references");
  check_size(member.outputs.references.size(), member.outputs.slots.size(), "the list of output references");
  check_size(member.observed.references.size(), member.observed.slots.size(), "the list of observed references");
  for (const auto* variables : {&member.inputs, &member.outputs, &member.observed})
    for (std::size_t i = 0; i < variables->slots.size(); ++i) {
      const Slot slot = variables->slots[i];
      slot_values_.check(slot);
      if (is_integer(variables->types[i]) != slot_values_.holds_integer[slot])
        throw std::invalid_argument("slot " + std::to_string(slot) + " holds " +
                                    (slot_values_.holds_integer[slot] ? "integers" : "doubles") +
                                    ", which its variable has not");
      if (owned_[slot]) throw std::invalid_argument("slot " + std::to_string(slot) + " already belongs to an instance");
      owned_[slot] = true;
    }
  if (member.report != nullptr) reports_.push_back(member.report);
  instances_.push_back(member.instance.get());
  all_.push_back(std::move(member));
  return all_.size() - 1;
}

Index Groups::add(const std::vector<Index>& instances) {
  Group group;
  std::vector<Slot> slots;
  for (const Index index : instances) {
    check_index(index, members_.size(), "instance");
    Member& member = members_[index];
    find_inputs(member);
    append(group.inputs.floats, member.input_slots.floats);
    append(group.inputs.typed, member.input_slots.typed);
    slots.insert(slots.end(), member.inputs.slots.begin(), member.inputs.slots.end());
    if (!member.apart) group.shared.push_back(static_cast<Small>(group.instances.size()));
    group.instances.push_back(static_cast<Small>(index));
  }
  group.wires = wires_.set(slots);
  group.failures.resize(instances.size());
  all_.push_back(std::move(group));
  return all_.size() - 1;
}

// All time tables are stated by now.
void Groups::find_inputs(Member& member) const {
  const Variables& inputs = member.inputs;
  InputSlots found;
  for (std::size_t i = 0; i < inputs.slots.size(); ++i)
    if (!driven_.drives(inputs.slots[i]))
      (inputs.types[i] == Type::float64 ? found.floats : found.typed).push_back(static_cast<Small>(inputs.slots[i]));
  member.driven = found.floats.size() + found.typed.size() < inputs.slots.size();
  member.input_slots = std::move(found);
}

Group& Groups::at(Index index) {
  check_index(index, all_.size(), "group");
  return all_[index];
}

}  // namespace ssptool
