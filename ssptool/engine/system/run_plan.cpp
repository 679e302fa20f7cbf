#include "run_plan.hpp"

#include <vector>

#include "plan_reader.hpp"

namespace ssptool::runtime {

RunPlan run_plan_from(const std::string& text) {
  RunPlan found{plan_from(text)};
  read_json(text, [&found](Json json) {
    const Json run = json.at("run");
    found.steps = run.at("steps").between(0, std::int64_t{1} << 53);
    if (!found.plan.ode) return;
    found.kept_for = static_cast<int>(run.at("kept_for").between(0, most_repetitions));
    found.slopes = each(run.at("slopes").sized(found.plan.ode->parts.size()),
                        [](Json names) { return names.get<std::vector<std::string>>(); });
  });
  return found;
}

}  // namespace ssptool::runtime
