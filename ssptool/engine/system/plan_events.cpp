// Reading a plan: parts in event mode, and model exchange parts.
#include <algorithm>
#include <utility>

#include "plan_reader.hpp"

namespace ssptool::runtime {

namespace {

std::vector<std::vector<std::size_t>> clocks_of(Json variables, std::size_t count, std::size_t clocks) {
  return each(variables.at("clocks").sized(count), [&](Json one) { return indices(one, clocks); });
}

PlannedClock clock_from(Json json) {
  PlannedClock clock{json.at("name").get<std::string>(), json.at("reference").get<fmi::Reference>(),
                     variability_from(json.at("variability"))};
  clock.interval = time_from(json, "interval", 1);
  clock.shift = time_from(json, "shift", 0);
  clock.supports_fraction = json.value("fraction", false);
  clock.tells_interval = json.value("tells_interval", false);
  clock.tells_shift = json.value("tells_shift", false);
  return clock;
}

}  // namespace

Pattern pattern_from(Json json, std::size_t columns) {
  json.require(json.size() <= most_of_matrix / std::max(columns, std::size_t{1}), "of less rows");
  Pattern found(json.size(), columns, false);
  for (std::size_t i = 0; i < found.rows; ++i)
    for (const std::size_t j : indices(json[i], columns)) found.set(i, j);
  return found;
}

ClockPlace clock_place_from(Json json, const PlannedEvents& events) {
  const std::size_t member = json.sized(2)[0].below(events.members.size());
  return {member, json[1].below(events.members[member].clocks.size())};
}

std::optional<Fraction> time_from(Json json, const char* name, std::size_t least) {
  if (!json.contains(name)) return std::nullopt;
  const Json time = json.at(name).sized(2);
  const auto numerator = time[0].get<std::size_t>(), denominator = time[1].get<std::size_t>();
  time.require(numerator >= least && denominator > 0, "a fraction that is possible");
  return Fraction(numerator, denominator);
}

IntervalVariability variability_from(Json json) {
  return static_cast<IntervalVariability>(
      json.one_of({"constant", "fixed", "tunable", "changing", "countdown", "triggered"}));
}

PlannedEventMember PlanReader::event_member(Json json) const {
  PlannedEventMember member;
  member.instance = json.at("part").below(plan.parts.size());
  const PlannedPart& part = plan.parts[member.instance];
  member.name = part.name;
  member.stepped = !part.exchange;
  member.inputs = variables(json.at("inputs"), part.fmi_major);
  member.outputs = variables(json.at("outputs"), part.fmi_major);
  member.clocks = each(json.at("clocks"), clock_from);
  const std::size_t clocks = member.clocks.size();
  member.input_clocks = clocks_of(json.at("inputs"), member.inputs.slots.size(), clocks);
  member.output_clocks = clocks_of(json.at("outputs"), member.outputs.slots.size(), clocks);
  member.timed = json.at("timed").below(clocks + 1);
  member.triggered = json.at("triggered").below(clocks - member.timed + 1);
  member.shown = each(json.at("clocks"), [&](Json clock) {
    if (!clock.contains("slot")) return none;
    const Slot slot = clock.at("slot").below(plan.slots);
    clock.at("slot").require(contents_[slot] == Content::integer, "a slot of an integer");
    return slot;
  });
  return member;
}

PlannedEventSteps PlanReader::event_steps(Json json) const {
  PlannedEventSteps found;
  found.samples = json.at("samples").get<bool>();
  found.rolls_back = json.value("rolls_back", false);
  found.independent_steps = json.value("independent_steps", false);
  found.together = json.value("together", false);
  found.with_ode = json.value("with_ode", false);
  found.nominal = json.at("nominal").sized(plan.slots).get<std::vector<double>>();
  found.starts = slot_values(json.at("starts"));
  PlannedEvents& events = found.events;
  events.single = json.at("single").get<bool>();
  events.inputs = slots(json.at("inputs"));
  events.signals = plan.signals;
  for (const std::string& type : plan.types) events.unsigned_values.push_back(type == "UInt64");
  events.members = each(json.at("members"), [&](Json one) { return event_member(one); });
  events.wires = wires(json.at("wires"));
  for (const Json one : json.at("clock_wires")) {
    const ClockPlace source = clock_place_from(one.sized(2)[0], events);
    events.clock_wires[source].push_back(clock_place_from(one[1], events));
  }
  return found;
}

// What other sections depend on: the model exchange parts, each once, and whether there are other parts.
void PlanReader::read_ode_parts(Json json) {
  members_ = plan.parts.size();
  std::size_t integrated = 0;
  for (const PlannedPart& part : plan.parts) integrated += part.exchange.has_value();
  if (integrated == 0 && !json.contains("ode")) return;
  PlannedOde& ode = plan.ode.emplace();
  const Json parts = json.at("ode").at("parts");
  std::vector<bool> there(members_);
  for (const Json one : parts.sized(integrated)) {
    const Index part = one.below(members_);
    one.require(plan.parts[part].exchange && !there[part], "a part of model exchange, each once");
    there[part] = true;
    states_ += plan.parts[part].exchange->states;
    indicators_ += plan.parts[part].exchange->indicators;
    ode.parts.push_back(part);
  }
  parts.require(states_ < most_of_vector && indicators_ < most_of_vector, "of less states and indicators");
  ode.alone = json.at("ode").at("alone").get<bool>();
  json.at("ode").at("alone").require(ode.alone == (integrated == members_), "true without other parts, else false");
  members_ += !ode.alone;
}

// The events of an ODE are those of the system if it is alone; otherwise it has its own.
void PlanReader::read_ode(Json json) {
  PlannedOde& ode = *plan.ode;
  ode.whole = schedule(json.at("whole"));
  ode.slopes = schedule(json.at("slopes"));
  ode.inputs = slots(json.at("inputs"));
  for (const Json slot : json.at("inputs")) slot.require(is_number(contents_[slot.get<Slot>()]), "a slot of a number");
  if (!ode.alone) {
    ode.wires = wires(json.at("wires"));
    ode.events = event_steps(json.at("events"));
    ode.event_signals = slots(json.at("event_signals"));
    ode.event_sources = slots(json.at("event_sources"));
    ode.ends_steps = json.value("ends_steps", false);
  } else {
    json.require(plan.at_events.has_value(), "beside at_events");
  }
  ode.rtol = positive_from(json.at("rtol"));
  ode.solver = static_cast<SolverKind>(json.at("solver").one_of({"dormand-prince", "rosenbrock"}));
  ode.retreats = json.value("retreats", false);
  // Runs may choose another solver, which also needs the Jacobian.
  if (ode.solver == SolverKind::rosenbrock || json.contains("jacobian")) ode.jacobian = jacobian(json.at("jacobian"));
}

PlannedOdeJacobian PlanReader::jacobian(Json json) const {
  PlannedOdeJacobian found;
  found.directional = json.at("directional").get<bool>();
  found.relative_step = positive_from(json.at("relative_step"));
  const std::size_t inputs = json.at("inputs").below(most_of_vector),
                    outputs = json.at("outputs").below(most_of_vector);
  json.require(states_ + outputs <= most_of_matrix / std::max(states_ + inputs, std::size_t{1}), "a smaller matrix");
  if (const Json pattern = json.at("pattern"); !pattern.is_null())
    found.pattern = pattern_from(pattern.sized(states_), states_);
  found.wires = DenseMatrix(inputs, outputs);
  for (const Json wire : json.at("wires"))
    found.wires(wire.sized(3)[0].below(inputs), wire[1].below(outputs)) = wire[2].get<double>();
  found.parts = each(json.at("parts"), [&](Json one) { return ode_part(one, found.wires); });
  if (found.directional) (void)json.at("parts").sized(plan.ode->parts.size());
  return found;
}

// Rows and columns count all elements; references are those of whole arrays.
OdePart PlanReader::ode_part(Json json, const DenseMatrix& wires) const {
  const auto unknowns = list<fmi::Reference>(json, "unknowns"), knowns = list<fmi::Reference>(json, "knowns");
  const auto rows = indices(json.at("rows").at_least(unknowns.size()), states_ + wires.columns);
  const auto columns = indices(json.at("columns").at_least(knowns.size()), states_ + wires.rows);
  return {unknowns, knowns, rows, columns, pattern_from(json.at("pattern").sized(rows.size()), columns.size())};
}

}  // namespace ssptool::runtime
