#include "clocks.hpp"

#include <algorithm>
#include <stdexcept>

#include "digits.hpp"

namespace ssptool {

namespace {

Fraction checked_interval(const EventMode& mode, const PlannedClock& clock, Fraction interval, double t) {
  if (interval.positive()) return interval;
  throw IntegrationStopped(Ending::fmi,
                           "component " + mode.name() + ": the " + word(clock.variability) + " clock " + clock.name +
                               " needs a positive interval, the FMU states " + seconds(interval.number(), 6),
                           "see the messages of the FMU; check its parameters", t, mode.name());
}

std::string text(const std::optional<Fraction>& time) { return time ? time->text() : "-"; }

std::optional<Fraction> from_text(const std::string& text) {
  return text == "-" ? std::nullopt : std::optional(Fraction::from_text(text));
}

}  // namespace

double ClockSchedule::next_time() const {
  double first = std::numeric_limits<double>::infinity();
  for (const Timer& timer : timers_) first = std::min(first, time(timer));
  return first;
}

double ClockSchedule::time(const Timer& timer) const {
  return timer.next ? (start_ + *timer.next).number() : std::numeric_limits<double>::infinity();
}

std::set<std::size_t> ClockSchedule::due(double until) const {
  std::set<std::size_t> found;
  for (std::size_t i = 0; i < timers_.size(); ++i)
    if (time(timers_[i]) <= until) found.insert(i);
  return found;
}

void ClockSchedule::begin(double t, Modes modes) {
  for (Timer& timer : timers_) begin(timer, modes[timer.member], t);
}

void ClockSchedule::begin(Timer& timer, const EventMode& mode, double t) const {
  const PlannedClock& clock = *timer.clock;
  if (clock.variability <= IntervalVariability::tunable) {  // periodic
    mode.tell(clock);
    timer.interval = clock.interval ? *clock.interval : checked_interval(mode, clock, mode.interval(clock).first, t);
    timer.next = clock.shift;
    if (!clock.shift) timer.next = clock.interval ? Fraction() : mode.shift(clock);
    return;
  }
  const auto [interval, qualifier] = mode.interval(clock);
  const bool known = qualifier == Qualifier::changed;
  timer.next = known ? interval : clock.shift;
  if (known && clock.variability == IntervalVariability::changing)
    timer.interval = interval;  // until the FMU states another one
}

void ClockSchedule::after(double t, const std::set<std::size_t>& ticked, Modes modes) {
  for (std::size_t i = 0; i < timers_.size(); ++i) {
    Timer& timer = timers_[i];
    const EventMode& mode = modes[timer.member];
    if (ticked.contains(i)) move_on(timer, mode);
    if (timer.clock->variability == IntervalVariability::countdown)
      count_down(timer, mode, t);
    else if (timer.clock->variability == IntervalVariability::tunable && !timer.clock->interval)
      tune(timer, mode, t);
  }
}

void ClockSchedule::move_on(Timer& timer, const EventMode& mode) {
  const Fraction last = timer.next.value_or(Fraction());
  if (timer.clock->variability == IntervalVariability::changing) {
    const auto [interval, qualifier] = mode.interval(*timer.clock);
    if (qualifier != Qualifier::unchanged)
      timer.interval = qualifier == Qualifier::changed ? std::optional(interval) : std::nullopt;
  } else if (timer.clock->variability == IntervalVariability::countdown) {
    timer.interval.reset();
  }
  timer.next = timer.interval ? std::optional(last + *timer.interval) : std::nullopt;
}

void ClockSchedule::count_down(Timer& timer, const EventMode& mode, double t) const {
  const auto [interval, qualifier] = mode.interval(*timer.clock);
  if (qualifier == Qualifier::changed)
    timer.next = Fraction(t) - start_ + interval;
  else if (qualifier == Qualifier::not_yet_known)
    timer.next.reset();
}

// The new interval starts now, and not at the last tick.
void ClockSchedule::tune(Timer& timer, const EventMode& mode, double t) const {
  auto [interval, qualifier] = mode.interval(*timer.clock);
  if (qualifier != Qualifier::changed || timer.interval == interval) return;
  timer.interval = checked_interval(mode, *timer.clock, std::move(interval), t);
  timer.next = Fraction(t) - start_ + *timer.interval;
}

std::vector<std::string> ClockSchedule::save_state() const {
  std::vector<std::string> found;
  for (const Timer& timer : timers_) found.push_back(text(timer.next) + " " + text(timer.interval));
  return found;
}

void ClockSchedule::restore_state(const std::vector<std::string>& state) {
  if (state.size() != timers_.size()) throw std::invalid_argument("the state has another number of clocks");
  for (std::size_t i = 0; i < state.size(); ++i) {
    const std::size_t blank = state[i].find(' ');
    if (blank == std::string::npos) throw std::invalid_argument("the state of a clock is two times");
    timers_[i].next = from_text(state[i].substr(0, blank));
    timers_[i].interval = from_text(state[i].substr(blank + 1));
  }
}

}  // namespace ssptool
