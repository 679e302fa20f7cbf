#include "events.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace ssptool {

namespace {

// Relative change below which a signal counts as unchanged; algebraic loops are solved to this tolerance.
constexpr double settled = 1e-12;
// The same if there are algebraic loops of Float32: their gains amplify rounding.
constexpr double single_settled = 1e-4;

std::vector<Timer> timers_of(const PlannedEvents& plan) {
  std::vector<Timer> found;
  for (std::size_t i = 0; i < plan.members.size(); ++i)
    for (std::size_t k = 0; k < plan.members[i].timed; ++k) found.push_back({i, &plan.members[i].clocks[k]});
  return found;
}

struct IntegerRange {
  const char* name;
  std::int64_t lowest, highest;
};

// None if all 64 bits are allowed.
std::optional<IntegerRange> range_of(Type type) {
  switch (type) {
    case Type::int8: return IntegerRange{"Int8", INT8_MIN, INT8_MAX};
    case Type::uint8: return IntegerRange{"UInt8", 0, UINT8_MAX};
    case Type::int16: return IntegerRange{"Int16", INT16_MIN, INT16_MAX};
    case Type::uint16: return IntegerRange{"UInt16", 0, UINT16_MAX};
    case Type::int32: return IntegerRange{"Int32", INT32_MIN, INT32_MAX};
    case Type::uint32: return IntegerRange{"UInt32", 0, UINT32_MAX};
    default: return std::nullopt;
  }
}

std::string decimal(Natural number) {
  std::string digits;
  while (!number.zero()) {
    auto [quotient, rest] = number.over(Natural(10));
    digits.insert(digits.begin(), static_cast<char>('0' + rest.low()));
    number = std::move(quotient);
  }
  return digits.empty() ? "0" : digits;
}

// Absolute value of a signed 64-bit integer.
Natural size_of(std::int64_t number) {
  const auto bits = static_cast<std::uint64_t>(number);
  return Natural(number < 0 ? 0 - bits : bits);
}

// A signed or unsigned 64-bit integer; conversions report values that do not fit.
struct Integer {
  std::int64_t bits;
  std::string unfit = {};
};

Integer overridden(Integer value, const SlotOverride& by, bool without_sign) {
  if (by.kind != SlotOverride::Kind::bias) return {by.of_integer(value.bits), value.unfit};
  const std::int64_t sum = by.of_integer(value.bits), bias = as_integer(by.value);
  if (without_sign) {
    const auto before = static_cast<std::uint64_t>(value.bits), after = static_cast<std::uint64_t>(sum);
    if (bias >= 0 && after < before) return {sum, decimal(Natural(before) + size_of(bias))};
    if (bias < 0 && after > before) return {sum, "-" + decimal(size_of(bias) - Natural(before))};
    return {sum, value.unfit};
  }
  const bool over = (value.bits < 0) == (bias < 0) && (sum < 0) != (bias < 0);
  if (over) return {sum, (bias < 0 ? "-" : "") + decimal(size_of(value.bits) + size_of(bias))};
  return {sum, value.unfit};
}

const char* name_of(Type type) {
  if (const auto range = range_of(type)) return range->name;
  return type == Type::uint64 ? "UInt64" : "Int64";
}

std::string joined(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  return all;
}

// Range of the elements of the array of this variable, or of the variable alone: first and end.
std::pair<std::size_t, std::size_t> whole(const Variables& variables, std::size_t rank) {
  std::size_t first = rank, end = rank + 1;
  while (variables.elements[first] > 0) --first;
  while (end < variables.slots.size() && variables.elements[end] > 0) ++end;
  return {first, end};
}

// The variables of these ranks; arrays are complete.
Variables chosen(const Variables& variables, const std::vector<std::size_t>& ranks) {
  Variables found;
  std::set<std::size_t> there;
  for (const std::size_t rank : ranks) {
    const auto [first, end] = whole(variables, rank);
    if (!there.insert(first).second) continue;
    for (std::size_t i = first; i < end; ++i) {
      found.slots.push_back(variables.slots[i]);
      found.references.push_back(variables.references[i]);
      found.types.push_back(variables.types[i]);
      found.elements.push_back(variables.elements[i]);
    }
  }
  return found;
}

}  // namespace

