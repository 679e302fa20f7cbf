// Values of the variables of a system, from slots of its kernel and from parts.
#include <algorithm>

#include "system.hpp"

namespace ssptool::runtime {

namespace {

double number(const Value& value) {
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return static_cast<double>(std::get<std::int64_t>(value));
}

// Memory of texts and bytes above which unused ones are deleted.
constexpr std::size_t forget_bytes = std::size_t{1} << 22U;

}  // namespace

// --- values of slots -------------------------------------------------------------------------------------------------

void System::write(const std::vector<SlotValue>& values) {
  for (const auto& [slot, value] : values) write(slot, value);
}

void System::write(Slot slot, const Value& value) { kernel_->slot_values.values[slot] = in_slot(slot, value); }

double System::in_slot(Slot slot, const Value& value, Kernel& kernel) {
  SlotValues& slots = kernel.slot_values;
  if (const auto* text = std::get_if<std::string>(&value)) return as_double(slots.contents.number(*text));
  if (const auto* integer = std::get_if<std::int64_t>(&value); integer != nullptr && slots.holds_integer[slot])
    return as_double(*integer);
  if (slots.holds_integer[slot]) return as_double(static_cast<std::int64_t>(number(value)));
  return number(value);
}

Value System::read(Slot slot) const {
  const SlotValues& slots = kernel_->slot_values;
  if (!slots.holds_integer[slot]) return slots.values[slot];
  const std::int64_t integer = as_integer(slots.values[slot]);
  if (is_content(plan_.types[slot])) return slots.contents.at(integer);
  return integer;
}

// Deletes texts and bytes that no slot and no past point refers to, once they take much memory.
void System::forget_contents() {
  SlotValues& slots = kernel_->slot_values;
  if (slots.contents.bytes() <= contents_limit_) return;
  std::vector<std::int64_t> needed;
  for (Slot slot = 0; slot < plan_.slots; ++slot) {
    if (!is_content(plan_.types[slot])) continue;
    needed.push_back(as_integer(slots.values[slot]));
    needed.push_back(as_integer(slots.input_value[slot]));
    for (const History::Point& point : kernel_->history.all()) needed.push_back(as_integer(point.values[slot]));
  }
  std::ranges::sort(needed);
  slots.contents.forget(needed);
  contents_limit_ = slots.contents.bytes() + forget_bytes;
}

// --- variables -------------------------------------------------------------------------------------------------------

const SystemVariable& System::variable(std::size_t reference) const {
  if (reference >= plan_.variables.size())
    throw Refused(Status::error, "no variable has the value reference " + std::to_string(reference));
  return plan_.variables[reference];
}

void System::get(std::size_t reference, std::span<Value> values) {
  const SystemVariable& variable = this->variable(reference);
  if (phase_ == Phase::instantiated) return get_start(reference, values);
  if (variable.causality == "independent") {
    values[0] = now_;
    return;
  }
  settle();
  if (phase_ == Phase::exchange) ode_->continuous->settle();
  if (ode_ != nullptr || event_) kernel_->wires.copy_outer();
  if (!variable.slots.empty()) {
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = read(variable.slots[i]);
  } else if (variable.element && ode_ != nullptr) {
    values[0] = ode_->vector(variable.element->first, now_)[variable.element->second];
  } else if (variable.targets.empty()) {
    throw Refused(Status::error, variable.name + " has no value before the end of initialization mode");
  } else if (variable.causality != "parameter") {
    std::vector<Value> found = get_of_part(variable.targets.at(0).variable);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = variable.targets[0].conversion.carry(std::move(found[i]));
  } else if (variable.targets.size() == 1 && variable.targets[0].own.empty() &&
             variable.targets[0].conversion.changes_nothing()) {
    std::ranges::move(get_of_part(variable.targets[0].variable), values.begin());
  } else {
    std::ranges::copy(as_set(reference), values.begin());
  }
}

// Start values, or values that were set; the parts are not called.
void System::get_start(std::size_t reference, std::span<Value> values) const {
  const SystemVariable& variable = this->variable(reference);
  if (variable.causality == "input")
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = read(variable.slots.at(i));
  else if (variable.causality == "parameter")
    std::ranges::copy(as_set(reference), values.begin());
  else
    throw Refused(Status::error, variable.name + ", of causality " + variable.causality +
                                     ", has no start value; its value is known in initialization mode and later");
}

// The values of a parameter.
const std::vector<Value>& System::as_set(std::size_t reference) const {
  const auto found = std::ranges::find(given_, reference, &GivenValues::value_type::first);
  return found == given_.end() ? variable(reference).starts : found->second;
}

void System::set(std::size_t reference, std::span<const Value> values) {
  const SystemVariable& variable = this->variable(reference);
  const bool may = variable.causality == "input" ||
                   (variable.causality == "parameter" && (variable.tunable || phase_ < Phase::stepping));
  if (!may)
    throw Refused(Status::error, variable.name + ", of causality " + variable.causality + ", cannot be set now");
  const bool at_events = use_.event_mode && phase_ == Phase::stepping && !event_;
  const auto waits = [&] {
    return Refused(Status::error, variable.name + " can be changed in event mode only, since eventModeUsed is true");
  };
  if (at_events && variable.causality == "parameter") throw waits();
  if (!variable.slots.empty()) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double before = kernel_->slot_values.values[variable.slots[i]];
      const double after = in_slot(variable.slots[i], values[i]);
      const bool changes = as_integer(before) != as_integer(after);
      if (changes && at_events && variable.discrete) throw waits();
      kernel_->slot_values.values[variable.slots[i]] = after;
      changed_ |= changes;
      jumps_ |= changes && !goes_on(variable.slots[i], before);
    }
    return;
  }
  std::erase_if(given_, [&](const auto& given) { return given.first == reference; });
  given_.emplace_back(reference, std::vector<Value>(values.begin(), values.end()));
  if (phase_ == Phase::stepping && (ode_ != nullptr || events_ != nullptr))
    tuned_.push_back(given_.back());
  else if (phase_ != Phase::instantiated)
    set_in_parts(variable, values, nullptr);
  changed_ = jumps_ = true;
}

