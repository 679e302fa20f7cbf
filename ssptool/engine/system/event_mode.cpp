// Parts in event mode: macro steps that end at events of the parts (as in engine/event_mode), and these events.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "../kernel/core/digits.hpp"
#include "system.hpp"

namespace ssptool::runtime {

// --- the members -----------------------------------------------------------------------------------------------------

void System::make_events() {
  if (plan_.ode && plan_.ode->events) events_of_ode_ = members_of(*plan_.ode->events, *kernel_);
  if (!plan_.at_events) return;
  events_ = members_of(*plan_.at_events, *kernel_);
  chatter_.emplace(plan_.step);
  for (StepReport& report : reports_) report.reset();
}

std::unique_ptr<EventMembers> System::members_of(const PlannedEventSteps& steps, Kernel& kernel) const {
  PlannedEvents events = steps.events;
  events.start = experiment_.start;
  std::vector<FunctionTable> functions;
  for (const PlannedEventMember& member : events.members) functions.push_back(parts_.at(member.instance)->functions());
  return std::make_unique<EventMembers>(kernel.slot_values, kernel.members, std::move(events), functions);
}

// Calls `act`; an exception that stops events becomes a refusal, except for adopted parts, where it is passed on
// unchanged.
void System::explained(const std::function<void()>& act) const {
  try {
    act();
  } catch (const IntegrationStopped& stopped) {
    if (adopts_ || (stopped.ending == Ending::terminated && phase_ == Phase::stepping)) throw;
    throw Refused(stopped.recoverable ? Status::discard : Status::error,
                  stopped.what() + (" at t = " + seconds(stopped.t)) + "; " + stopped.advice);
  } catch (const CallRefused& refused) {
    if (adopts_) throw;
    const bool stated = refused.status >= 0 && refused.status <= static_cast<int>(Status::fatal);
    throw Refused(stated ? static_cast<Status>(refused.status) : Status::error,
                  "component " + refused.component + ": " + refused.function + " returned " + word(refused.status) +
                      " at t = " + seconds(now_));
  }
}

// In initialization mode: passes signals that are exchanged at events, and have no clock, until they settle.
void System::pass_on_at_start() {
  std::vector<std::string> changed;
  for (int i = 0; i < max_event_iterations; ++i) {
    changed.clear();
    for (EventMembers* const events : {events_.get(), events_of_ode_.get()})
      if (events != nullptr)
        explained([&] {
          for (const Slot slot : events->propagate_at_start(now_)) changed.push_back(plan_.signals[slot]);
        });
    if (changed.empty()) return;
    make_consistent();
  }
  const std::string message = "discrete signals do not settle in initialization mode, after " +
                              std::to_string(max_event_iterations) + " iterations: " + joined(changed);
  throw Refused(Status::error, message, {{}, {}, 0, {}, now_, {}, Unsettled::discrete_signals, std::move(changed)});
}

void System::set_clocks() {
  for (EventMembers* const events : {events_.get(), events_of_ode_.get()})
    if (events != nullptr) explained([&] { events->clock_schedule.begin(now_, events->modes()); });
}

// --- events ----------------------------------------------------------------------------------------------------------

// Is called right after initialization, which leaves the members in event mode.
void System::first_event() {
  phase_ = Phase::stepping;
  watched([this] { explained([this] { iterate_and_leave(true); }); });
}

// Handles an event at the present time: values from outside, clocks that are due to tick, and events of the parts.
bool System::handle_event(const std::vector<Cause>& causes, const std::function<void()>& act) {
  bool seen = true;
  explained([&] {
    chatter_->note(now_, causes);
    before_steps();
    events_->enter();
    if (with_ode()) component_->enter();
    if (ode_apart() && !tuned_.empty())
      component_->intervene([this] { set_tuned(); });
    else if (!adopts_ || !tuned_.empty())
      set_tuned();
    if (act) act();
    seen = iterate_and_leave(false);
  });
  return seen || !causes.empty() || act != nullptr;
}

bool System::handle_event() {
  if (!jump_due()) return handle_event(causes());
  return handle_event(causes(), [this] { jump_from_outside(); });
}

bool System::iterate_and_leave(bool first) {
  const bool changed = settle_event();
  return leave_event(changed, first);
}

bool System::settle_event() { return event_iteration().settle(now_, now_ + grid().moment()); }

EventIteration System::event_iteration() {
  return {*events_, plan_.at_events->nominal, [this](double) { evaluate_all(); },
          [this](double t) {
            std::vector<Updated> found = events_->update(t);
            if (with_ode()) std::ranges::copy(component_->update(t), std::back_inserter(found));
            return found;
          }};
}

bool System::leave_event(bool changed, bool first) {
  events_->leave();
  const bool seen = !with_ode() || component_->leave(changed, first);
  if (ode_apart())
    leave_beside_ode();
  else
    accept_event();
  events_->show_ticks();
  return seen;
}

// The event is also one of the ODE; its consequences may cause another event of the other parts.
void System::leave_beside_ode() {
  for (int i = 0; i < max_event_iterations; ++i) {
    component_->intervene([] {});
    accept_event();
    if (!events_->pending()) return;
    events_->enter();
    (void)settle_event();
    events_->leave();
  }
  throw ssptool::endless(now_, {}, {});
}

// Evaluates all signals that are exchanged continuously, at this instant.
void System::evaluate_all() {
  check(kernel_->schedules.evaluate(outputs_), now_);
  kernel_->inputs.exchange(plan_.everyone);
  check(steps_->evaluate(everything_), now_);
  kernel_->inputs.exchange(plan_.everyone);
}

bool System::event_wanted() const noexcept {
  return std::ranges::any_of(reports_, [](const StepReport& report) { return report.event != 0.0; });
}

bool System::event_due() const {
  const bool known = event_wanted() || jump_due() || time_event_of_ode() || now_ >= next_event() - grid().moment();
  return known || (plan_.at_events->samples && events_->pending());
}

double System::next_event() const {
  const double known = events_->next_time();
  return std::min(known, with_ode() ? component_->next_time() : next_of_ode());
}

std::vector<Cause> System::causes() const {
  std::vector<Cause> found;
  const double until = now_ + grid().moment();
  const auto& members = events_->plan().members;
  for (const std::size_t number : events_->clock_schedule.due(until)) {
    const Timer& timer = events_->clock_schedule.timers()[number];
    found.push_back({members[timer.member].name, "clock " + timer.clock->name});
  }
  for (std::size_t k = 0; k < members.size(); ++k)
    if (reports_[members[k].instance].event != 0.0)
      found.push_back({members[k].name, "an event"});
    else if (events_->next_times[k] <= until)
      found.push_back({members[k].name, "time event"});
  return found;
}

// --- steps -----------------------------------------------------------------------------------------------------------

// An event at the end is handled as well, so that an importer sees its consequences.
void System::step_through_events(double end) {
  while (now_ < end - grid().moment() || event_due()) {
    if (event_due())
      handle_event();
    else
      step_until(std::min(next_event(), end));
    react_of_ode();
  }
}

void System::before_steps() {
  events_->hide_ticks();
  for (StepReport& report : reports_) report.reset();
}

// The same for an importer, which gets no rows.
void System::step_until(double limit) {
  Stretch found;
  step_until(found, limit, steps_->room(most_at_once()));
  check(found.outcome, found.from);
}

// Some steps up to the limit, during which no event is known to happen; each with its row.
void System::step_until(Stretch& found, double limit, std::span<double> rows) {
  const std::int64_t point = grid().passed(now_);
  const std::size_t width = kernel_->recorder.width();
  const bool known = !plan_.at_events->samples && !sample_ && iterate_log_ == nullptr;
  const bool together = plan_.at_events->together && known && now_ == grid().time_of(point);
  const auto room = static_cast<std::int64_t>(rows.size() / width);
  const std::int64_t count = together ? std::min(whole_until(limit) - point, room) : 0;
  if (count <= 0) return step_with_events(found, limit, rows, false);
  before_steps();
  const std::int64_t before = found.steps;
  kernel_alone(found, point, rows.first(static_cast<std::size_t>(count) * width));
  if (found.outcome.ok()) return;
  const std::span<double> left = rows.subspan(static_cast<std::size_t>(found.steps - before) * width);
  // A step that the kernel cannot iterate alone is repeated from its start.
  if (found.outcome.code != Code::event && !steps_->iterate()) return rescue(found, plan_.step, left.first(width));
  found.outcome = {};
  kernel_->history.discard_point();
  if (plan_.at_events->rolls_back) found.outcome = kernel_->stepper.restore(plan_.everyone);
  if (found.outcome.ok()) step_with_events(found, limit, left, !plan_.at_events->rolls_back);
}

// A step to the next point of the grid, to the limit, or to an event before them. `begun`: the step was already tried,
// and a part has returned early.
void System::step_with_events(Stretch& found, double limit, std::span<double> rows, bool begun) {
  const double t = now_;
  auto [h, end] = grid().next_step(t, limit, communication_step_ ? &*communication_step_ : nullptr);
  found.from = t;
  if (!begun) {
    before_steps();
    if (plan_.at_events->rolls_back) checkpoint_->keep();
  }
  const std::vector<double> before = kernel_->slot_values.values;  // without values of ticks
  for (int i = 0; i < most_returns; ++i) {
    if (end > t && !begun) {
      if (iterate_log_ != nullptr) iterate_log_->at(end);
      if (!sampled(found, end)) return;
      // If all parts can go back, the others step too, because they may have an event at the same time.
      const double leads = plan_.at_events->rolls_back ? MacroSteps::never : end - grid().moment();
      found.outcome = steps_->attempt(t, h, end, leads);
      log_iterates(end);
    }
    begun = false;
    const std::optional<double> early = returned_early(end);
    if (!early) return arrive(found, end, rows);
    // The result of a step that was too long is ignored, even if it failed.
    found.outcome = {};
    end = end_at_event(t, *early);
    h = end - t;
    std::ranges::copy(before, kernel_->slot_values.values.begin());
    go_back(t, end, !plan_.at_events->independent_steps && end > t);
  }
  throw no_progress(t, end);
}

IntegrationStopped System::no_progress(double t, double end) {
  return {Ending::events,
          "a macro step does not finish: after " + std::to_string(most_returns) +
              " attempts components still return before t = " + seconds(end),
          "look for events that depend on how long a step is", t};
}

void System::arrive(Stretch& found, double end, std::span<double> rows) {
  found.to = end;
  found.rescuing = steps_->rescue_failed();
  if (!found.outcome.ok() || end == now_) return;  // an event at its start: the left side is recorded
  kernel_->inputs.exchange(plan_.everyone);
  kernel_->history.accept(end);
  const double from = std::exchange(now_, end);
  found.iterations.push_back(steps_->iterations());
  ++found.alone;
  confirm_event(from, end);
  add_row(found, rows);
}

// A zero crossing that was found with extrapolated inputs may not occur with the values that the inputs really have. If
// it is not confirmed, and was not confirmed just before this point either, it is within the resolution of time, and no
// later point gives more information.
void System::confirm_event(double from, double to) {
  double& wanted = reports_.back().event;
  if (to - from <= 2 * grid().moment()) return;
  if (with_ode() && wanted != 0.0 && !component_->confirm(to)) wanted = 0.0;
}

std::optional<double> System::returned_early(double end) const noexcept {
  double first = end;
  for (const StepReport& report : reports_)
    if (report.reached < first) first = report.reached;
  return first < end - grid().moment() ? std::optional(first) : std::nullopt;
}

// The end of a step from t that a part has ended early. A zero crossing that depends on inputs is real only if the
// inputs really have these values; therefore the other parts go to the same time.
double System::end_at_event(double t, double early) const noexcept {
  const bool follows = with_ode() && !plan_.ode->inputs.empty();
  if (follows && early > t && reports_.back().reached == early)
    return early + std::max(grid().moment() / 2, spacing(early));
  return early - t > grid().moment() ? early : t;
}

// Sets parts back to the start t of the step, which is then repeated up to `end`. Parts that are already at `end` stay
// there, unless all parts repeat the step and can do so.
void System::go_back(double t, double end, bool all_of_them) {
  all_of_them = all_of_them && plan_.at_events->rolls_back;
  for (Index i = 0; i < reports_.size(); ++i) {
    const bool there = !all_of_them && std::abs(reports_[i].reached - end) <= grid().moment();
    if (there)
      reports_[i].waits = 1.0;
    else
      reports_[i].reset();
    if (plan_.at_events->rolls_back && !there) checkpoint_->go_back(i);
  }
  // No step would get these outputs.
  if (plan_.at_events->rolls_back && end - t <= grid().moment()) check(kernel_->schedules.evaluate(outputs_), t);
}

// --- saved states ----------------------------------------------------------------------------------------------------

SavedEvents System::saved_events() const {
  SavedEvents saved{events_->clock_schedule.save_state(), events_->next_times, {}, {}, {}, {}};
  for (const StepReport& report : reports_) saved.wanted.push_back(report.event != 0.0 ? 1 : 0);
  saved.seen.assign(chatter_->seen().begin(), chatter_->seen().end());
  saved.untold.assign(untold_.begin(), untold_.end());
  if (event_)
    saved.open = {events_->active(),
                  event_->open.waiting,
                  {event_->open.ticked.begin(), event_->open.ticked.end()},
                  event_settled_};
  return saved;
}

void System::restore_events(const SavedEvents& saved) {
  if (saved.next_times.size() != events_->next_times.size() || saved.wanted.size() != reports_.size())
    throw Refused(Status::error, "the state has another number of components in event mode");
  if (saved.open && !use_.event_mode)
    throw Refused(Status::error, "the state is in event mode, which this instance does not use");
  events_->hide_ticks();
  events_->rest();
  events_->clock_schedule.restore_state(saved.clocks);
  events_->next_times = saved.next_times;
  for (StepReport& report : reports_) report.reset();
  for (Index i = 0; i < reports_.size(); ++i) reports_[i].event = saved.wanted[i] != 0 ? 1.0 : 0.0;
  chatter_->set_seen({saved.seen.begin(), saved.seen.end()});
  untold_ = {saved.untold.begin(), saved.untold.end()};
  event_.reset();
  if (!saved.open) return;
  event_.emplace(event_iteration());
  event_->open = {saved.open->waiting, {saved.open->ticked.begin(), saved.open->ticked.end()}};
  event_settled_ = saved.open->settled;
  events_->set_active(saved.open->active);
}

}  // namespace ssptool::runtime
