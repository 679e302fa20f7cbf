// A system whose parts of model exchange are one ODE, which is integrated inside or by the importer.
#include <algorithm>
#include <cmath>

#include "system.hpp"

namespace ssptool::runtime {

void System::make_ode(OdeSystem::Schedules schedules) {
  ode_ = std::make_unique<RunningOde>(*kernel_, parts_, plan_, schedules, experiment_.start,
                                      [this](const Outcome& outcome, double t) { return stopped(outcome, t); });
  if (kind_ == Kind::model_exchange) {
    ode_->be_continuous(now_);
    return;
  }
  IntegrationSettings settings;
  settings.solver = solver_kind(plan_.ode->solver);
  settings.rtol = experiment_.tolerance.value_or(plan_.ode->rtol);
  settings.start = experiment_.start;
  settings.stop = experiment_.stop.value_or(HUGE_VAL);
  settings.macro_step = plan_.step;
  ode_->be_integrated(settings);
}

// From initialized parts, which are in event mode.
void System::begin_ode() {
  if (ode_->continuous != nullptr) {
    ode_->continuous->begin(now_);
    return;
  }
  ode_->integration->begin();
  ode_->integration->cross_at_start();
}

// An integrator goes beyond a communication point only if nothing can happen there.
void System::integrate(double end) {
  Integration& integration = *ode_->integration;
  const double limit = is_driven() ? end : std::max(end, experiment_.stop.value_or(HUGE_VAL));
  while (!integration.advance(end, limit)) {
  }
  now_ = end;
}

bool System::is_driven() const noexcept {
  return std::ranges::any_of(plan_.variables, [](const SystemVariable& variable) {
    return variable.causality == "input" || variable.tunable;
  });
}

// What was set acts at this instant.
void System::jump_of_ode() {
  Integration& integration = *ode_->integration;
  const std::vector<double> before = ode_->system.indicators_here(now_);
  if (integration.time() > now_ && !is_at(integration.time())) integration.go_to(integration.position(now_));
  if (tuned_.empty()) {
    integration.restart(now_, before);
    ode_->system.settle(now_);
    return;
  }
  integration.intervene([this] {
    for (const auto& [reference, value] : tuned_) set_in_parts(plan_.variables[reference], value);
  });
  tuned_.clear();
}

void System::set_time(double t) {
  now_ = t;
  ode_->continuous->set_time(t);
}

std::size_t System::states() const noexcept {
  std::size_t found = 0;
  for (const auto& part : parts_) found += part->plan().exchange ? part->plan().exchange->states : 0;
  return found;
}

std::size_t System::indicators() const noexcept {
  std::size_t found = 0;
  for (const auto& part : parts_) found += part->plan().exchange ? part->plan().exchange->indicators : 0;
  return found;
}

IntegrationStopped System::stopped(const Outcome& outcome, double t) const {
  const Ending ending = outcome.code == Code::nonfinite ? Ending::nonfinite
                        : outcome.code == Code::loop    ? Ending::loop
                                                        : Ending::fmi;
  const bool discarded = outcome.code == Code::fmi && outcome.fmi_status == fmi::discard;
  const std::string component =
      outcome.instance < 0 ? std::string() : parts_[static_cast<std::size_t>(outcome.instance)]->plan().name;
  return {ending, explain(outcome, t), "try other start values and parameters", t, component, discarded};
}

}  // namespace ssptool::runtime
