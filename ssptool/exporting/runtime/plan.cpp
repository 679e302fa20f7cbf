#include "plan.hpp"

#include <cmath>
#include <map>
#include <stdexcept>

#include "files.hpp"
#include "json.hpp"

namespace ssptool::runtime {

namespace {

std::string bytes_from(const std::string& digits) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2)
    bytes += static_cast<char>(std::stoi(digits.substr(i, 2), nullptr, 16));
  return bytes;
}

bool is_real(const std::string& type) { return type == "Real" || type.rfind("Float", 0) == 0; }

Value value_from(Json json, const std::string& type) {
  if (is_real(type)) return json.get<double>();
  if (json.is_string()) return json.get<std::string>();
  if (json.is_object()) return bytes_from(json.at("hex").get<std::string>());
  if (json.is_boolean()) return static_cast<std::int64_t>(json.get<bool>());
  if (json.is_integer()) return json.get<std::int64_t>();
  return json.get<double>();
}

template <class T>
std::vector<T> list(Json json, const char* name) {
  return json.contains(name) ? json.at(name).get<std::vector<T>>() : std::vector<T>{};
}

std::vector<Value> values_from(Json json, const char* name, const std::string& type) {
  std::vector<Value> found;
  if (json.contains(name))
    for (const Json item : json.at(name)) found.push_back(value_from(item, type));
  return found;
}

template <class T, class Read>
std::vector<T> each(Json json, const char* name, const Read& read) {
  std::vector<T> found;
  if (json.contains(name))
    for (const Json item : json.at(name)) found.push_back(read(item));
  return found;
}

Variables variables_from(Json json, int fmi_major) {
  Variables found;
  found.slots = list<Slot>(json, "slots");
  found.references = list<fmi::Reference>(json, "references");
  found.elements = list<std::size_t>(json, "elements");
  if (found.elements.empty()) found.elements.resize(found.slots.size());
  for (const auto& name : list<std::string>(json, "types")) {
    const auto type = machine_type(name, fmi_major);
    if (!type)
      throw std::runtime_error("the plan has a variable of type " + name + ", which this runtime does not know");
    found.types.push_back(*type);
  }
  return found;
}

VariableSet set_from(Json json) {
  const auto type = json.at("type").get<std::string>();
  return {type, list<fmi::Reference>(json, "references"), values_from(json, "values", type), list<Slot>(json, "slots")};
}

PlannedExchange exchange_from(Json json) {
  return {json.at("states").get<std::size_t>(),      json.at("indicators").get<std::size_t>(),
          json.at("reports_steps").get<bool>(),      json.at("saves_state").get<bool>(),
          list<fmi::Reference>(json, "derivatives"), list<fmi::Reference>(json, "known_states")};
}

std::vector<SlotValue> slot_values_from(Json json, const char* name, const std::vector<std::string>& types) {
  return each<SlotValue>(json, name, [&types](Json one) {
    const auto slot = one.at("slot").get<Slot>();
    return SlotValue(slot, value_from(one.at("value"), types.at(slot)));
  });
}

// Of a part without an initialization mode.
void read_beginning(Json json, const std::vector<std::string>& types, PlannedPart& part) {
  part.input_sets = each<VariableSet>(json, "inputs", set_from);
  part.stated = slot_values_from(json, "stated", types);
  const auto nominal = list<double>(json, "nominal");
  for (std::size_t i = 0; i < nominal.size(); ++i) part.nominal[part.inputs.slots.at(i)] = nominal[i];
}

