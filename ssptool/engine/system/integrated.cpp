// A system whose model exchange parts form one ODE, integrated internally or by the importer.
#include <algorithm>
#include <cmath>
#include <utility>

#include "../kernel/core/digits.hpp"
#include "system.hpp"

namespace ssptool::runtime {

namespace {

// Sum over all model exchange parts.
std::size_t total(const Plan& plan, std::size_t PlannedExchange::* size) noexcept {
  std::size_t found = 0;
  for (const PlannedPart& part : plan.parts)
    if (part.exchange) found += *part.exchange.*size;
  return found;
}

}  // namespace

// This kernel has the same numbers for all parts and starts with the same values.
void System::build_kernel_of_ode() {
  inside_ = std::make_shared<Kernel>(plan_.slots, plan_.integers);
  for (const auto& part : parts_) {
    InstanceTable table{part->plan().fmi_major, part->functions(), part->component()};
    table.inputs = part->plan().inputs;
    table.outputs = part->plan().outputs;
    if (part->plan().exchange) table.observed = part->plan().observed;
    table.refreshed = false;
    table.exchanged_at_events = types_at_events(inside_->members.size());
    inside_->add(inside_->members.member_of(std::move(table)));
  }
  inside_->connect(plan_.ode->wires);
  inside_->recorder.record_slots(plan_.recorded);
  inside_->time_tables({}, {}, {});
  begin_inside();
  const std::vector<std::string> clocks = events_of_ode_->clock_schedule.save_state();
  events_of_ode_ = members_of(*plan_.ode->events, *inside_);
  events_of_ode_->clock_schedule.restore_state(clocks);
  act();
}

// Starts with the values of the outer kernel.
void System::begin_inside() {
  const SlotContents outside = contents(kernel_->slot_values.values, *kernel_);
  std::ranges::copy(values_of(outside, *inside_), inside_->slot_values.values.begin());
}

OdeSystem::Schedules System::schedules_of_ode() {
  const std::vector<Index>& loops = component_ != nullptr ? loops_of_ode_ : loops_;
  return {registered(plan_.ode->whole, kernel_of_ode(), loops), registered(plan_.ode->slopes, kernel_of_ode(), loops)};
}

IntegrationSettings System::integration_settings() const {
  IntegrationSettings settings;
  settings.rtol = experiment_.tolerance.value_or(plan_.ode->rtol);
  settings.start = experiment_.start;
  settings.stop = experiment_.stop.value_or(HUGE_VAL);
  settings.macro_step = plan_.step;
  settings.takes_samples = plan_.events_of_ode().samples;
  settings.retreats = plan_.ode->retreats;
  return settings;
}

void System::make_ode() {
  ode_ = std::make_unique<RunningOde>(kernel_of_ode(), models_of(parts_, *plan_.ode), plan_, schedules_of_ode(),
                                      members_of_ode(),
                                      [this](const Outcome& outcome, double t) { return stopped(outcome, t); });
  check_sizes(parts_, *plan_.ode, ode_->system);
  if (kind_ == Kind::model_exchange) {
    ode_->be_continuous();
    return;
  }
  const IntegrationSettings settings = integration_settings();
  OdeSystem& system = ode_->system;
  ode_->be_integrated(plan_.ode->jacobian,
                      make_solver(plan_.ode->solver, system, {system.size(), system.indicator_count()}, settings.rtol),
                      settings);
  ode_->integration->on_retreat = [this](double t, const std::string& reason) {
    log_.write(Status::warning, "logStatusWarning",
               "Rodas5P (Rosenbrock) cannot go on from t = " + seconds(t) + " (" + reason +
                   "): Dormand-Prince 5(4) replaces it from there");
  };
  if (ode_->jacobian)
    ode_->jacobian->on_contradiction = [this] {
      log_.write(Status::warning, "logStatusWarning",
                 "directional derivatives of a component of model exchange are wrong: finite differences replace them");
    };
  if (component_ != nullptr) component_->attach(ode_->system, ode_->events, *ode_->integration, exchange_of(plan_));
}

// Starts from initialized parts, which are in event mode.
void System::begin_ode() {
  if (ode_->continuous != nullptr) {
    ode_->continuous->begin(now_);
    return;
  }
  if (component_ != nullptr) {
    begin_inside();
    component_->begin();
    check(kernel_->rescues.evaluate(everything_), now_);
    kernel_->inputs.exchange(plan_.everyone);
    kernel_->history.accept(now_);
    return;
  }
  ode_->integration->begin();
  ode_->integration->cross_at_start();
}

// The integrator may step beyond a communication point only if nothing can happen there.
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

// Set values take effect at this instant.
void System::jump_of_ode() {
  Integration& integration = *ode_->integration;
  const std::vector<double> before = ode_->system.indicators_here(now_);
  if (integration.time() > now_ && !is_at(integration.time())) integration.go_to(integration.position(now_));
  if (tuned_.empty() && !ode_->events.pending()) {
    integration.restart(now_, before);
    ode_->system.settle(now_);
    return;
  }
  tune();
}

void System::tune() {
  ode_->integration->intervene([this] { set_tuned(); });
}

void System::set_tuned() {
  for (const auto& [reference, values] : std::exchange(tuned_, {}))
    set_in_parts(plan_.variables[reference], values, nullptr);
  propagate();
}

double System::timer_of_ode() const noexcept {
  const double t = ode_apart() ? component_->next_time() : HUGE_VAL;
  return std::isinf(t) ? t : grid().on_grid(t);
}

// All parts are at the present time and get the consequences of the event.
void System::handle_event_of_ode() {
  explained([&] { component_->intervene([] {}); });
  accept_event();
  react_of_ode();
}

void System::react_of_ode() {
  if (component_ == nullptr) return;
  for (int i = 0; i < max_event_iterations; ++i) {
    if (!component_->event_pending()) return;
    if (steps_end_at_events()) {
      handle_event({});
      continue;
    }
    explained([&] { component_->intervene([] {}); });
    accept_event();
  }
  explained([&] { throw ssptool::endless(now_, {}, {}); });
}

void System::set_time(double t) {
  now_ = t;
  ode_->continuous->set_time(t);
}

std::size_t System::states() const noexcept { return total(plan_, &PlannedExchange::states); }

std::size_t System::indicators() const noexcept { return total(plan_, &PlannedExchange::indicators); }

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
