#include "system.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "../kernel/core/digits.hpp"

namespace ssptool::runtime {

System::System(const std::string& resources, Log& log, bool logging, Kind kind, EventUse use)
    : kind_(kind), use_(use), resources_(resources), plan_(read_plan(below(resources, "plan.json"))), log_(log) {
  if (plan_.interface == (kind == Kind::model_exchange ? "cs" : "me"))
    throw std::runtime_error(std::string("this FMU offers ") +
                             (kind == Kind::model_exchange ? "co-simulation" : "model exchange") + " only");
  if (use.event_mode && (!plan_.at_events || plan_.ode))
    throw std::runtime_error("eventModeUsed must be false, because this FMU has no event mode");
  for (const PlannedPart& planned : plan_.parts) {
    const KeptFloatingPoint kept;
    parts_.push_back(load_part(planned, resources_, libraries_, log_));
    parts_.back()->instantiate(below(resources_, planned.folder), logging);
    require_own_instance(*parts_.back());
    parts_.back()->configure();
    if (kept.restore() != 0) note_changes(parts_.size() - 1);
  }
  experiment_.start = plan_.start;
  reports_.resize(parts_.size() + (plan_.ode && !plan_.ode->alone));
  build_kernel();
}

System::System(Plan plan, Log& log)
    : kind_(Kind::co_simulation),
      use_(),
      plan_(std::move(plan)),
      log_(log),
      parts_(plan_.parts.size()),
      environments_(plan_.parts.size()),
      adopts_(true) {
  reports_.resize(parts_.size() + (plan_.ode && !plan_.ode->alone));
  experiment_ = planned_experiment();
}

Experiment System::planned_experiment() const {
  return {plan_.start, plan_.open_end ? std::nullopt : std::optional(plan_.stop), {}};
}

void System::adopt(Index part, FunctionTable functions, fmi::Component component) {
  parts_.at(part) = adopted_part(plan_.parts[part], std::move(functions), component, log_);
}

void System::state_starts(Index part, std::vector<VariableSet> starts) {
  plan_.parts.at(part).starts = std::move(starts);
}

void System::begin() {
  std::ranges::fill(reports_, StepReport{});
  sample_ = {};
  start_over();
  experiment_ = planned_experiment();
}

// A library that supports a single instance may return the same one again; freeing it twice would crash the process.
void System::require_own_instance(Part& part) const {
  for (const std::unique_ptr<Part>& other : parts_)
    if (other.get() != &part && other->plan().folder == part.plan().folder && other->component() == part.component()) {
      part.disown();
      throw std::runtime_error("component " + part.plan().name + ": its FMU returned the instance of component " +
                               other->plan().name + " again; it supports only one instance in a process");
    }
}

System::~System() { release_states(); }

// Must be called before the parts are freed, because they own the states.
void System::release_states() noexcept {
  if (kernel_ != nullptr) kernel_->stepper.release();
  checkpoint_.reset();
}

void System::build_kernel() {
  release_states();
  event_.reset();
  untold_.clear();
  events_.reset();
  events_of_ode_.reset();
  loops_at_start_.clear();
  loops_.clear();
  ode_.reset();
  inside_.reset();
  kernel_ = std::make_shared<Kernel>(plan_.slots, plan_.integers);
  for (const auto& part : parts_) kernel_->add(member_of(*part));
  component_.reset();
  if (plan_.ode && !plan_.ode->alone) {
    component_ = std::make_unique<OdeComponent>(*kernel_);
    StepReport* const report = plan_.at_events && plan_.at_events->with_ode ? &reports_.back() : nullptr;
    if (report != nullptr) report->returns = 1.0;
    kernel_->add(kernel_->members.member_of(component_->table(report)));
  }
  checkpoint_ = std::make_unique<Checkpoint>(parts_, component_.get());
  std::vector<Wire> wires = plan_.wires;
  wires.insert(wires.end(), plan_.shown_wires.begin(), plan_.shown_wires.end());
  kernel_->connect(wires);
  kernel_->recorder.record_slots(plan_.recorded);
  for (const auto& [slot, demand] : plan_.demands) kernel_->slot_values.demand(slot, demand);
  state_tables();
  write(plan_.constants);
  beginnings_.clear();
  known_.clear();
  for (Index i = 0; i < parts_.size(); ++i)
    if (!plan_.parts[i].has_mode()) beginnings_[i].wires = kernel_->wires.set(plan_.parts[i].inputs.slots);
  initialization_ = prepared(plan_.initialization, *kernel_);
}

Member System::member_of(Part& part) {
  const PlannedPart& plan = part.plan();
  if (!plan.moving.empty())
    part.environment = adopts_ ? &environments_[kernel_->members.size()] : kernel_->members.make_environment();
  const bool idle = plan.exchange && !plan_.ode->alone;
  InstanceTable table{plan.fmi_major,
                      idle ? part.functions().with(OdeComponent::idle(plan.fmi_major)) : part.functions(),
                      part.component()};
  table.refreshed = !plan.exchange;
  table.apart = idle;  // the ODE calls it
  table.inputs = plan.inputs;
  table.outputs = plan.outputs;
  table.observed = plan.observed;
  table.environment = part.environment;
  if (plan.event_mode) {
    table.report = &reports_[kernel_->members.size()];
    table.report->returns = plan.returns_early ? 1.0 : 0.0;
  }
  table.exchanged_at_events = types_at_events(kernel_->members.size());
  table.substeps = plan.substeps;
  return kernel_->members.member_of(std::move(table));
}

std::vector<Type> System::types_at_events(Index part) const {
  std::vector<Type> found;
  const auto add = [&](const PlannedEventSteps& steps) {
    for (const PlannedEventMember& member : steps.events.members)
      if (member.instance == part)
        for (const Variables* own : {&member.inputs, &member.outputs})
          found.insert(found.end(), own->types.begin(), own->types.end());
  };
  if (plan_.at_events) add(*plan_.at_events);
  if (plan_.ode && plan_.ode->events) add(*plan_.ode->events);
  return found;
}

// --- steps -----------------------------------------------------------------------------------------------------------

void System::settle() {
  if (event_) return exchange_at_event();
  if (!std::exchange(changed_, false)) return;
  if (phase_ == Phase::initialization) make_consistent();
  if (phase_ == Phase::exchange) {
    propagate();
    ode_->continuous->changed();
  }
  if (phase_ == Phase::stepping && ode_ != nullptr && component_ == nullptr)
    jump_of_ode();
  else if (phase_ == Phase::stepping && steps_end_at_events() && (!use_.event_mode || events_->pending()))
    handle_event();
  else if (phase_ == Phase::stepping) {
    if (component_ != nullptr && !tuned_.empty()) explained([&] { component_->intervene([&] { set_tuned(); }); });
    propagate();
    jump();
  }
  if (phase_ == Phase::stepping) react_of_ode();
}

// Set values take effect at this instant. Unless the signal only continues, it is an event.
void System::jump() {
  refresh_outputs();
  kernel_->inputs.exchange(plan_.everyone);
  check(steps_->evaluate(everything_), now_);
  kernel_->inputs.exchange(plan_.everyone);
  History& history = kernel_->history;
  std::exchange(jumps_, false) ? history.accept_after_event(now_) : history.accept(now_);
}

// The right side of an event, at which outputs may have changed.
void System::accept_event() {
  jumps_ = true;
  if (!adopts_) propagate();  // with adopted parts, no parameter was set
  jump();
}

void System::intervene(const std::function<void()>& act, bool of_ode) {
  if (of_ode)
    component_->intervene(act);
  else
    watched([&] { (void)handle_event({}, act); });
}

void System::follow(const std::vector<Index>& parts) {
  retuned_.insert(parts.begin(), parts.end());
  jumps_ = true;
  watched([this] { jump(); });
}

void System::refresh_outputs() {
  for (const Index part : std::exchange(retuned_, {}))
    if (outputs_of_[part] != none) check(kernel_->schedules.evaluate(outputs_of_[part]), now_);
}

bool System::is_at(double t) const noexcept {
  return std::abs(t - now_) <= std::max(grid().moment(), 4 * std::abs(std::nextafter(t, HUGE_VAL) - t));
}

StepEnd System::step(double t, double h) {
  StepEnd end;
  try {
    if (use_.event_mode)
      end = step_to_event(t, h);
    else
      step_to(t + h);
  } catch (const IntegrationStopped& stopped) {
    if (stopped.ending == Ending::terminated) show_end(stopped.component, stopped.t);
    throw;
  }
  for (Index part = 0; part < parts_.size(); ++part)
    if (kernel_->members.changes(part) != 0 || (inside_ != nullptr && inside_->members.changes(part) != 0))
      note_changes(part);
  return end;
}

// Reported once for each part.
void System::note_changes(Index part) {
  if (!noted_.insert(part).second) return;
  log_.write(Status::warning, "logStatusWarning",
             "component " + parts_[part]->plan().name +
                 ": its FMU changed the floating-point environment, which was restored after its calls");
}

// A part has ended the simulation at t [s]: importers get the values at this time.
void System::show_end(const std::string& part, double t) {
  ended_ = true;
  now_ = std::max(now_, t);
  const auto found = std::ranges::find_if(parts_, [&](const auto& one) { return one->plan().name == part; });
  try {
    if (component_ != nullptr && found != parts_.end() && (*found)->plan().exchange)
      component_->show_end(now_);
    else if (ode_ != nullptr && component_ == nullptr)
      ode_->system.settle(now_);
    else if (const auto index = static_cast<Index>(found - parts_.begin()); outputs_of_.at(index) != none)
      check(kernel_->schedules.evaluate(outputs_of_[index]), now_);
    kernel_->inputs.exchange(plan_.everyone);
  } catch (const std::exception& error) {  // the simulation ends even without them
    log_.write(Status::warning, "logStatusWarning", error.what());
  }
}

bool System::asks_to_end() const noexcept {
  if (ended_) return true;
  for (Index i = 0; i < parts_.size(); ++i)
    if (std::isfinite(kernel_->members.instance(i).memory().ends_from)) return true;
  return false;
}

void System::step_to(double end) {
  settle();
  end = grid().on_grid(end);
  if (ode_ != nullptr && component_ == nullptr) integrate(end);
  if (steps_end_at_events()) return step_through_events(end);
  follow_inputs(end);
  while (now_ < end) {
    forget_contents();
    if (now_ >= end_of_segment()) {
      jump_of_tables();
      continue;
    }
    const double limit = std::min(end, next_stop());
    const std::int64_t point = grid().passed(now_);
    const std::int64_t whole = now_ == grid().time_of(point) ? whole_until(limit) - point : 0;
    if (whole > 0) {
      whole_steps(point, std::min(whole, most_at_once()));
    } else {
      const auto [h, to] = grid().next_step(now_, limit, nullptr);
      check(steps_->one(now_, h, to), now_);
      now_ = to;
    }
    time_event_of_ode() ? handle_event_of_ode() : react_of_ode();
  }
  leave_inputs();
}

void System::whole_steps(std::int64_t first, std::int64_t count) {
  const Outcome outcome = steps_->whole(grid(), first, count);
  const std::int64_t done = first + outcome.steps;
  now_ = grid().time_of(done);
  if (outcome.ok()) return;
  const double to = grid().time_of(done + 1);
  check(steps_->rescued(outcome, now_, plan_.step, to), now_);
  now_ = to;
}

// --- the end ---------------------------------------------------------------------------------------------------------

// Values that were set, but not used for anything yet, have no effect any more.
void System::terminate() {
  changed_ = false;
  for (const auto& part : parts_) part->terminate();
}

void System::reset() {
  release_states();
  for (const auto& part : parts_) {
    part->reset();
    part->configure();
  }
  start_over();
}

void System::start_over() {
  release_states();
  given_.clear();
  second_guesses_.clear();
  told_rates_.clear();
  input_reaches_.clear();
  experiment_ = {plan_.start, {}, {}};
  phase_ = Phase::instantiated;
  changed_ = ended_ = false;
  retuned_.clear();
  tuned_.clear();
  solved_.clear();
  refused_guesses_.clear();
  build_kernel();
}

void System::log_from_now_on(bool on) {
  for (const auto& part : parts_) part->log_from_now_on(on);
}

// --- outcomes in words -----------------------------------------------------------------------------------------------

void System::check(const Outcome& outcome, double t) const {
  if (outcome.ok()) return;
  if (adopts_) throw Refused(Status::error, "refused", {{}, {}, 0, outcome, t, {}});
  const bool of_ode = component_ != nullptr && outcome.instance == static_cast<int>(parts_.size());
  if (of_ode) component_->rethrow();
  if (const std::optional<double> end = end_of(outcome, t))
    throw ended_by(parts_[static_cast<std::size_t>(outcome.instance)]->plan().name, *end);
  Status status = Status::error;
  if (outcome.code == Code::fmi && outcome.fmi_status == static_cast<int>(Status::fatal)) status = Status::fatal;
  if (outcome.code == Code::fmi && outcome.fmi_status == static_cast<int>(Status::discard)) status = Status::discard;
  throw Refused(status, explain(outcome, t));
}

// The time at which a part ends the simulation [s], if this has stopped the step from t.
std::optional<double> System::end_of(const Outcome& outcome, double t) const {
  if (outcome.code != Code::fmi || outcome.instance < 0) return {};
  const auto instance = static_cast<Index>(outcome.instance);
  if (outcome.function == std::string_view("fmi3DoStep:terminateSimulation")) {
    const double ended = kernel_->members.instance(instance).ended();
    return std::isnan(ended) ? t : std::max(t, ended);
  }
  if (outcome.function != std::string_view(fmi::v2::do_step) || outcome.fmi_status != fmi::discard) return {};
  return parts_[instance]->end_of_discarded(t);
}

std::string System::explain(const Outcome& outcome, double t) const {
  const std::string at = " at t = " + seconds(t);
  const auto name = [&] { return "component " + parts_[static_cast<std::size_t>(outcome.instance)]->plan().name; };
  const auto signal = [&] { return plan_.signals[static_cast<std::size_t>(outcome.slot)]; };
  switch (outcome.code) {
    case Code::fmi: {
      const bool flag = std::string_view(outcome.function).find(':') != std::string_view::npos;
      const std::string answer = flag ? "contradicts the step" : std::string("returned ") + word(outcome.fmi_status);
      return name() + ": " + outcome.function + " " + answer + at;
    }
    case Code::nonfinite: return name() + ": " + signal() + " is not finite (from " + outcome.function + ")" + at;
    case Code::range:
      return name() + ": " + signal() + " does not fit the type of the input (" + outcome.function + ")" + at;
    case Code::loop: return "an algebraic loop was not solved" + at;
    case Code::coupling:
      return "the iteration of a macro step did not converge after " + std::to_string(outcome.iterations) +
             " iterations" + at;
    default: return "the step ended early" + at;
  }
}

}  // namespace ssptool::runtime