PlannedPart part_from(Json json, const std::vector<std::string>& types) {
  PlannedPart part;
  part.name = json.at("name").get<std::string>();
  part.folder = json.at("folder").get<std::string>();
  part.identifier = json.at("identifier").get<std::string>();
  part.token = json.at("token").get<std::string>();
  part.fmi_major = json.at("fmi").get<int>();
  part.inputs = variables_from(json.at("inputs"), part.fmi_major);
  part.outputs = variables_from(json.at("outputs"), part.fmi_major);
  if (json.contains("substeps")) {
    const Json substeps = json.at("substeps");
    part.substeps = {substeps.at("count").get<std::int64_t>(), substeps.at("follows").get<bool>(),
                     list<Slot>(substeps, "moving"), list<Slot>(substeps, "held")};
  }
  part.structure = each<VariableSet>(json, "structure", set_from);
  part.starts = each<VariableSet>(json, "starts", set_from);
  part.guesses = each<VariableSet>(json, "guesses", set_from);
  part.moving = list<fmi::Reference>(json, "moving");
  if (json.contains("exchange")) part.exchange = exchange_from(json.at("exchange"));
  part.event_mode = json.value("event_mode", false);
  part.returns_early = json.value("returns_early", false);
  if (!part.has_mode()) read_beginning(json.at("beginning"), types, part);
  return part;
}

std::int64_t integer_from(Json json) { return std::get<std::int64_t>(value_from(json, "")); }

Conversion conversion_from(Json json) {
  Conversion found{json.value("factor", 1.0), json.value("offset", 0.0), {}};
  if (json.contains("table"))
    for (const Json pair : json.at("table")) found.table[integer_from(pair[0])] = integer_from(pair[1]);
  return found;
}

Wire wire_from(Json json) {
  const Conversion conversion = conversion_from(json);
  Wire wire{json.at("from").get<Slot>(), json.at("to").get<Slot>(), conversion.factor, -0.0, {}};
  // To add −0.0 changes nothing; to add 0.0 changes the sign of a zero.
  if (conversion.offset != 0.0) wire.offset = conversion.offset;
  wire.table.insert(conversion.table.begin(), conversion.table.end());
  return wire;
}

Call call_from(Json json) { return {json.at("part").get<Index>(), list<Slot>(json, "set"), list<Slot>(json, "get")}; }

ScheduleStep step_from(Json json) {
  if (json.contains("loop")) return json.at("loop").get<Index>();
  return call_from(json);
}

Schedule schedule_from(Json json) {
  Schedule found;
  for (const Json step : json) found.push_back(step_from(step));
  return found;
}

// By row, which of so many columns it has.
Pattern pattern_from(Json json, std::size_t columns) {
  Pattern found(json.size(), columns, false);
  for (std::size_t i = 0; i < found.rows; ++i)
    for (const Json j : json[i]) found.set(i, j.get<std::size_t>());
  return found;
}

OdePart ode_part_from(Json json) {
  return {list<fmi::Reference>(json, "unknowns"), list<fmi::Reference>(json, "knowns"), list<std::size_t>(json, "rows"),
          list<std::size_t>(json, "columns"), pattern_from(json.at("pattern"), json.at("columns").size())};
}

PlannedOdeJacobian jacobian_from(Json json) {
  PlannedOdeJacobian found;
  found.directional = json.at("directional").get<bool>();
  found.relative_step = json.at("relative_step").get<double>();
  if (const Json pattern = json.at("pattern"); !pattern.is_null())
    found.pattern = pattern_from(pattern, pattern.size());
  found.parts = each<OdePart>(json, "parts", ode_part_from);
  found.wires = DenseMatrix(json.at("inputs").get<std::size_t>(), json.at("outputs").get<std::size_t>());
  for (const Json wire : json.at("wires"))
    found.wires(wire[0].get<std::size_t>(), wire[1].get<std::size_t>()) = wire[2].get<double>();
  return found;
}

PlannedLoop loop_from(Json json) {
  PlannedLoop loop;
  loop.names = list<std::string>(json, "names");
  LoopCalls& calls = loop.calls;
  calls.torn = list<Slot>(json, "torn");
  calls.frozen = list<Slot>(json, "frozen");
  calls.body = each<Call>(json, "body", call_from);
  calls.nominal = list<double>(json, "nominal");
  calls.rtol = json.at("rtol").get<double>();
  calls.atol = json.at("atol").get<double>();
  calls.max_iterations = json.at("max_iterations").get<std::int64_t>();
  calls.minimum = list<double>(json, "minimum");
  calls.maximum = list<double>(json, "maximum");
  calls.pattern = list<std::pair<Index, Index>>(json, "pattern");
  calls.directional = json.at("directional").get<bool>();
  calls.rounding = json.at("rounding").get<double>();
  return loop;
}

