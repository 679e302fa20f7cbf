// The model exchange parts of an exported system as one ODE: with their events, and integrated internally or evaluated
// for an importer that integrates.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "../kernel/core/ode_component.hpp"
#include "../kernel/core/ode_jacobian.hpp"
#include "continuous.hpp"
#include "part.hpp"

namespace ssptool::runtime {

// Names of state derivatives, by part; empty if they are not known.
using SlopeNames = std::vector<std::vector<std::string>>;

// The model exchange parts.
[[nodiscard]] std::vector<ContinuousModel> models_of(const std::vector<std::unique_ptr<Part>>&, const PlannedOde&,
                                                     const SlopeNames& = {});

// Checks that the sizes are those in the model description, because importers rely on it.
void check_sizes(const std::vector<std::unique_ptr<Part>>&, const PlannedOde&, const OdeSystem&);

// All functions throw IntegrationStopped, or CallRefused.
class RunningOde {
 public:
  // `schedules` and `members` are those of the kernel. The parts are initialized and in event mode.
  RunningOde(Kernel&, std::vector<ContinuousModel>, const Plan&, OdeSystem::Schedules schedules, EventMembers& members,
             OdeSystem::Explain, OdeSystem::Rescue = {});

  OdeSystem system;
  std::optional<OdeJacobian> jacobian;  // for internal integration by a solver that needs it
  OdeEvents events;
  // One of these two exists, depending on the importer.
  std::unique_ptr<ContinuousSystem> continuous;
  std::unique_ptr<Integration> integration;

  void be_continuous();
  void be_integrated(std::optional<PlannedOdeJacobian>, std::unique_ptr<OdeSolver>, const IntegrationSettings&);

  [[nodiscard]] std::vector<double> vector(Vector, double t);
};

// The values that an ODE exchanges with the other parts.
[[nodiscard]] OdeExchange exchange_of(const Plan&);

}  // namespace ssptool::runtime
