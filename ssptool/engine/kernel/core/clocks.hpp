// The next ticks of all clocks: clocks.py in C++.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "event_mode.hpp"

namespace ssptool {

// A clock that ticks at known times: the next tick and the interval after it, empty if unknown. Times are relative to
// the start of the run.
struct Timer {
  std::size_t member;  // index of the member
  const PlannedClock* clock;
  std::optional<Fraction> next{}, interval{};
};

// Sums of fractions are exact, so that ticks do not drift. `modes` are those of the members, by index.
class ClockSchedule {
 public:
  using Modes = std::span<const EventMode>;

  ClockSchedule(double start, std::vector<Timer> timers) : start_(start), timers_(std::move(timers)) {}

  [[nodiscard]] const std::vector<Timer>& timers() const noexcept { return timers_; }
  // Time of the next tick of any clock; inf if none is known.
  [[nodiscard]] double next_time() const;
  [[nodiscard]] double time(const Timer&) const;
  // The numbers of the timers that tick up to this time.
  [[nodiscard]] std::set<std::size_t> due(double until) const;

  // Finds the first ticks and sets the values that the system states, in initialization mode. Throws CallRefused, and
  // IntegrationStopped at t if an FMU states that a clock has no interval.
  void begin(double t, Modes);
  // Must be called after an update of discrete states at t, at which the timers `ticked` have ticked. Throws as
  // `begin`.
  void after(double t, const std::set<std::size_t>& ticked, Modes);

  // For each timer: next tick and interval, as texts of fractions or "-".
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