EventMembers::EventMembers(SlotValues& slot_values, Members& members, PlannedEvents plan,
                           const std::vector<FunctionTable>& functions)
    : clock_schedule(0.0, {}),
      next_times(plan.members.size(), std::numeric_limits<double>::infinity()),
      slot_values_(slot_values),
      members_(members),
      plan_(std::move(plan)),
      active_(plan_.members.size()) {
  check_size(functions.size(), plan_.members.size(), "the list of function tables");
  check_size(plan_.signals.size(), slot_values.size(), "the list of signals");
  check_size(plan_.unsigned_values.size(), slot_values.size(), "the list of unsigned slots");
  clock_schedule = ClockSchedule(plan_.start, timers_of(plan_));
  for (std::size_t i = 0; i < plan_.members.size(); ++i) {
    const PlannedEventMember& member = plan_.members[i];
    check_index(member.instance, members.size(), "instance");
    check_arrays(member);
    modes_.emplace_back(member.name, functions[i], members.instance(member.instance).reals.component());
  }
  for (Wire& wire : plan_.wires) {
    wire.from_integer = slot_values.holds_integer.at(wire.source);
    wire.to_integer = slot_values.holds_integer.at(wire.destination);
    wires_[wire.destination] = wire;
  }
}

// FMI sets and gets arrays only as a whole.
void EventMembers::check_arrays(const PlannedEventMember& member) const {
  check_size(member.shown.size(), member.clocks.size(), "the list of slots of clocks");
  for (const Variables* variables : {&member.inputs, &member.outputs})
    for (std::size_t i = 0; i < variables->slots.size(); ++i) {
      slot_values_.check(variables->slots[i]);
      const std::size_t element = variables->elements[i];
      if (element > 0 && (i == 0 || variables->elements[i - 1] + 1 != element))
        throw std::invalid_argument("the elements of an array of " + member.name + " are not together");
    }
}

double EventMembers::next_time() const {
  double first = clock_schedule.next_time();
  for (const double time : next_times) first = std::min(first, time);
  return first;
}

void EventMembers::override_wire(Slot destination, const SlotOverride& at_source, const SlotOverride& at_destination) {
  const auto wire = wires_.find(destination);
  if (wire == wires_.end())
    throw std::invalid_argument("no wire ends at slot " + std::to_string(destination) + " at events");
  wire->second.at_source = at_source;
  wire->second.at_destination = at_destination;
}

// --- event mode ------------------------------------------------------------------------------------------------------

std::vector<Slot> EventMembers::propagate_at_start(double t) {
  std::vector<Slot> changed;
  for (const PlannedEventMember& member : plan_.members) {
    std::vector<std::size_t> moved;
    for (std::size_t i = 0; i < member.inputs.slots.size(); ++i)
      if (member.input_clocks[i].empty() && take(member, i, t)) moved.push_back(i);
    set(member, moved, t);
    for (const std::size_t i : moved) changed.push_back(member.inputs.slots[i]);
  }
  return changed;
}

void EventMembers::enter() const {
  for (std::size_t i = 0; i < modes_.size(); ++i)
    if (plan_.members[i].stepped) modes_[i].enter();
}

void EventMembers::leave() const {
  for (std::size_t i = 0; i < modes_.size(); ++i)
    if (plan_.members[i].stepped) modes_[i].leave();
}

std::vector<Updated> EventMembers::update(double t) {
  std::vector<Updated> found;
  for (std::size_t i = 0; i < modes_.size(); ++i) {
    if (!plan_.members[i].stepped) continue;
    const std::string& name = modes_[i].name();
    const DiscreteUpdate update = modes_[i].update();
    members_.leave_mode(plan_.members[i].instance);
    if (update.terminate) throw ended_by(name, t);
    next_times[i] = update.next_time;
    found.push_back({name, update.again});
  }
  return found;
}

bool EventMembers::pending() const {
  for (const PlannedEventMember& member : plan_.members)
    for (std::size_t i = 0; i < member.inputs.slots.size(); ++i)
      if (member.input_clocks[i].empty() && delivered_to(member, i)) return true;
  return false;
}

bool EventMembers::is_active(std::size_t member, const std::vector<std::size_t>& clocks) const {
  return std::ranges::any_of(clocks, [&](std::size_t clock) { return active_[member].contains(clock); });
}

std::vector<Slot> EventMembers::propagate(double t, const std::vector<ClockPlace>& fresh) {
  std::vector<Slot> changed;
  for (std::size_t k = 0; k < plan_.members.size(); ++k) {
    const PlannedEventMember& member = plan_.members[k];
    std::vector<std::size_t> own, first;
    for (std::size_t i = 0; i < member.inputs.slots.size(); ++i) {
      const std::vector<std::size_t>& clocks = member.input_clocks[i];
      if (!clocks.empty() && !is_active(k, clocks)) continue;
      const auto is_fresh = [&](std::size_t clock) {
        return std::ranges::find(fresh, ClockPlace{k, clock}) != fresh.end();
      };
      if (take(member, i, t)) {
        own.push_back(i);
        changed.push_back(member.inputs.slots[i]);
      } else if (std::ranges::any_of(clocks, is_fresh)) {
        first.push_back(i);
      }
    }
    own.insert(own.end(), first.begin(), first.end());
    set(member, own, t);
  }
  return changed;
}