IterateRule rule_from(Json json) {
  const std::map<std::string, RuleKind> kinds{{"relaxation", RuleKind::relaxation},
                                              {"aitken", RuleKind::aitken},
                                              {"secants", RuleKind::secants},
                                              {"anderson", RuleKind::anderson}};
  IterateRule rule;
  rule.kind = kinds.at(json.at("kind").get<std::string>());
  rule.factor = json.at("factor").get<double>();
  rule.reuse = json.at("reuse").get<std::int64_t>();
  rule.filter = json.at("filter").get<double>();
  rule.max_columns = json.at("max_columns").get<std::int64_t>();
  rule.window = json.at("window").get<std::int64_t>();
  return rule;
}

MeasureLimit measure_from(Json json) {
  const std::map<std::string, MeasureKind> kinds{{"absolute", MeasureKind::absolute},
                                                 {"relative", MeasureKind::relative},
                                                 {"residual_relative", MeasureKind::residual_relative}};
  return {kinds.at(json.at("kind").get<std::string>()), json.at("limit").get<double>()};
}

IterationCalls iteration_from(Json json) {
  IterationCalls calls{};
  calls.group = json.at("group").get<Index>();
  calls.following = json.at("following").get<Index>();
  calls.held = json.at("held").get<Index>();
  calls.schedule = json.at("schedule").get<Index>();
  calls.unknowns = list<Slot>(json, "unknowns");
  calls.nominal = list<double>(json, "nominal");
  calls.order = json.at("order").get<int>();
  calls.prediction = json.at("prediction").get<int>();
  calls.measures = each<MeasureLimit>(json, "measures", measure_from);
  calls.count = json.at("count").get<std::int64_t>();
  calls.rule = rule_from(json.at("rule"));
  calls.plain_iterations = json.at("plain_iterations").get<std::int64_t>();
  calls.max_iterations = json.at("max_iterations").get<std::int64_t>();
  calls.retreats = json.at("retreats").get<bool>();
  return calls;
}

PlannedTables tables_from(Json json, const std::vector<std::string>& types) {
  const auto column = [&types](Json one) {
    const auto slot = one.at("slot").get<Slot>();
    return PlannedColumn{slot, one.at("axis").get<std::size_t>(), values_from(one, "values", types.at(slot)),
                         one.at("linear").get<bool>()};
  };
  return {list<std::vector<double>>(json, "axes"), each<PlannedColumn>(json, "columns", column),
          list<std::pair<double, double>>(json, "jumps")};
}

DrivenInput driven_from(Json json) {
  const std::map<std::string, DrivenInput::Run> runs{{"held", DrivenInput::Run::held},
                                                     {"following", DrivenInput::Run::following},
                                                     {"middle", DrivenInput::Run::middle}};
  return {json.at("slot").get<Slot>(), runs.at(json.at("runs").get<std::string>())};
}

Instruction instruction_from(Json json) {
  return {static_cast<Op>(json[0].get<int>()), json[1].get<Index>(), json[2].get<int>()};
}

PartVariable part_variable_from(Json json) {
  const auto type = json.at("type").get<std::string>();
  return {json.at("part").get<Index>(),
          json.at("reference").get<fmi::Reference>(),
          type,
          json.value("size", std::size_t{1}),
          list<std::size_t>(json, "elements"),
          values_from(json, "starts", type)};
}

Target target_from(Json json) {
  return {part_variable_from(json), conversion_from(json), list<std::size_t>(json, "own")};
}

ParameterWire parameter_wire_from(Json json) {
  ParameterWire wire{
      part_variable_from(json.at("from")), part_variable_from(json.at("to")),         conversion_from(json),
      json.value("tunable", false),        json.at("destination").get<std::string>(), {}};
  if (json.contains("slot")) wire.slot = json.at("slot").get<Slot>();
  return wire;
}

