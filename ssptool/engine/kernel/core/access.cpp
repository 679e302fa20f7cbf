#include "access.hpp"

namespace ssptool {

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

// Components of one kind share theirs.
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

// The same as `get`, finite or not.
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
    if (const auto unfit = typed.pack(values.data(), slot_values_.contents)) {
      outcome = {.code = Code::range,
                 .instance = static_cast<int>(index),
                 .function = instance.set_function(typed.type),
                 .slot = static_cast<int>(typed.slots[*unfit])};
      return false;
    }
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
  return true;
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
