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

std::vector<Type> types_but_floats(const InstanceTable& table) {
  std::vector<Type> types;
  for (const auto* own : {&table.inputs, &table.outputs, &table.observed})
    for (const Type type : own->types)
      if (type != Type::float64) types.push_back(type);
  for (const Type type : table.exchanged_at_events)
    if (type != Type::float64) types.push_back(type);
  return types;
}

}  // namespace

Member Members::member_of(InstanceTable table) {
  const std::vector<Type> types = types_but_floats(table);
  const Variables floats = of_type(table.inputs, Type::float64);
  const std::vector<fmi::Reference> inputs = floats.distinct();
  Member member;
  if (table.fmi_major == 1)
    member.instance = make_fmi1(memory_, table.functions, table.component, inputs, types);
  else if (table.fmi_major == 2)
    member.instance = make_fmi2(memory_, table.functions, table.component, inputs, types);
  else
    member.instance = make_fmi3(memory_, table.functions, table.component, inputs, floats.slots.size(), types,
                                table.environment, table.report);
  member.inputs = std::move(table.inputs);
  member.outputs = std::move(table.outputs);
  member.observed = std::move(table.observed);
  member.refreshed = table.refreshed;
  if (table.substeps.count < 1)
    throw std::invalid_argument("an instance does " + std::to_string(table.substeps.count) +
                                " steps in a step, must be at least 1");
  for (const Slot slot : table.substeps.moving) slot_values_.check(slot);
  member.apart = table.apart || table.substeps.count > 1;
  member.substeps = std::move(table.substeps);
  member.report = table.report;
  return member;
}

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
  changes_.push_back(0);
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

// All time tables have been registered before.
void Groups::find_inputs(Member& member) const {
  const Variables& inputs = member.inputs;
  InputSlots found;
  for (std::size_t i = 0; i < inputs.slots.size(); ++i) {
    const Slot slot = inputs.slots[i];
    if (driven_.drives(slot)) continue;
    const bool moves = inputs.types[i] == Type::float64 && !members_.still(slot);
    (moves ? found.floats : found.typed).push_back(static_cast<Small>(slot));
    member.still |= inputs.types[i] == Type::float64 && members_.still(slot);
  }
  member.driven = found.floats.size() + found.typed.size() < inputs.slots.size();
  member.input_slots = std::move(found);
}

Group& Groups::at(Index index) {
  check_index(index, all_.size(), "group");
  return all_[index];
}

Transfer Access::transfer(Index index, const Variables& floats) {
  return {index, floats.slots, floats.distinct(), Window(slot_values_.values.data(), floats.slots)};
}

QuickAccess Access::quick(const Transfer& inputs, const Transfer& outputs, bool typed) {
  QuickAccess access{.reals = members_.instance(inputs.instance).reals};
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

// Components of the same kind share their references.
Small Access::place_of(const std::vector<fmi::Reference>& references) {
  const auto [known, added] = known_references_.try_emplace(references, static_cast<Small>(references_.size()));
  if (added) references_.insert(references_.end(), references.begin(), references.end());
  return known->second;
}

bool Access::set(Transfer& inputs) noexcept {
  if (inputs.slots.empty()) return true;
  const int status = members_.instance(inputs.instance).reals.set(inputs.references, inputs.values.read());
  return status <= fmi::warning || not_set(inputs.instance, status);
}

// The same as `get`, but values may be non-finite.
bool Access::fetch(Transfer& outputs) noexcept {
  const std::span<double> values = outputs.values.room();
  if (values.empty()) return true;
  const int status = members_.instance(outputs.instance).reals.get(outputs.references, values);
  if (status > fmi::warning) return not_got(outputs.instance, status);
  outputs.values.written();
  return true;
}

bool Access::get(Transfer& outputs) noexcept {
  if (!fetch(outputs)) return false;
  const std::span<double> values = outputs.values.room();
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!std::isfinite(values[i]))
      return nonfinite(outputs.instance, members_.instance(outputs.instance).get_function(), outputs.slots[i]);
  return true;
}

bool Access::set_typed(Index index, std::vector<Typed>& inputs, const std::vector<double>& values) noexcept {
  Instance& instance = members_.instance(index);
  for (Typed& typed : inputs) {
    if (const auto unfit = typed.pack(values.data(), slot_values_.contents))
      return out_of_range(index, instance.set_function(typed.type), typed.slots[*unfit]);
    if (const Failure failure = instance.set(typed)) return failed(index, failure);
  }
  return true;
}

bool Access::get_typed(Index index, std::vector<Typed>& outputs) noexcept {
  Instance& instance = members_.instance(index);
  for (Typed& typed : outputs) {
    if (const Failure failure = instance.get(typed)) return failed(index, failure);
    if (const auto wrong = typed.unpack(slot_values_.values.data(), slot_values_.contents))
      return nonfinite(index, instance.get_function(typed.type), typed.slots[*wrong]);
    if (slot_values_.demands.empty()) continue;
    for (const Slot slot : typed.slots)
      if (!slot_values_.meets_demand(slot)) return out_of_range(index, instance.get_function(typed.type), slot);
  }
  return true;
}

bool Access::observe(Observed& one) noexcept {
  const Index index = one.floats.instance;
  if (members_[index].refreshed && !(set(one.inputs) && set_typed(index, one.typed_inputs, slot_values_.values)))
    return false;
  if (!fetch(one.floats)) return false;
  for (Typed& typed : one.typed) {
    if (const Failure failure = members_.instance(index).get(typed)) return failed(index, failure);
    typed.unpack(slot_values_.values.data(), slot_values_.contents);
  }
  members_.leave_mode(index);
  return true;
}

bool Access::out_of_range(Index instance, const char* function, Slot slot) noexcept {
  outcome = {.code = Code::range,
             .instance = static_cast<int>(instance),
             .function = function,
             .slot = static_cast<int>(slot)};
  return false;
}

bool Access::nonfinite(Index instance, const char* function, Slot slot) noexcept {
  outcome = {.code = Code::nonfinite,
             .instance = static_cast<int>(instance),
             .function = function,
             .slot = static_cast<int>(slot)};
  return false;
}

bool Access::nonfinite(const QuickAccess& access, Index instance) noexcept {
  Slot slot = access.outputs;
  while (std::isfinite(slot_values_.values[slot])) ++slot;
  return nonfinite(instance, members_.instance(instance).get_function(), slot);
}

bool Access::not_set(Index instance, int status) noexcept {
  return failed(instance, {members_.instance(instance).set_function(), status});
}

bool Access::not_got(Index instance, int status) noexcept {
  return failed(instance, {members_.instance(instance).get_function(), status});
}

bool Access::failed(Index instance, const Failure& failure) noexcept {
  outcome = {.code = Code::fmi,
             .instance = static_cast<int>(instance),
             .function = failure.function,
             .fmi_status = failure.status};
  return false;
}

}  // namespace ssptool
