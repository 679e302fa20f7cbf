// An ODE that a run integrates, by a solver of its own choice; exported systems do without.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ode.hpp"

namespace ssptool::runtime {

// Something that happened during an integration, for the report on the run: another solver has gone on from t [s], for
// this reason; derivatives of a component were wrong, in the Jacobian or in an algebraic loop.
struct IntegrationRemark {
  enum class What { retreat, wrong_derivatives, wrong_derivatives_in_loop } what;
  double t = 0.0;
  std::string reason{};
};

// How a run integrates, and what becomes of it.
struct OdeOfRun {
  std::function<std::unique_ptr<OdeSolver>(OdeProblem&, OdeSize, double rtol)> make_solver;
  OdeSystem::Explain explain;
  // What a function means that a part has refused at a time [s].
  std::function<IntegrationStopped(const CallRefused&, double t)> refused;
  SlopeNames slopes;
  int kept_for = 0;  // starts of the integrator that may use one Jacobian
  // Where it is alone: times at which a slope of what drives it jumps [s], ascending; and a Sample of functions that
  // throws why it is without success, in an evaluation or jump at the time `now` [s].
  std::vector<double> knots{};
  std::function<void(double t, double begin, double end, double now)> sample{};

  std::unique_ptr<OdeStimuli> stimuli{};
  RescueWork rescues{};  // of loops that needed better methods
  std::vector<IntegrationRemark> remarks{};
};

// Time and recorded signals, as they are at t [s]; the point is part of the history. Throws IntegrationStopped.
[[nodiscard]] std::vector<double> row_of(Kernel&, Index everyone, double t, const OdeSystem::Explain&);

}  // namespace ssptool::runtime
