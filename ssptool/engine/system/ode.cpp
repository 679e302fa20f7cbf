#include "ode.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

namespace ssptool::runtime {

std::vector<ContinuousModel> models_of(const std::vector<std::unique_ptr<Part>>& parts, const PlannedOde& plan,
                                       const SlopeNames& slopes) {
  std::vector<ContinuousModel> found;
  for (const Index number : plan.parts) {
    const Part& part = *parts.at(number);
    const PlannedExchange& exchange = part.plan().exchange.value();
    found.emplace_back(ContinuousModel::Facts{part.plan().name, part.plan().fmi_major, exchange.states,
                                              exchange.indicators, exchange.reports_steps,
                                              slopes.empty() ? std::vector<std::string>() : slopes.at(found.size()),
                                              plan.jacobian && plan.jacobian->directional, exchange.saves_state},
                       part.functions(), part.component());
  }
  return found;
}

void check_sizes(const std::vector<std::unique_ptr<Part>>& parts, const PlannedOde& plan, const OdeSystem& system) {
  for (std::size_t i = 0; i < plan.parts.size(); ++i) {
    const PlannedPart& part = parts.at(plan.parts[i])->plan();
    const ContinuousModel& model = system.models()[i];
    if (model.states() == part.exchange->states && model.indicators() == part.exchange->indicators) continue;
    throw Refused(Status::error, "component " + part.name + " has " + std::to_string(model.states()) + " states and " +
                                     std::to_string(model.indicators()) + " event indicators, but had " +
                                     std::to_string(part.exchange->states) + " and " +
                                     std::to_string(part.exchange->indicators) + " when the system was exported");
  }
}

RunningOde::RunningOde(Kernel& kernel, std::vector<ContinuousModel> models, const Plan& plan,
                       OdeSystem::Schedules schedules, EventMembers& members, OdeSystem::Explain explain,
                       OdeSystem::Rescue rescue)
    : system(kernel, std::move(models), plan.ode->parts, schedules, plan.ode->inputs, std::move(explain),
             std::move(rescue)),
      events(system, members, plan.events_of_ode().nominal) {}

void RunningOde::be_continuous() {
  continuous = std::make_unique<ContinuousSystem>(system, [this](double t) {
    // Importers know the time of every event exactly: no event is close to another one.
    const EventOutcome found = events.iterate(t, 0.0);
    return DiscreteUpdate{false, false, found.nominals_changed, found.states_changed, found.next_time};
  });
}

void RunningOde::be_integrated(std::optional<PlannedOdeJacobian> way, std::unique_ptr<OdeSolver> solver,
                               const IntegrationSettings& settings) {
  if (way) system.jacobian_of = &jacobian.emplace(system, std::move(*way));
  integration = std::make_unique<Integration>(system, events, std::move(solver), settings);
}

std::vector<double> RunningOde::vector(Vector kind, double t) {
  std::vector<double> found(std::max(system.size(), system.indicator_count()));
  bool whole = true;
  switch (kind) {
    case Vector::states: system.read_states(t, found.data()); break;
    case Vector::derivatives: whole = system.present_slopes(t, found.data()); break;
    case Vector::indicators: whole = system.present_indicators(t, found.data()); break;
  }
  if (!whole) throw IntegrationStopped(*system.last_failure);
  return found;
}

OdeExchange exchange_of(const Plan& plan) {
  const PlannedOde& ode = plan.ode.value();
  OdeExchange found;
  for (const Slot slot : ode.inputs) {
    found.moving.push_back(plan.types[slot] == "Float64");
    found.nominal.push_back(plan.events_of_ode().nominal[slot]);
  }
  for (const Index number : ode.parts)
    std::ranges::copy(plan.parts[number].inputs.slots, std::back_inserter(found.received));
  found.shown = found.received;
  for (const Index number : ode.parts)
    std::ranges::copy(plan.parts[number].outputs.slots, std::back_inserter(found.shown));
  std::ranges::copy(ode.event_signals, std::back_inserter(found.shown));
  found.event_signals = ode.event_signals;
  found.event_sources = ode.event_sources;
  for (const std::string& type : plan.types) found.contents.push_back(is_content(type));
  found.start = plan.start;
  found.macro_step = plan.step;
  found.hands_over = plan.at_events && plan.at_events->with_ode;
  return found;
}

}  // namespace ssptool::runtime
