// Reading a plan: schedules, algebraic loops and macro steps.
#include <utility>

#include "plan_reader.hpp"

namespace ssptool::runtime {

namespace {

IterateRule rule_from(Json json, std::size_t unknowns) {
  IterateRule rule;
  rule.kind = static_cast<RuleKind>(json.at("kind").one_of({"relaxation", "aitken", "secants", "anderson", "newton"}));
  rule.factor = json.at("factor").get<double>();
  rule.reuse = json.at("reuse").between(0, most_repetitions);
  rule.filter = json.at("filter").get<double>();
  const auto most = static_cast<std::int64_t>(most_of_vector / unknowns);
  rule.max_columns = json.at("max_columns").between(rule.kind == RuleKind::secants, most);
  rule.window = json.at("window").between(rule.kind == RuleKind::anderson, most);
  return rule;
}

MeasureLimit measure_from(Json json) {
  const auto kind = static_cast<MeasureKind>(json.at("kind").one_of({"absolute", "relative", "residual_relative"}));
  return {kind, positive_from(json.at("limit"))};
}

}  // namespace

std::vector<Slot> PlanReader::slots_of(Json array, const std::vector<Index>& owners, Index part) const {
  return each(array, [&](Json item) {
    const Slot slot = item.below(plan.slots);
    item.require(owners[slot] == part, &owners == &takes_ ? "an input of the part" : "an output of the part");
    return slot;
  });
}

Call PlanReader::call(Json json) const {
  const Index part = json.at("part").below(members_);
  return {part, slots_of(json.at("set"), takes_, part), slots_of(json.at("get"), gives_, part)};
}

Schedule PlanReader::schedule(Json array) const {
  return each(array, [&](Json step) -> ScheduleStep {
    if (step.contains("loop")) return step.at("loop").below(plan.loops.size());
    return call(step);
  });
}

PlannedLoop PlanReader::loop(Json json) const {
  PlannedLoop found;
  LoopCalls& calls = found.calls;
  calls.torn = slots(json.at("torn"));
  calls.frozen = slots(json.at("frozen"));
  for (const auto& [name, of_reals] : {std::pair{"torn", true}, std::pair{"frozen", false}})
    for (const Json slot : json.at(name))
      slot.require((contents_[slot.get<Slot>()] == Content::real) == of_reals,
                   of_reals ? "a slot of a real number" : "a slot of no real number");
  const std::size_t size = calls.torn.size();
  found.names = json.at("names").sized(size).get<std::vector<std::string>>();
  calls.body = each(json.at("body"), [&](Json one) { return call(one); });
  calls.nominal = json.at("nominal").sized(size).get<std::vector<double>>();
  for (const auto& [name, bounds] : {std::pair{"minimum", &calls.minimum}, std::pair{"maximum", &calls.maximum}})
    if (*bounds = list<double>(json, name); !bounds->empty()) (void)json.at(name).sized(size);
  calls.rtol = json.at("rtol").get<double>();
  calls.atol = json.at("atol").get<double>();
  calls.max_iterations = json.at("max_iterations").between(1, most_repetitions);
  calls.pattern = each(json.at("pattern"), [&](Json pair) {
    return std::pair<Index, Index>(pair.sized(2)[0].below(size), pair[1].below(size));
  });
  calls.directional = json.at("directional").get<bool>();
  calls.rounding = json.at("rounding").get<double>();
  return found;
}

IterationCalls PlanReader::iteration(Json json) const {
  IterationCalls calls{};
  const std::size_t groups = plan.groups.size();
  calls.group = json.at("group").below(groups);
  calls.following = json.at("following").below(groups);
  calls.held = json.at("held").below(groups);
  calls.schedule = json.at("schedule").below(plan.schedules.size());
  calls.unknowns = slots(json.at("unknowns").at_least(1));
  for (const Json slot : json.at("unknowns"))
    slot.require(contents_[slot.get<Slot>()] == Content::real, "a slot of a real number");
  calls.nominal = json.at("nominal").sized(calls.unknowns.size()).get<std::vector<double>>();
  calls.order = static_cast<int>(json.at("order").between(0, 2));
  calls.prediction = static_cast<int>(json.at("prediction").between(0, 2));
  calls.measures = each(json.at("measures").at_least(1), measure_from);
  calls.count = json.at("count").between(0, most_repetitions);
  calls.rule = rule_from(json.at("rule"), calls.unknowns.size());
  calls.plain_iterations = json.at("plain_iterations").between(1, most_repetitions);
  calls.max_iterations = json.at("max_iterations").between(1, most_repetitions);
  calls.retreats = json.at("retreats").get<bool>();
  calls.newton = json.value("newton", false);
  calls.damps = json.value("damps", false);
  calls.held_inputs = static_cast<HeldInputs>(json.at("held_inputs").one_of({"end", "mean", "mid_step", "tried"}));
  return calls;
}

Instruction PlanReader::instruction(Json json) const {
  const auto op = static_cast<Op>(json.sized(3)[0].below(static_cast<std::size_t>(Op::mid_step) + 1));
  const int order = static_cast<int>(json[2].between(0, 2));
  switch (op) {
    case Op::accept:
    case Op::record:
    case Op::drive:
    case Op::ask: return {op, json[1].get<Index>(), order};
    case Op::evaluate: return {op, json[1].below(plan.schedules.size()), order};
    case Op::iterate: return {op, json[1].below(plan.iterations.size()), order};
    default: return {op, json[1].below(plan.groups.size()), order};
  }
}

// A system that consists only of an ODE has neither iterations nor a program.
void PlanReader::read_stepping(Json json) {
  plan.groups = each(json.at("groups"), [&](Json group) {
    std::vector<bool> there(members_);
    return each(group, [&](Json item) {
      const Index member = item.below(members_);
      item.require(!there[member], "another part than those before");
      there[member] = true;
      return member;
    });
  });
  plan.schedules = each(json.at("schedules"), [&](Json one) { return schedule(one); });
  plan.everyone = json.at("everyone").below(plan.groups.size());
  plan.everything = json.at("everything").below(plan.schedules.size());
  if (plan.ode && plan.ode->alone) return;
  plan.iterations = each(json.at("iterations"), [&](Json one) { return iteration(one); });
  plan.program = each(json.at("program"), [&](Json one) { return instruction(one); });
}

}  // namespace ssptool::runtime