std::optional<Fraction> time_from(Json json, const char* name) {
  if (!json.contains(name)) return std::nullopt;
  return Fraction(json.at(name)[0].get<std::size_t>(), json.at(name)[1].get<std::size_t>());
}

ClockPlace clock_place_from(Json json) { return {json[0].get<std::size_t>(), json[1].get<std::size_t>()}; }

SystemClock system_clock_from(Json json) {
  SystemClock clock{interval_variability(json.at("variability").get<std::string>()),
                    time_from(json, "interval"),
                    time_from(json, "shift"),
                    each<ClockPlace>(json, "triggers", clock_place_from),
                    {}};
  if (json.contains("source")) clock.source = clock_place_from(json.at("source"));
  return clock;
}

SystemVariable variable_from(Json json) {
  SystemVariable variable;
  variable.name = json.at("name").get<std::string>();
  variable.type = json.at("type").get<std::string>();
  variable.causality = json.at("causality").get<std::string>();
  variable.tunable = json.value("tunable", false);
  variable.discrete = json.value("discrete", false);
  for (const auto& [name, vector] : {std::pair{"state", Vector::states}, std::pair{"derivative", Vector::derivatives},
                                     std::pair{"indicator", Vector::indicators}})
    if (json.contains(name)) variable.element = {vector, json.at(name).get<std::size_t>()};
  variable.size = json.value("size", std::size_t{1});
  variable.slots = list<Slot>(json, "slots");
  variable.targets = each<Target>(json, "targets", target_from);
  variable.starts = values_from(json, "starts", variable.type);
  if (json.contains("clock")) variable.clock = system_clock_from(json.at("clock"));
  return variable;
}

PlannedClock clock_from(Json json) {
  PlannedClock clock{json.at("name").get<std::string>(), json.at("reference").get<fmi::Reference>(),
                     interval_variability(json.at("variability").get<std::string>())};
  clock.interval = time_from(json, "interval");
  clock.shift = time_from(json, "shift");
  clock.supports_fraction = json.value("fraction", false);
  clock.tells_interval = json.value("tells_interval", false);
  clock.tells_shift = json.value("tells_shift", false);
  return clock;
}

PlannedEventMember event_member_from(Json json, const std::vector<PlannedPart>& parts) {
  PlannedEventMember member;
  member.instance = json.at("part").get<Index>();
  member.name = parts.at(member.instance).name;
  const int fmi_major = parts[member.instance].fmi_major;
  member.inputs = variables_from(json.at("inputs"), fmi_major);
  member.outputs = variables_from(json.at("outputs"), fmi_major);
  member.input_clocks = list<std::vector<std::size_t>>(json.at("inputs"), "clocks");
  member.output_clocks = list<std::vector<std::size_t>>(json.at("outputs"), "clocks");
  member.clocks = each<PlannedClock>(json, "clocks", clock_from);
  member.stepped = !parts[member.instance].exchange;
  member.timed = json.at("timed").get<std::size_t>();
  member.triggered = json.at("triggered").get<std::size_t>();
  for (const Json clock : json.at("clocks")) member.shown.push_back(clock.value("slot", none));
  return member;
}

PlannedEventSteps at_events_from(Json json, const Plan& plan) {
  PlannedEventSteps found;
  found.samples = json.at("samples").get<bool>();
  found.rolls_back = json.value("rolls_back", false);
  found.independent_steps = json.value("independent_steps", false);
  found.together = json.value("together", false);
  found.with_ode = json.value("with_ode", false);
  found.nominal = list<double>(json, "nominal");
  found.starts = slot_values_from(json, "starts", plan.types);
  PlannedEvents& events = found.events;
  events.single = json.at("single").get<bool>();
  events.inputs = list<Slot>(json, "inputs");
  events.signals = plan.signals;
  for (const std::string& type : plan.types) events.unsigned_values.push_back(type == "UInt64");
  for (const Json member : json.at("members")) events.members.push_back(event_member_from(member, plan.parts));
  events.wires = each<Wire>(json, "wires", wire_from);
  for (const Json wire : json.at("clock_wires"))
    events.clock_wires[clock_place_from(wire[0])].push_back(clock_place_from(wire[1]));
  return found;
}

