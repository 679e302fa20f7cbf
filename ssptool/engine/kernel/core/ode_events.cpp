#include "ode_events.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

#include "digits.hpp"

namespace ssptool {

namespace {

// With enough digits to distinguish it from neighbouring numbers.
std::string exact_digits(double time) {
  int count = 15;
  while (count < 17 && std::strtod(digits(time, count).c_str(), nullptr) != time) ++count;
  return digits(time, count);
}

}  // namespace

EventOutcome OdeEvents::iterate(double t, double close) {
  begin();
  members_.hide_ticks();
  const bool changed =
      EventIteration(
          members_, nominal_, [this](double now) { system_.settle(now); }, [this](double now) { return update(now); })
          .settle(t, t + close);
  members_.show_ticks();
  return outcome(t, close, changed);
}

std::vector<Updated> OdeEvents::update(double t) {
  const std::vector<DiscreteUpdate> found = system_.update_discrete_states(t);
  updates_.insert(updates_.end(), found.begin(), found.end());
  std::vector<Updated> answers;
  for (std::size_t i = 0; i < found.size(); ++i) answers.push_back({system_.models()[i].name(), found[i].again});
  return answers;
}

EventOutcome OdeEvents::outcome(double t, double close, bool changed) const {
  EventOutcome found{HUGE_VAL, {}};
  std::map<Cause, double> times;
  const std::size_t count = system_.models().size();
  for (std::size_t i = 0; i < count; ++i) {
    const std::string& name = system_.models()[i].name();
    const double time = updates_[updates_.size() - count + i].next_time;
    if (time < t - close)
      throw IntegrationStopped(
          Ending::events,
          "component " + name + " asks for a time event at t = " + exact_digits(time) + " s, which has passed",
          "ask for a corrected FMU: the time of the next event that it states must not be in the past", t, name);
    times[{name, time_event}] = time;
  }
  for (const Timer& timer : members_.clock_schedule.timers())
    times[{members_.plan().members[timer.member].name, "clock " + timer.clock->name}] =
        members_.clock_schedule.time(timer);
  for (const auto& [cause, time] : times) found.next_time = std::min(found.next_time, time);
  for (const auto& [cause, time] : times)
    if (time == found.next_time) found.timers.push_back(cause);
  found.nominals_changed = std::ranges::any_of(updates_, &DiscreteUpdate::nominals_changed);
  found.states_changed = std::ranges::any_of(updates_, &DiscreteUpdate::states_changed);
  found.changed = changed || found.states_changed;
  return found;
}

}  // namespace ssptool
