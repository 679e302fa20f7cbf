// The frozen plan of a run: the plan of the system, and data that exported systems do not need.
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
  std::optional<RowColumns> columns{};      // for an ODE with other parts
  int kept_for = 0;                         // number of integrator starts that may use one Jacobian
  std::vector<double> knots{};              // times at which the slope of a driving signal jumps [s], ascending
  std::optional<PlannedSizes> doubling{};   // for step sizes from error estimates
  std::optional<PlannedSizes> defects{};    // for step sizes from errors of inputs
  std::optional<PlannedEnergy> energy{};    // for step sizes from energy residuals
  std::vector<DeniedFeedthrough> denied{};  // to be checked at the first point
  std::vector<SubstepTrial> trials{};       // parts whose number of substeps is to be found
  // By iteration; empty if Newton's method has no derivatives of interfaces.
  std::vector<PlannedInterface> interfaces{};
};

// Throws as `plan_from`.
RunPlan run_plan_from(const std::string& text);

}  // namespace ssptool::runtime
