// Events that an importer handles, in event mode: it sets variables and clocks, gets the results, and does the event
// iterations one by one.
#include <algorithm>
#include <utility>

#include "system.hpp"

namespace ssptool::runtime {

// Steps until the end, or until an event before it if the importer allows early return. An event that the importer did
// not handle, although it could, is handled here, like events before the end without early return.
StepEnd System::step_to_event(double t, double h) {
  settle();
  now_ = t;  // times are the importer's, which also knows the events of other FMUs
  const double end = end_of_communication_step(t, h);
  communication_step_ = {t, end, h};
  bool inside = event_due();
  if (inside) handle_event_inside();
  while (!arrived(end)) {
    step_until(std::min(events_->next_time(), end));
    if (!event_due()) continue;
    if (use_.early_return || arrived(end)) return {true, !arrived(end)};
    handle_event_inside();
    inside = true;
  }
  return {inside, false};
}

// A point of the grid within rounding, as without event mode. A single internal step ends exactly where the importer
// says, because an event of other FMUs may be close to such a point.
double System::end_of_communication_step(double t, double h) const noexcept {
  const double end = t + h, point = grid().on_grid(end);
  const bool one_step = point <= grid().time_of(grid().passed(t) + 1);
  return one_step && h != plan_.step ? end : point;
}

bool System::arrived(double end) const noexcept { return now_ >= end - grid().moment(); }

// The clocks that tick are reported in the next event mode.
void System::handle_event_inside() {
  handle_event();
  untold_.insert(events_->ticked().begin(), events_->ticked().end());
}

void System::enter_event_mode() {
  settle();
  if (phase_ == Phase::exchange) return ode_->continuous->enter_event_mode();
  explained([&] {
    chatter_->note(now_, causes());
    before_steps();
    events_->enter();
    open_event();
  });
}

void System::open_event() {
  event_.emplace(event_iteration());
  event_->begin(now_ + grid().moment());
  rounds_ = 0;
  event_settled_ = false;
  changed_ = true;
}

// Set values and clock ticks take effect before anything is got.
void System::exchange_at_event() {
  if (!std::exchange(changed_, false)) return;
  explained([&] {
    set_tuned();
    if (event_->exchange(now_)) event_settled_ = false;
  });
}

// One event iteration; the next one begins when something is got or set.
DiscreteUpdate System::update_discrete_states() {
  settle();
  if (phase_ == Phase::exchange) return ode_->continuous->update_discrete_states();
  DiscreteUpdate found;
  explained([&] {
    try {
      const EventRound round = event_->update(now_);
      event_settled_ = round.settled;
      if (!round.settled && ++rounds_ == max_event_iterations) throw ssptool::endless(now_, round.again, round.ticking);
    } catch (const IntegrationStopped& stopped) {
      if (stopped.ending != Ending::terminated) throw;
      log_.write(Status::warning, "logStatusWarning", stopped.what());
      found.terminate = event_settled_ = true;
    }
  });
  untold_.clear();
  changed_ = true;
  found.again = !event_settled_;
  found.next_time = events_->next_time();
  return found;
}

// Does the event iterations that are still needed; none if the importer has done all that were requested.
void System::leave_event_mode() {
  if (phase_ == Phase::exchange) return ode_->continuous->enter_continuous_time();
  settle();
  while (!event_settled_) {
    (void)update_discrete_states();
    settle();
  }
  explained([&] { leave_event(true, false); });
  event_.reset();
}

// --- clocks of the system --------------------------------------------------------------------------------------------

const SystemClock& System::clock(std::size_t reference) const {
  const SystemVariable& variable = this->variable(reference);
  if (!variable.clock) throw Refused(Status::error, variable.name + " is of type " + variable.type + ", not Clock");
  return *variable.clock;
}

void System::set_clock(std::size_t reference, bool active) {
  const SystemClock& clock = this->clock(reference);
  const std::string& name = variable(reference).name;
  if (clock.source) throw Refused(Status::error, name + " is an output clock, which importers cannot set");
  if (active) {
    event_->trigger(clock.triggers);
    changed_ = true;
    event_settled_ = false;
    return;
  }
  std::erase_if(event_->open.waiting, [&](const ClockPlace& one) { return std::ranges::count(clock.triggers, one); });
  if (std::ranges::any_of(clock.triggers, [&](const ClockPlace& one) { return events_->is_active(one); }))
    throw Refused(Status::error, name + " ticks already, and cannot be deactivated");
}

bool System::clock_ticks(std::size_t reference) {
  const SystemClock& clock = this->clock(reference);
  settle();
  if (clock.source) return events_->is_active(*clock.source) || untold_.contains(*clock.source);
  return std::ranges::any_of(clock.triggers, [&](const ClockPlace& one) { return events_->is_active(one); });
}

}  // namespace ssptool::runtime
