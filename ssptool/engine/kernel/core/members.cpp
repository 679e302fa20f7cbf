// The instances of a kernel, and groups of them.
#include <stdexcept>
#include <utility>

#include "checks.hpp"
#include "kernel.hpp"

namespace ssptool {

namespace {

bool is_integer(Type type) { return type != Type::float64 && type != Type::float32; }

}  // namespace

Environment* Kernel::make_environment() {
  environments_.push_back(std::make_unique<Environment>());
  return environments_.back().get();
}

Environment* Kernel::environment(void* address) const {
  if (address == nullptr) return nullptr;
  for (const auto& environment : environments_)
    if (environment.get() == address) return environment.get();
  throw std::invalid_argument("the environment of an instance must come from the same kernel");
}

Index Kernel::add(Member member) {
  if (!wires_.empty()) throw std::invalid_argument("instances must be added before wires are stated");
  check_size(member.inputs.references.size(), member.inputs.slots.size(), "the list of input references");
  check_size(member.outputs.references.size(), member.outputs.slots.size(), "the list of output references");
  check_size(member.observed.references.size(), member.observed.slots.size(), "the list of observed references");
  for (const auto* variables : {&member.inputs, &member.outputs, &member.observed})
    for (std::size_t i = 0; i < variables->slots.size(); ++i) {
      const Slot slot = variables->slots[i];
      check_slot(slot);
      if (is_integer(variables->types[i]) != holds_integer_[slot])
        throw std::invalid_argument("slot " + std::to_string(slot) + " holds " +
                                    (holds_integer_[slot] ? "integers" : "doubles") + ", which its variable has not");
      if (owned_[slot]) throw std::invalid_argument("slot " + std::to_string(slot) + " already belongs to an instance");
      owned_[slot] = true;
    }
  const Index index = members_.size();
  if (member.report != nullptr) reports_.push_back(member.report);
  instances_.push_back(member.instance.get());
  members_.push_back(std::move(member));
  add_stepper(index);
  add_observed(index);
  return index;
}

void Kernel::add_observed(Index index) {
  const Member& member = members_[index];
  if (member.observed.slots.empty()) return;
  observed_.push_back({.inputs = transfer(index, of_type(member.inputs, Type::float64)),
                       .floats = transfer(index, of_type(member.observed, Type::float64)),
                       .typed_inputs = by_type(member.inputs),
                       .typed = by_type(member.observed)});
}

void Kernel::add_stepper(Index index) {
  const Variables inputs = of_type(members_[index].inputs, Type::float64);
  double* const first = input_rates_.data();
  StepParts parts{.value = Window(input_value_.data(), inputs.slots),
                  .first = Window(first, inputs.slots),
                  .second = Window(first + values_.size(), inputs.slots),
                  .motion = {},
                  .inputs = {},
                  .outputs = transfer(index, of_type(members_[index].outputs, Type::float64)),
                  .typed_inputs = by_type(members_[index].inputs),
                  .typed_outputs = by_type(members_[index].outputs)};
  parts.motion = {parts.value.room().data(), parts.first.room().data(), parts.second.room().data(), parts.value.size()};
  const bool typed = !parts.typed_inputs.empty() || !parts.typed_outputs.empty();
  const QuickAccess own = access(transfer(index, inputs), parts.outputs, typed);
  steppers_.push_back({own, own.special ? nullptr : instances_[index]->plain_step()});
  step_parts_.push_back(std::move(parts));
}

Transfer Kernel::transfer(Index index, const Variables& floats) {
  return {index, floats.slots, floats.distinct(), Window(values_.data(), floats.slots)};
}

QuickAccess Kernel::access(const Transfer& inputs, const Transfer& outputs, bool typed) {
  QuickAccess access{.reals = instances_[inputs.instance]->reals};
  access.special = typed || !inputs.plain() || !outputs.plain();
  if (access.special) return access;
  access.input_count = static_cast<std::uint16_t>(inputs.slots.size());
  access.output_count = static_cast<std::uint16_t>(outputs.slots.size());
  access.input_references = place_of(inputs.references);
  access.output_references = place_of(outputs.references);
  if (!inputs.slots.empty()) access.inputs = static_cast<Small>(inputs.slots.front());
  if (!outputs.slots.empty()) access.outputs = static_cast<Small>(outputs.slots.front());
  return access;
}

// Components of one kind share theirs.
Small Kernel::place_of(const std::vector<fmi::Reference>& references) {
  const auto [known, added] = known_references_.try_emplace(references, static_cast<Small>(references_.size()));
  if (added) references_.insert(references_.end(), references.begin(), references.end());
  return known->second;
}

Index Kernel::group(const std::vector<Index>& instances) {
  Group group;
  std::vector<Slot> slots;
  for (const Index instance : instances) {
    check_index(instance, members_.size(), "instance");
    const Inputs& own = step_parts_[instance].inputs = inputs_of(instance);
    group.inputs.floats.insert(group.inputs.floats.end(), own.floats.begin(), own.floats.end());
    group.inputs.typed.insert(group.inputs.typed.end(), own.typed.begin(), own.typed.end());
    const std::vector<Slot>& all = members_[instance].inputs.slots;
    if (own.floats.size() + own.typed.size() < all.size()) steppers_[instance].plain_step = nullptr;  // some are driven
    slots.insert(slots.end(), all.begin(), all.end());
    if (!members_[instance].apart) group.shared.push_back(static_cast<Small>(group.instances.size()));
    group.instances.push_back(static_cast<Small>(instance));
  }
  group.wires = wires_.set(slots);
  group.failures.resize(instances.size());
  groups_.push_back(std::move(group));
  return groups_.size() - 1;
}

Kernel::Inputs Kernel::inputs_of(Index instance) const {
  Inputs found;
  const Variables& inputs = members_[instance].inputs;
  for (std::size_t i = 0; i < inputs.slots.size(); ++i)
    if (!driven_[inputs.slots[i]])
      (inputs.types[i] == Type::float64 ? found.floats : found.typed).push_back(static_cast<Small>(inputs.slots[i]));
  return found;
}

}  // namespace ssptool
