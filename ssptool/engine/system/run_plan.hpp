// The frozen plan of a run: that of the system, and what exported systems do without.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "feedthrough.hpp"
#include "interface_derivatives.hpp"
#include "needed_substeps.hpp"
#include "ode.hpp"
#include "plan.hpp"
#include "rows_beside.hpp"
#include "step_doubling.hpp"
#include "step_energy.hpp"

namespace ssptool::runtime {

struct RunPlan {
  Plan plan;
  std::int64_t steps = 0;  // macro steps, the last of which may be shorter
  SlopeNames slopes{};
  std::optional<RowColumns> columns{};      // of an ODE beside other parts
  int kept_for = 0;                         // starts of an integrator that may use one Jacobian
  std::vector<double> knots{};              // times at which a slope of what drives it jumps [s], ascending
  std::optional<PlannedSizes> doubling{};   // steps of sizes that their errors allow
  std::optional<PlannedSizes> defects{};    // of sizes that the errors of their inputs allow
  std::optional<PlannedEnergy> energy{};    // of sizes that energy residuals allow
  std::vector<DeniedFeedthrough> denied{};  // that parts must not have
  std::vector<SubstepTrial> trials{};       // of parts that do as many substeps as they need
  // Of each iteration, if Newton's method is to know something of it.
  std::vector<PlannedInterface> interfaces{};
};

// Throws as `plan_from`.
RunPlan run_plan_from(const std::string& text);

}  // namespace ssptool::runtime