std::vector<Slot> EventMembers::collect() {
  std::vector<Slot> changed;
  for (std::size_t k = 0; k < plan_.members.size(); ++k) {
    const PlannedEventMember& member = plan_.members[k];
    std::vector<std::size_t> ticking;
    std::vector<double> before;
    for (std::size_t i = 0; i < member.outputs.slots.size(); ++i)
      if (is_active(k, member.output_clocks[i])) {
        ticking.push_back(i);
        before.push_back(slot_values_.values[member.outputs.slots[i]]);
      }
    get(member, ticking);
    for (std::size_t i = 0; i < ticking.size(); ++i) {
      const Slot slot = member.outputs.slots[ticking[i]];
      if (as_integer(slot_values_.values[slot]) != as_integer(before[i])) changed.push_back(slot);
    }
  }
  return changed;
}

std::vector<ClockPlace> EventMembers::tick(const std::vector<ClockPlace>& clocks) {
  std::vector<ClockPlace> fresh;
  for (const ClockPlace& place : clocks)
    if (!active_[place.member].contains(place.clock) && std::ranges::find(fresh, place) == fresh.end())
      fresh.push_back(place);
  for (std::size_t k = 0; k < plan_.members.size(); ++k) {
    std::vector<const PlannedClock*> own;
    for (const ClockPlace& place : fresh)
      if (place.member == k) own.push_back(&plan_.members[k].clocks[place.clock]);
    if (!own.empty()) modes_[k].tick(own);
  }
  for (const ClockPlace& place : fresh) active_[place.member].insert(place.clock);
  ticked_.insert(fresh.begin(), fresh.end());
  return fresh;
}

std::vector<ClockPlace> EventMembers::listen() {
  std::vector<ClockPlace> found;
  for (std::size_t k = 0; k < plan_.members.size(); ++k) {
    const PlannedEventMember& member = plan_.members[k];
    std::vector<const PlannedClock*> waiting;
    std::vector<std::size_t> places;
    for (std::size_t clock = member.timed + member.triggered; clock < member.clocks.size(); ++clock)
      if (!active_[k].contains(clock)) {
        waiting.push_back(&member.clocks[clock]);
        places.push_back(clock);
      }
    if (waiting.empty()) continue;
    const std::vector<bool> ticking = modes_[k].ticking(waiting);
    for (std::size_t i = 0; i < places.size(); ++i)
      if (ticking[i]) {
        active_[k].insert(places[i]);
        found.push_back({k, places[i]});
      }
  }
  ticked_.insert(found.begin(), found.end());
  return found;
}

std::vector<ClockPlace> EventMembers::triggered_by(const std::vector<ClockPlace>& clocks) const {
  std::vector<ClockPlace> found;
  for (const ClockPlace& clock : clocks)
    if (const auto wires = plan_.clock_wires.find(clock); wires != plan_.clock_wires.end())
      found.insert(found.end(), wires->second.begin(), wires->second.end());
  return found;
}

void EventMembers::show_ticks() {
  for (const ClockPlace& place : ticked_)
    if (const std::size_t slot = plan_.members[place.member].shown[place.clock]; slot != none)
      slot_values_.values[slot] = as_double(1);
}

void EventMembers::hide_ticks() {
  bool any = false;
  for (const PlannedEventMember& member : plan_.members)
    for (const std::size_t slot : member.shown)
      if (slot != none) {
        slot_values_.values[slot] = as_double(0);
        any = true;
      }
  if (any) ticked_.clear();
}

void EventMembers::rest() noexcept {
  for (auto& active : active_) active.clear();
}

std::vector<ClockPlace> EventMembers::active() const {
  std::vector<ClockPlace> all;
  for (std::size_t k = 0; k < active_.size(); ++k)
    for (const std::size_t clock : active_[k]) all.push_back({k, clock});
  return all;
}

void EventMembers::set_active(const std::vector<ClockPlace>& clocks) {
  rest();
  for (const ClockPlace& place : clocks) active_.at(place.member).insert(place.clock);
}

