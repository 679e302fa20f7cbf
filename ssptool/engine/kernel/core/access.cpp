// Variables of instances that are set and got, and what goes wrong there.
#include <cmath>

#include "kernel.hpp"

namespace ssptool {

bool Kernel::set_typed(Index index, std::vector<Typed>& inputs, const std::vector<double>& cells) noexcept {
  Instance& instance = *instances_[index];
  for (Typed& typed : inputs) {
    if (const auto unfit = typed.pack(cells.data(), texts_)) {
      outcome_ = {.code = Code::range,
                  .instance = static_cast<int>(index),
                  .function = instance.set_function(typed.type),
                  .slot = static_cast<int>(typed.slots[*unfit])};
      return false;
    }
    if (const Failure failure = instance.set(typed)) return failed(index, failure);
  }
  return true;
}

bool Kernel::get_typed(Index index, std::vector<Typed>& outputs) noexcept {
  Instance& instance = *instances_[index];
  for (Typed& typed : outputs) {
    if (const Failure failure = instance.get(typed)) return failed(index, failure);
    if (const auto wrong = typed.unpack(values_.data(), texts_))
      return nonfinite(index, instance.get_function(typed.type), typed.slots[*wrong]);
  }
  return true;
}

bool Kernel::observe(Observed& one) noexcept {
  const Index index = one.floats.instance;
  if (members_[index].refreshed && !(set(one.inputs) && set_typed(index, one.typed_inputs, values_))) return false;
  if (!fetch(one.floats)) return false;
  for (Typed& typed : one.typed) {
    if (const Failure failure = instances_[index]->get(typed)) return failed(index, failure);
    typed.unpack(values_.data(), texts_);
  }
  return true;
}

bool Kernel::nonfinite(Index instance, const char* function, Slot slot) noexcept {
  outcome_ = {.code = Code::nonfinite,
              .instance = static_cast<int>(instance),
              .function = function,
              .slot = static_cast<int>(slot)};
  return false;
}

bool Kernel::nonfinite(const QuickAccess& access, Index instance) noexcept {
  Slot slot = access.outputs;
  while (std::isfinite(values_[slot])) ++slot;
  return nonfinite(instance, instances_[instance]->get_function(), slot);
}

bool Kernel::not_set(Index instance, int status) noexcept {
  return failed(instance, {instances_[instance]->set_function(), status});
}

bool Kernel::not_got(Index instance, int status) noexcept {
  return failed(instance, {instances_[instance]->get_function(), status});
}

bool Kernel::failed(Index instance, const Failure& failure) noexcept {
  outcome_ = {.code = Code::fmi,
              .instance = static_cast<int>(instance),
              .function = failure.function,
              .fmi_status = failure.status};
  return false;
}

bool Kernel::set(Transfer& inputs) noexcept {
  if (inputs.slots.empty()) return true;
  const int status = instances_[inputs.instance]->reals.set(inputs.references, inputs.values.read());
  return status <= fmi::warning || not_set(inputs.instance, status);
}

bool Kernel::fetch(Transfer& outputs) noexcept {
  const std::span<double> values = outputs.values.room();
  if (values.empty()) return true;
  const int status = instances_[outputs.instance]->reals.get(outputs.references, values);
  if (status > fmi::warning) return not_got(outputs.instance, status);
  outputs.values.written();
  return true;
}

bool Kernel::get(Transfer& outputs) noexcept {
  if (!fetch(outputs)) return false;
  const std::span<double> values = outputs.values.room();
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!std::isfinite(values[i]))
      return nonfinite(outputs.instance, instances_[outputs.instance]->get_function(), outputs.slots[i]);
  return true;
}

}  // namespace ssptool
