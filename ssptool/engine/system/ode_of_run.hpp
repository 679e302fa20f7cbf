// An ODE that a run integrates with the solver of its choice; exported systems do not contain this.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ode.hpp"

namespace ssptool::runtime {

// A remark for the report on the run: another solver has continued from t [s] for this reason, or the directional
// derivatives of a component were wrong, in the Jacobian or in an algebraic loop.
struct IntegrationRemark {
  enum class What { retreat, wrong_derivatives, wrong_derivatives_in_loop } what;
  double t = 0.0;
  std::string reason{};
};

// Settings of the integration in a run, and its results.
struct OdeOfRun {
  std::function<std::unique_ptr<OdeSolver>(OdeProblem&, OdeSize, double rtol)> make_solver;
  OdeSystem::Explain explain;
  // Describes the refusal of a function by a part at a time [s].
  std::function<IntegrationStopped(const CallRefused&, double t)> refused;
  SlopeNames slopes;
  int kept_for = 0;  // number of integrator starts that may use the same Jacobian
  // Only for a system that consists of an ODE: times [s], ascending, at which the slope of a driving signal jumps; and
  // a Sample of functions. If the latter cannot give a value, an evaluation or jump at the time `now` [s] throws the
  // reason.
  std::vector<double> knots{};
  std::function<void(double t, double begin, double end, double now)> sample{};

  std::unique_ptr<OdeStimuli> stimuli{};
  RescueWork rescues{};  // for loops that needed more robust methods
  std::vector<IntegrationRemark> remarks{};
};

// Time and recorded signals at t [s]; the point becomes part of the history. Throws IntegrationStopped.
[[nodiscard]] std::vector<double> row_of(Kernel&, Index everyone, double t, const OdeSystem::Explain&);

}  // namespace ssptool::runtime