std::vector<std::string> EventMembers::ticking() const {
  std::vector<std::string> all;
  for (std::size_t k = 0; k < plan_.members.size(); ++k) {
    std::vector<std::string> own;
    for (const std::size_t clock : active_[k])
      own.push_back(plan_.members[k].name + "." + plan_.members[k].clocks[clock].name);
    std::ranges::sort(own);
    all.insert(all.end(), own.begin(), own.end());
  }
  return all;
}

// --- values ----------------------------------------------------------------------------------------------------------

EventMembers::Carried EventMembers::carried(const Wire& wire, Type type) const {
  const double value = slot_values_.values[wire.source];
  if (!wire.from_integer) {
    const double moved = delivered(wire.factor, wire.offset, wire.at_source.of_double(value));
    return {wire.at_destination.of_double(moved)};
  }
  Integer integer = overridden({as_integer(value)}, wire.at_source, plan_.unsigned_values[wire.source]);
  if (const auto entry = wire.table.find(integer.bits); entry != wire.table.end()) integer = {entry->second};
  if (!wire.to_integer) {
    const double moved = delivered(wire.factor, wire.offset, static_cast<double>(integer.bits));
    return {wire.at_destination.of_double(moved)};
  }
  integer = overridden(integer, wire.at_destination, plan_.unsigned_values[wire.destination]);
  if (const auto range = range_of(type);
      range && integer.unfit.empty() && (integer.bits < range->lowest || integer.bits > range->highest))
    integer.unfit = std::to_string(integer.bits);
  return {as_double(integer.bits), integer.unfit};
}

std::optional<EventMembers::Carried> EventMembers::delivered_to(const PlannedEventMember& member,
                                                                std::size_t input) const {
  const Slot slot = member.inputs.slots[input];
  const auto wire = wires_.find(slot);
  if (wire == wires_.end()) return std::nullopt;
  Carried found = carried(wire->second, member.inputs.types[input]);
  const double before = slot_values_.values[slot];
  const bool same = found.unfit.empty() &&
                    (wire->second.to_integer ? as_integer(found.value) == as_integer(before) : found.value == before);
  return same ? std::nullopt : std::optional(std::move(found));
}

// Returns whether the value has changed.
bool EventMembers::take(const PlannedEventMember& member, std::size_t input, double t) {
  const auto found = delivered_to(member, input);
  if (!found) return false;
  const Slot slot = member.inputs.slots[input];
  if (!found->unfit.empty())
    throw IntegrationStopped(Ending::fmi,
                             "component " + member.name + ": " + plan_.signals[slot] + " cannot be " + found->unfit +
                                 ", because it is of type " + name_of(member.inputs.types[input]),
                             "reduce the bias in the scenario", t, member.name);
  slot_values_.values[slot] = found->value;
  return true;
}

void EventMembers::set(const PlannedEventMember& member, const std::vector<std::size_t>& inputs, double t) {
  if (inputs.empty()) return;
  Instance& instance = members_.instance(member.instance);
  const auto check = [&](const Failure& failure) {
    if (failure) throw CallRefused(member.name, failure.function, failure.status);
  };
  const Variables variables = chosen(member.inputs, inputs);
  if (const Variables floats = of_type(variables, Type::float64); !floats.slots.empty()) {
    std::vector<double> values;
    for (const Slot slot : floats.slots) values.push_back(slot_values_.values[slot]);
    check(checked(instance.set_function(), instance.reals.set(floats.distinct(), values)));
  }
  for (Typed& typed : by_type(variables)) {
    if (const auto unfit = typed.pack(slot_values_.values.data(), slot_values_.contents))
      throw IntegrationStopped(Ending::fmi,
                               "component " + member.name + ": " + plan_.signals[typed.slots[*unfit]] + " cannot be " +
                                   std::to_string(as_integer(slot_values_.values[typed.slots[*unfit]])) + ", because " +
                                   instance.set_function(typed.type) + " does not accept this value",
                               "connect signals of the same type, or map the values on the connection", t, member.name);
    check(instance.set(typed));
  }
}

void EventMembers::get(const PlannedEventMember& member, const std::vector<std::size_t>& outputs) {
  if (outputs.empty()) return;
  Instance& instance = members_.instance(member.instance);
  const auto check = [&](const Failure& failure) {
    if (failure) throw CallRefused(member.name, failure.function, failure.status);
  };
  const Variables variables = chosen(member.outputs, outputs);
  if (const Variables floats = of_type(variables, Type::float64); !floats.slots.empty()) {
    std::vector<double> values(floats.slots.size());
    check(checked(instance.get_function(), instance.reals.get(floats.distinct(), values)));
    for (std::size_t i = 0; i < values.size(); ++i) slot_values_.values[floats.slots[i]] = values[i];
  }
  for (Typed& typed : by_type(variables)) {
    check(instance.get(typed));
    typed.unpack(slot_values_.values.data(), slot_values_.contents);  // finite or not
  }
}