PlannedOde ode_from(Json json, const Plan& plan) {
  PlannedOde ode;
  ode.parts = list<Index>(json, "parts");
  ode.alone = json.at("alone").get<bool>();
  ode.whole = schedule_from(json.at("whole"));
  ode.slopes = schedule_from(json.at("slopes"));
  ode.inputs = list<Slot>(json, "inputs");
  ode.wires = each<Wire>(json, "wires", wire_from);
  if (json.contains("events")) {
    ode.events = at_events_from(json.at("events"), plan);
    ode.event_signals = list<Slot>(json, "event_signals");
    ode.event_sources = list<Slot>(json, "event_sources");
  }
  ode.rtol = json.at("rtol").get<double>();
  ode.solver = json.at("solver").get<std::string>();
  ode.retreats = json.value("retreats", false);
  if (json.contains("jacobian")) ode.jacobian = jacobian_from(json.at("jacobian"));
  return ode;
}

void read_stepping(Json json, Plan& plan) {
  plan.groups = list<std::vector<Index>>(json, "groups");
  plan.schedules = each<Schedule>(json, "schedules", schedule_from);
  plan.iterations = each<IterationCalls>(json, "iterations", iteration_from);
  plan.everyone = json.at("everyone").get<Index>();
  plan.everything = json.at("everything").get<Index>();
  plan.program = each<Instruction>(json, "program", instruction_from);
}

Plan plan_from(Json json) {
  if (const int version = json.at("version").get<int>(); version != plan_version)
    throw std::runtime_error("the plan is of version " + std::to_string(version) + ", this runtime reads version " +
                             std::to_string(plan_version));
  Plan plan;
  plan.name = json.at("name").get<std::string>();
  plan.token = json.at("token").get<std::string>();
  plan.interface = json.at("interface").get<std::string>();
  plan.start = json.at("start").get<double>();
  plan.stop = json.at("stop").get<double>();
  plan.step = json.at("step").get<double>();
  plan.goes_back = json.at("goes_back").get<bool>();
  plan.signals = list<std::string>(json, "signals");
  plan.types = list<std::string>(json, "types");
  plan.slots = plan.signals.size();
  plan.integers = list<Slot>(json, "integers");
  plan.parts = each<PlannedPart>(json, "parts", [&plan](Json part) { return part_from(part, plan.types); });
  plan.wires = each<Wire>(json, "wires", wire_from);
  plan.tables = tables_from(json.at("tables"), plan.types);
  plan.driven = each<DrivenInput>(json, "driven", driven_from);
  plan.constants = slot_values_from(json, "constants", plan.types);
  plan.guesses = slot_values_from(json, "guesses", plan.types);
  plan.cut = list<Slot>(json, "cut");
  plan.init = json.at("init").get<std::string>();
  plan.loops = each<PlannedLoop>(json, "loops", loop_from);
  plan.initialization = schedule_from(json.at("initialization"));
  plan.first_point = each<Schedule>(json, "first_point", schedule_from);
  plan.variables = each<SystemVariable>(json, "variables", variable_from);
  plan.parameter_wires = each<ParameterWire>(json, "parameter_wires", parameter_wire_from);
  if (json.contains("at_events")) plan.at_events = at_events_from(json.at("at_events"), plan);
  read_stepping(json.at("stepping"), plan);
  if (json.contains("ode")) plan.ode = ode_from(json.at("ode"), plan);
  return plan;
}

}  // namespace

Value Conversion::carry(Value value) const {
  if (auto* real = std::get_if<double>(&value)) {
    if (!changes_nothing()) *real = factor * *real + offset;
  } else if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    if (const auto found = table.find(*integer); found != table.end()) return found->second;
  }
  return value;
}

Plan read_plan(const std::string& file) {
  Plan plan;
  try {
    read_json(content_of(file), [&plan](Json json) { plan = plan_from(json); });
  } catch (const JsonError& error) {
    throw std::runtime_error(file + " is no plan: " + error.what());
  }
  return plan;
}

}  // namespace ssptool::runtime
