// The parts of model exchange of an exported system as one ODE at work: with their events, and either integrated inside
// or evaluated for an importer that integrates.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "../kernel/core/ode_component.hpp"
#include "../kernel/core/ode_jacobian.hpp"
#include "continuous.hpp"
#include "part.hpp"

namespace ssptool::runtime {

// Names of state derivatives, by part; none where they are not known.
using SlopeNames = std::vector<std::vector<std::string>>;

// The parts of model exchange.
[[nodiscard]] std::vector<ContinuousModel> models_of(const std::vector<std::unique_ptr<Part>>&, const PlannedOde&,
                                                     const SlopeNames& = {});

// What the model description says of the sizes must be so, because importers rely on it.
void check_sizes(const std::vector<std::unique_ptr<Part>>&, const PlannedOde&, const OdeSystem&);

// All functions throw IntegrationStopped, or CallRefused.
class RunningOde {
 public:
  // `schedules` and `members` are those of the kernel. The parts are initialized, and in event mode.
  RunningOde(Kernel&, std::vector<ContinuousModel>, const Plan&, OdeSystem::Schedules schedules, EventMembers& members,
             OdeSystem::Explain, OdeSystem::Rescue = {});

  OdeSystem system;
  std::optional<OdeJacobian> jacobian;  // where it is integrated inside by a solver that asks for it
  OdeEvents events;
  // One of them, as the importer wants it.
  std::unique_ptr<ContinuousSystem> continuous;
  std::unique_ptr<Integration> integration;

  void be_continuous();
  void be_integrated(std::optional<PlannedOdeJacobian>, std::unique_ptr<OdeSolver>, const IntegrationSettings&);

  [[nodiscard]] std::vector<double> vector(Vector, double t);
};

// What an ODE exchanges with the other parts.
[[nodiscard]] OdeExchange exchange_of(const Plan&);

}  // namespace ssptool::runtime
