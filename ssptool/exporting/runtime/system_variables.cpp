// Values of the variables of a system: of slots of its kernel, and of parts.
#include "system.hpp"

namespace ssptool::runtime {

namespace {

double number(const Value& value) {
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return static_cast<double>(std::get<std::int64_t>(value));
}

}  // namespace

// --- values of slots -------------------------------------------------------------------------------------------------

void System::write(const std::vector<SlotValue>& values) {
  for (const auto& [slot, value] : values) write(slot, value);
}

void System::write(Slot slot, const Value& value) {
  SlotValues& slots = kernel_->slot_values;
  if (const auto* text = std::get_if<std::string>(&value))
    slots.values[slot] = as_double(slots.contents.number(*text));
  else if (const auto* integer = std::get_if<std::int64_t>(&value); integer != nullptr && slots.holds_integer[slot])
    slots.values[slot] = as_double(*integer);
  else if (slots.holds_integer[slot])
    slots.values[slot] = as_double(static_cast<std::int64_t>(number(value)));
  else
    slots.values[slot] = number(value);
}

Value System::read(Slot slot) const {
  const SlotValues& slots = kernel_->slot_values;
  if (!slots.holds_integer[slot]) return slots.values[slot];
  const std::int64_t integer = as_integer(slots.values[slot]);
  if (plan_.types[slot] == "String") return slots.contents.at(integer);
  return integer;
}

// --- variables -------------------------------------------------------------------------------------------------------

const SystemVariable& System::variable(std::size_t reference) const {
  if (reference >= plan_.variables.size())
    throw Refused(Status::error, "there is no variable with the value reference " + std::to_string(reference));
  return plan_.variables[reference];
}

Value System::get(std::size_t reference) {
  const SystemVariable& variable = this->variable(reference);
  settle();
  if (phase_ == Phase::exchange) ode_->continuous->settle();
  if (ode_ != nullptr) kernel_->wires.copy_outer();
  if (variable.slot) return read(*variable.slot);
  if (variable.element && ode_ != nullptr) return ode_->vector(variable.element->first, now_)[variable.element->second];
  if (variable.targets.empty())
    throw Refused(Status::error, variable.name + " has no value before the end of initialization mode");
  const Target& target = variable.targets.at(0);
  Value found = parts_[target.part]->get(target.suffix, target.reference);
  if (auto* real = std::get_if<double>(&found); real != nullptr && target.factor != 0.0)
    *real = (*real - target.offset) / target.factor;
  return found;
}

void System::set(std::size_t reference, const Value& value) {
  const SystemVariable& variable = this->variable(reference);
  const bool may = variable.causality == "input" ||
                   (variable.causality == "parameter" && (variable.tunable || phase_ < Phase::stepping));
  if (!may)
    throw Refused(Status::error, variable.name + ", of causality " + variable.causality + ", cannot be set now");
  if (variable.slot) {
    const double before = kernel_->slot_values.values[*variable.slot];
    write(*variable.slot, value);
    changed_ |= as_integer(before) != as_integer(kernel_->slot_values.values[*variable.slot]);
    return;
  }
  if (phase_ == Phase::instantiated || (phase_ == Phase::stepping && events_ != nullptr))
    given_.emplace_back(reference, value);
  else if (phase_ == Phase::stepping && ode_ != nullptr)
    tuned_.emplace_back(reference, value);
  else
    set_in_parts(variable, value);
  changed_ = true;
}

void System::set_in_parts(const SystemVariable& variable, const Value& value) {
  for (const Target& target : variable.targets) {
    Value converted = value;
    if (auto* real = std::get_if<double>(&converted)) *real = target.factor * *real + target.offset;
    parts_[target.part]->set(target.suffix, target.reference, converted);
  }
}

std::vector<double> System::directional(std::span<const fmi::Reference> unknowns,
                                        std::span<const fmi::Reference> knowns, std::span<const double> seed) {
  settle();
  if (phase_ == Phase::exchange) ode_->continuous->settle();
  std::vector<double> direction(plan_.slots), states(phase_ == Phase::exchange ? this->states() : 0);
  for (std::size_t i = 0; i < knowns.size(); ++i) {
    const SystemVariable& known = variable(knowns[i]);
    if (!states.empty() && known.element && known.element->first == Vector::states)
      states[known.element->second] += seed[i];
    else if (known.causality == "input" && known.slot)
      direction[*known.slot] += seed[i];
    else
      throw Refused(Status::error, "derivatives by " + known.name + ", of causality " + known.causality +
                                       ", are not provided; by inputs and, in model exchange, states they are");
  }
  Tangents tangents(plan_, parts_, std::move(direction), states);
  tangents.follow(phase_ == Phase::initialization ? plan_.initialization : plan_.schedules.at(plan_.everything));
  tangents.arrive();
  const std::vector<double> slopes = phase_ == Phase::exchange ? tangents.slopes() : std::vector<double>{};
  std::vector<double> found;
  for (const fmi::Reference reference : unknowns) {
    const SystemVariable& unknown = variable(reference);
    if (unknown.slot)
      found.push_back(tangents.at(*unknown.slot));
    else if (phase_ == Phase::exchange && unknown.element && unknown.element->first == Vector::derivatives)
      found.push_back(slopes[unknown.element->second]);
    else
      throw Refused(Status::error, "derivatives of " + unknown.name + " are not provided");
  }
  return found;
}

}  // namespace ssptool::runtime