// --- event iteration -------------------------------------------------------------------------------------------------

EventIteration::EventIteration(EventMembers& running, std::span<const double> nominal, Evaluate evaluate, Update update)
    : running_(running), nominal_(nominal), evaluate_(std::move(evaluate)), update_(std::move(update)) {
  check_size(nominal.size(), running.slot_values().size(), "the list of nominal values");
}

bool EventIteration::settle(double t, double until) {
  begin(until);
  bool changed = false;
  EventRound round;
  for (int i = 0; i < max_event_iterations; ++i) {
    changed |= exchange(t);
    round = update(t);
    changed |= round.changed;
    if (round.settled) return changed;
  }
  throw endless(t, round.again, round.ticking);
}

void EventIteration::begin(double until) {
  const ClockSchedule& clocks = running_.clock_schedule;
  open = {{}, clocks.due(until)};
  for (const std::size_t number : open.ticked) {
    const Timer& timer = clocks.timers()[number];
    const PlannedClock* const first = running_.plan().members[timer.member].clocks.data();
    open.waiting.push_back({timer.member, static_cast<std::size_t>(timer.clock - first)});
  }
}

void EventIteration::trigger(const std::vector<ClockPlace>& clocks) {
  open.waiting.insert(open.waiting.end(), clocks.begin(), clocks.end());
}

bool EventIteration::exchange(double t) {
  std::vector<ClockPlace> waiting = std::exchange(open.waiting, {});
  bool moved = false;
  std::vector<Slot> changed;
  for (int i = 0; i < max_event_iterations; ++i) {
    std::vector<ClockPlace> fresh = running_.tick(waiting);
    evaluate_(t);
    changed = running_.propagate(t, fresh);
    const std::vector<Slot> got = running_.collect();
    changed.insert(changed.end(), got.begin(), got.end());
    const std::vector<ClockPlace> heard = running_.listen();
    const bool ticks = !fresh.empty() || !heard.empty();
    fresh.insert(fresh.end(), heard.begin(), heard.end());
    waiting = running_.triggered_by(fresh);
    if (!ticks && changed.empty() && waiting.empty()) return moved;
    moved = true;
  }
  std::vector<std::string> names;
  for (const Slot slot : changed) names.push_back(running_.plan().signals[slot]);
  throw endless(t, {}, running_.ticking(), names);
}

EventRound EventIteration::update(double t) {
  EventRound found;
  const std::vector<double> before = running_.slot_values().values;
  found.ticking = running_.ticking();
  for (const Updated& one : update_(t))
    if (one.again) found.again.push_back(one.component);
  running_.clock_schedule.after(t, std::exchange(open.ticked, {}), running_.modes());
  running_.rest();
  evaluate_(t);
  found.changed = !found.again.empty() || moved(before);
  // The outputs of an FMU must not cause another iteration of the same FMU, which may count its events.
  const auto& inputs = running_.plan().inputs;
  const bool fed = std::ranges::any_of(inputs, [&](Slot slot) { return moved(before, slot); });
  found.settled = found.again.empty() && !fed && !running_.pending();
  return found;
}

bool EventIteration::moved(std::span<const double> before) const {
  for (Slot slot = 0; slot < before.size(); ++slot)
    if (moved(before, slot)) return true;
  return false;
}

bool EventIteration::moved(std::span<const double> before, Slot slot) const {
  const SlotValues& slots = running_.slot_values();
  const double now = slots.values[slot], old = before[slot];
  if (slots.holds_integer[slot]) return as_integer(now) != as_integer(old);
  const double allowed = (running_.plan().single ? single_settled : settled) * std::max(std::abs(old), nominal_[slot]);
  return !(std::abs(now - old) <= allowed);
}

IntegrationStopped endless(double t, const std::vector<std::string>& again, const std::vector<std::string>& ticking,
                           const std::vector<std::string>& moving) {
  std::string what = moving.empty() ? "signals still change" : "signals still change: " + joined(moving);
  if (!again.empty()) what = joined(again) + " still need" + (again.size() == 1 ? "s" : "") + " new discrete states";
  if (!ticking.empty()) what += "; clocks that tick: " + joined(ticking);
  return {
      Ending::events,
      "the event iteration does not converge: after " + std::to_string(max_event_iterations) + " iterations " + what,
      "look for clocks and discrete equations that drive each other around a loop of connections", t,
      again.empty() ? "" : again.front()};
}

}  // namespace ssptool
