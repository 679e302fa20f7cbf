#include "run_plan.hpp"

#include <vector>

#include "plan_reader.hpp"

namespace ssptool::runtime {

namespace {

double not_negative_from(Json json) {
  const double found = finite_from(json);
  json.require(found >= 0.0, "not negative");
  return found;
}

SizeControl control_from(Json json) {
  return {positive_from(json.at("safety")), positive_from(json.at("integral")), positive_from(json.at("proportional")),
          positive_from(json.at("least_factor")), positive_from(json.at("largest_factor"))};
}

PlannedSizes sizes_from(Json json, std::size_t slots) {
  PlannedSizes found{};
  PlannedComparison& compared = found.compared;
  compared.reals = indices(json.at("reals"), slots);
  compared.others = indices(json.at("others"), slots);
  compared.switches = each(json.at("switches"), [slots](Json one) {
    return Switch{indices(one.at("output").sized(1), slots).front(), one.at("acts_back").get<bool>(),
                  indices(one.at("causes"), slots)};
  });
  compared.inputs = indices(json.at("inputs"), slots);
  compared.nominal = each(json.at("nominal").sized(compared.reals.size()),
                          [](Json one) { return one.is_null() ? std::nullopt : std::optional(one.get<double>()); });
  compared.tolerance = positive_from(json.at("tolerance"));
  compared.order = static_cast<int>(json.at("order").between(1, 3));
  compared.share = positive_from(json.at("share"));
  compared.ways = positive_from(json.at("ways"));
  found.largest = not_negative_from(json.at("largest"));  // 0 for a run of zero duration
  found.first = not_negative_from(json.at("first"));
  found.smallest = positive_from(json.at("smallest"));
  found.control = control_from(json);
  return found;
}

PlannedBond bond_from(Json json, std::size_t slots) {
  PlannedBond found{};
  found.nominal = json.at("nominal").get<double>();
  const auto outputs = indices(json.at("outputs").sized(2), slots), inputs = indices(json.at("inputs").sized(2), slots);
  const Json factors = json.at("factors").sized(2), scales = json.at("scales").sized(2);
  for (std::size_t side = 0; side < 2; ++side)
    found.sides[side] = {outputs[side], inputs[side], factors[side].get<double>(), scales[side].get<double>()};
  return found;
}

PlannedEnergy energy_from(Json json, std::size_t slots) {
  PlannedEnergy found{};
  found.bonds = each(json.at("bonds"), [slots](Json one) { return bond_from(one, slots); });
  found.others = indices(json.at("others"), slots);
  found.order = static_cast<int>(json.at("order").between(0, 2));
  found.tolerance = positive_from(json.at("tolerance"));
  found.largest = positive_from(json.at("largest"));
  found.smallest = positive_from(json.at("smallest"));
  found.control = control_from(json);
  return found;
}

PlannedInterfaceMember member_from(Json json, const DenseMatrix& wires, std::size_t parts) {
  const std::size_t states = json.at("states").below(most_of_vector);
  PlannedInterfaceMember found{json.at("part").below(parts),
                               states,
                               indices(json.at("columns"), wires.rows),
                               indices(json.at("rows"), wires.columns),
                               Pattern(0, 0, false),
                               {},
                               {}};
  const std::size_t knowns = states + found.columns.size(), unknowns = states + found.rows.size();
  found.pattern = pattern_from(json.at("pattern").sized(unknowns), knowns);
  found.moves = each(json.at("moves").sized(found.columns.size()), [](Json one) { return one.get<bool>(); });
  if (!json.contains("asks")) return found;
  const Json asks = json.at("asks");
  found.asked = {asks.at("unknowns").sized(unknowns).get<std::vector<fmi::Reference>>(),
                 asks.at("knowns").sized(knowns).get<std::vector<fmi::Reference>>(), asks.at("forward").get<bool>(),
                 asks.at("adjoint").get<bool>()};
  return found;
}

PlannedInterface interface_from(Json json, const IterationCalls& calls, std::size_t parts) {
  const std::size_t size = calls.unknowns.size(), outputs = json.at("outputs").below(most_of_matrix / size);
  PlannedInterface found{pattern_from(json.at("pattern").sized(size), size), DenseMatrix(size, outputs), {}};
  for (const Json wire : json.at("wires"))
    found.wires(wire.sized(3)[0].below(size), wire[1].below(outputs)) = wire[2].get<double>();
  found.members = each(json.at("members"), [&](Json one) { return member_from(one, found.wires, parts); });
  return found;
}

std::vector<PlannedInterface> interfaces_from(Json json, const Plan& plan) {
  std::vector<PlannedInterface> found;
  (void)json.sized(plan.iterations.size());
  for (const IterationCalls& calls : plan.iterations)
    found.push_back(interface_from(json[found.size()], calls, plan.parts.size()));
  return found;
}

RealEnd real_end_from(Json json, std::size_t slots) {
  RealEnd found{json.at("slot").below(slots), json.at("reference").get<fmi::Reference>()};
  found.nominal = json.at("nominal").get<double>();
  if (json.contains("maximum")) found.maximum = json.at("maximum").get<double>();
  return found;
}

DeniedFeedthrough denied_from(Json json, const Plan& plan) {
  DeniedFeedthrough found{json.at("part").below(plan.parts.size()), json.at("saves_state").get<bool>(),
                          json.at("type").get<std::string>()};
  found.outputs = each(json.at("outputs"), [&](Json one) { return DeniedEnd{real_end_from(one, plan.slots)}; });
  found.inputs = each(json.at("inputs"), [&](Json one) {
    return DeniedEnd{real_end_from(one, plan.slots), indices(one.at("outputs"), found.outputs.size())};
  });
  return found;
}

SubstepTrial trial_from(Json json, const Plan& plan) {
  const auto ends = [&](Json several) {
    return each(several, [&](Json one) { return real_end_from(one, plan.slots); });
  };
  return {json.at("part").below(plan.parts.size()), json.at("type").get<std::string>(), ends(json.at("inputs")),
          ends(json.at("outputs"))};
}

}  // namespace

RunPlan run_plan_from(const std::string& text) {
  RunPlan found{plan_from(text)};
  read_json(text, [&found](Json json) {
    const Json run = json.at("run");
    found.steps = run.at("steps").between(0, std::int64_t{1} << 53);
    found.denied = each(run.at("denied"), [&](Json one) { return denied_from(one, found.plan); });
    if (run.contains("trials"))
      found.trials = each(run.at("trials"), [&](Json one) { return trial_from(one, found.plan); });
    if (run.contains("doubling")) found.doubling = sizes_from(run.at("doubling"), found.plan.slots);
    if (run.contains("defects")) found.defects = sizes_from(run.at("defects"), found.plan.slots);
    if (run.contains("energy")) found.energy = energy_from(run.at("energy"), found.plan.slots);
    if (run.contains("interfaces")) found.interfaces = interfaces_from(run.at("interfaces"), found.plan);
    if (!found.plan.ode) return;
    if (!found.plan.ode->alone) {
      const std::size_t width = found.plan.recorded.size();
      found.columns = {indices(run.at("of_ode"), width), indices(run.at("of_points"), width)};
    }
    found.kept_for = static_cast<int>(run.at("kept_for").between(0, most_repetitions));
    found.knots = run.at("knots").get<std::vector<double>>();
    found.slopes = each(run.at("slopes").sized(found.plan.ode->parts.size()),
                        [](Json names) { return names.get<std::vector<std::string>>(); });
  });
  return found;
}

}  // namespace ssptool::runtime