void System::set_in_parts(const SystemVariable& variable, std::span<const Value> values, ArraysBefore* before) {
  for (const Target& target : variable.targets) {
    const auto without_mode = beginnings_.find(target.variable.part);
    std::vector<Value> converted;
    for (std::size_t i = 0; i < target.variable.count(); ++i)
      converted.push_back(target.conversion.carry(values[target.own.empty() ? i : target.own[i]]));
    if (without_mode == beginnings_.end() || phase_ >= Phase::stepping) {
      set_in_part(target.variable, std::move(converted), before);
      continue;
    }
    without_mode->second.given.emplace_back(target.variable,
                                            std::move(converted));  // set before the part is initialized
    without_mode->second.outdated = true;
  }
}

// FMI sets arrays only as a whole. Before initialization mode, the remaining elements cannot be got from the part; they
// are start values, or the values set `before`.
void System::set_in_part(const PartVariable& variable, std::vector<Value> values, ArraysBefore* before) {
  Part& part = *parts_[variable.part];
  const bool alone = ode_ == nullptr && events_ == nullptr;
  if (phase_ == Phase::stepping && (adopts_ || component_ != nullptr || alone)) retuned_.insert(variable.part);
  if (!variable.elements.empty()) {
    std::vector<Value> all;
    if (before != nullptr) {
      const auto known = before->find({variable.part, variable.reference});
      all = known == before->end() ? variable.starts : known->second;
    } else {
      PartVariable whole = variable;
      whole.elements.clear();
      all = part.get(whole);
    }
    for (std::size_t i = 0; i < values.size(); ++i) all.at(variable.elements[i]) = std::move(values[i]);
    values = std::move(all);
  }
  if (before != nullptr) (*before)[{variable.part, variable.reference}] = values;
  part.set(variable, std::move(values));
}

std::vector<Value> System::get_of_part(const PartVariable& variable) {
  std::vector<Value> all = parts_[variable.part]->get(variable);
  if (variable.elements.empty()) return all;
  std::vector<Value> found;
  for (const std::size_t element : variable.elements) found.push_back(all.at(element));
  return found;
}

std::vector<double> System::directional(std::span<const fmi::Reference> unknowns,
                                        std::span<const fmi::Reference> knowns, std::span<const double> seed) {
  settle();
  if (phase_ == Phase::exchange) ode_->continuous->settle();
  std::vector<double> direction(plan_.slots), states(phase_ == Phase::exchange ? this->states() : 0);
  auto next = seed.begin();
  for (const fmi::Reference reference : knowns) {
    const SystemVariable& known = variable(reference);
    if (!states.empty() && known.element && known.element->first == Vector::states)
      states[known.element->second] += *next++;
    else if (known.causality == "input")
      for (const Slot slot : known.slots) direction[slot] += *next++;
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
    for (const Slot slot : unknown.slots) found.push_back(tangents.at(slot));
    if (!unknown.slots.empty()) continue;
    if (phase_ != Phase::exchange || !unknown.element || unknown.element->first != Vector::derivatives)
      throw Refused(Status::error, "derivatives of " + unknown.name + " are not provided");
    found.push_back(slopes[unknown.element->second]);
  }
  return found;
}

}  // namespace ssptool::runtime
