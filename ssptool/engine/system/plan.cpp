#include "plan.hpp"

#include <cmath>
#include <stdexcept>

#include "files.hpp"
#include "plan_reader.hpp"

namespace ssptool::runtime {

namespace {

// Maximum number of steps in the interval of the system.
constexpr double most_steps = 1e12;

void read_times(Json json, Plan& plan) {
  plan.start = finite_from(json.at("start"));
  plan.stop = finite_from(json.at("stop"));
  plan.step = positive_from(json.at("step"));
  plan.open_end = json.contains("open_end");
  const bool passes = plan.start + plan.step > plan.start && (plan.stop - plan.start) / plan.step <= most_steps;
  json.at("step").require(passes, "larger for times from start to stop");
}

}  // namespace

PlanReader::PlanReader(Json json) {
  if (const int version = json.at("version").get<int>(); version != plan_version)
    json.at("version").refuse(std::to_string(plan_version) + ", which is what this runtime reads");
  plan.name = json.at("name").get<std::string>();
  plan.token = json.at("token").get<std::string>();
  (void)json.at("interface").one_of({"cs", "me", "both"});
  plan.interface = json.at("interface").get<std::string>();
  read_times(json, plan);
  read_signals(json);
  for (const Json one : json.at("parts")) plan.parts.push_back(part(one));
  read_ode_parts(json);
  plan.wires = wires(json.at("wires"));
  if (json.contains("shown_wires")) plan.shown_wires = wires(json.at("shown_wires"));
  if (json.contains("recorded")) plan.recorded = slots(json.at("recorded"));
  if (json.contains("demands")) plan.demands = each(json.at("demands"), [&](Json one) { return demand(one); });
  read_tables(json.at("tables"));
  plan.driven = each(json.at("driven"), [&](Json one) { return driven(one); });
  plan.constants = slot_values(json.at("constants"));
  plan.guesses = slot_values(json.at("guesses"));
  plan.cut = slots(json.at("cut"));
  plan.init = static_cast<LoopMethod>(
      json.at("init").one_of({"auto", "newton", "aitken", "anderson", "fixed-point", "homotopy"}));
  plan.loops = each(json.at("loops"), [&](Json one) { return loop(one); });
  plan.initialization = schedule(json.at("initialization"));
  plan.first_point = each(json.at("first_point").at_least(1), [&](Json one) { return schedule(one); });
  for (const Json step : json.at("first_point")[0]) step.require(!step.contains("loop"), "a call");
  if (json.contains("at_events")) plan.at_events = event_steps(json.at("at_events"));
  read_stepping(json.at("stepping"));
  if (plan.ode) read_ode(json.at("ode"));
  plan.variables = each(json.at("variables"), [&](Json one) { return variable(one); });
  plan.parameter_wires = each(json.at("parameter_wires"), [&](Json one) { return parameter_wire(one); });
}

// Members that several objects have in common.

std::vector<std::size_t> indices(Json array, std::size_t limit) {
  return each(array, [&](Json item) { return item.below(limit); });
}

double finite_from(Json json) {
  const auto number = json.get<double>();
  json.require(std::isfinite(number), "finite");
  return number;
}

double positive_from(Json json) {
  const double number = finite_from(json);
  json.require(number > 0.0, "positive");
  return number;
}

Value Conversion::carry(Value value) const {
  if (auto* real = std::get_if<double>(&value)) {
    if (!changes_nothing()) *real = factor * *real + offset;
  } else if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    if (const auto found = table.find(*integer); found != table.end()) return found->second;
  }
  return value;
}

Plan plan_from(const std::string& text) {
  Plan plan;
  read_json(text, [&plan](Json json) { plan = std::move(PlanReader(json).plan); });
  return plan;
}

std::vector<VariableSet> starts_from(const std::string& text, int fmi_major) {
  std::vector<VariableSet> starts;
  read_json(text, [&](Json json) { starts = each(json, [&](Json set) { return valued_set(set, fmi_major); }); });
  return starts;
}

Plan read_plan(const std::string& file) {
  try {
    return plan_from(content_of(file));
  } catch (const JsonError& error) {
    throw std::runtime_error(file + " is not a plan: " + error.what() + "; export the system again");
  }
}

}  // namespace ssptool::runtime
