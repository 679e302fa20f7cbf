// The next ticks of all clocks: clocks.py as C++ types.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "event_mode.hpp"

namespace ssptool {

// A clock that ticks at known times: the next tick and the interval after it, none if unknown. Times are counted from
// the start of the run.
struct Timer {
  std::size_t member;  // by its place among the members
  const PlannedClock* clock;
  std::optional<Fraction> next{}, interval{};
};

// Sums of fractions are exact, so that ticks do not drift. `modes` are those of the members, by place.
class ClockSchedule {
 public:
  using Modes = std::span<const EventMode>;

  ClockSchedule(double start, std::vector<Timer> timers) : start_(start), timers_(std::move(timers)) {}

  [[nodiscard]] const std::vector<Timer>& timers() const noexcept { return timers_; }
  // Of the next tick of any clock; inf if none is known.
  [[nodiscard]] double next_time() const;
  [[nodiscard]] double time(const Timer&) const;
  // The numbers of those that tick until this time.
  [[nodiscard]] std::set<std::size_t> due(double until) const;

  // Find the first ticks, and tell FMUs what the system states; in initialization mode. Throws CallRefused, and
  // IntegrationStopped at t if an FMU states that a clock has no interval.
  void begin(double t, Modes);
  // After the discrete states were updated at t, where timers of these numbers have ticked. Throws what `begin` does.
  void after(double t, const std::set<std::size_t>& ticked, Modes);

  // Of each timer: next and interval, as texts of fractions or "-".
  [[nodiscard]] std::vector<std::string> save_state() const;
  void restore_state(const std::vector<std::string>&);

 private:
  void begin(Timer&, const EventMode&, double t) const;
  static void move_on(Timer&, const EventMode&);
  void count_down(Timer&, const EventMode&, double t) const;
  void tune(Timer&, const EventMode&, double t) const;

  Fraction start_;
  std::vector<Timer> timers_;
};

}  // namespace ssptool
