#include "run_plan.hpp"

#include <vector>

#include "plan_reader.hpp"

namespace ssptool::runtime {

namespace {

PlannedDoubling doubling_from(Json json, std::size_t slots) {
  PlannedDoubling found{};
  PlannedComparison& compared = found.compared;
  compared.reals = indices(json.at("reals"), slots);
  compared.others = indices(json.at("others"), slots);
  compared.nominal = each(json.at("nominal").sized(compared.reals.size()),
                          [](Json one) { return one.is_null() ? std::nullopt : std::optional(one.get<double>()); });
  compared.tolerance = positive_from(json.at("tolerance"));
  compared.order = static_cast<int>(json.at("order").between(1, 3));
  found.largest = finite_from(json.at("largest"));  // 0 for a run without time
  json.at("largest").require(found.largest >= 0.0, "not negative");
  found.safety = positive_from(json.at("safety"));
  found.least_factor = positive_from(json.at("least_factor"));
  found.largest_factor = positive_from(json.at("largest_factor"));
  found.smallest = positive_from(json.at("smallest"));
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
  found.safety = positive_from(json.at("safety"));
  found.integral = positive_from(json.at("integral"));
  found.proportional = positive_from(json.at("proportional"));
  found.least_factor = positive_from(json.at("least_factor"));
  found.largest_factor = positive_from(json.at("largest_factor"));
  found.smallest = positive_from(json.at("smallest"));
  return found;
}

}  // namespace

RunPlan run_plan_from(const std::string& text) {
  RunPlan found{plan_from(text)};
  read_json(text, [&found](Json json) {
    const Json run = json.at("run");
    found.steps = run.at("steps").between(0, std::int64_t{1} << 53);
    if (run.contains("doubling")) found.doubling = doubling_from(run.at("doubling"), found.plan.slots);
    if (run.contains("energy")) found.energy = energy_from(run.at("energy"), found.plan.slots);
    if (!found.plan.ode) return;
    found.kept_for = static_cast<int>(run.at("kept_for").between(0, most_repetitions));
    found.knots = run.at("knots").get<std::vector<double>>();
    found.slopes = each(run.at("slopes").sized(found.plan.ode->parts.size()),
                        [](Json names) { return names.get<std::vector<std::string>>(); });
  });
  return found;
}

}  // namespace ssptool::runtime
