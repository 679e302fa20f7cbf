// Event iterations of the components of an ODE: discrete states, signals and clocks settle together.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "events.hpp"
#include "ode_system.hpp"
#include "zeno.hpp"

namespace ssptool {

inline constexpr const char* time_event = "time event";

// Result of an event: the next time event [s] (infinity if none is known) and its cause. `changed` is false if the
// event had no effect on states and signals.
struct EventOutcome {
  double next_time = 0.0;
  std::vector<Cause> timers;
  bool nominals_changed = false, states_changed = false, changed = false;
};

// All functions throw IntegrationStopped, or CallRefused.
class OdeEvents {
 public:
  // `nominal`: usual sizes of the signals, by slot; it must outlive this object.
  OdeEvents(OdeSystem& system, EventMembers& members, std::span<const double> nominal)
      : system_(system), members_(members), nominal_(nominal) {}

  // Updates discrete states and exchanges signals until both are unchanged, with all instances in event mode. Times are
  // equal if they differ by at most `close` [s].
  EventOutcome iterate(double t, double close);
  // The same in separate calls, for a caller that also iterates other components: begin, update as often as necessary,
  // and get the outcome of an event in which signals have `changed`.
  void begin() noexcept { updates_.clear(); }
  std::vector<Updated> update(double t);
  [[nodiscard]] EventOutcome outcome(double t, double close, bool changed) const;
  // Whether a signal that is accepted at events only has changed.
  [[nodiscard]] bool pending() const { return members_.pending(); }
  void hide_ticks() { members_.hide_ticks(); }
  [[nodiscard]] EventMembers& members() noexcept { return members_; }

 private:
  OdeSystem& system_;
  EventMembers& members_;
  std::span<const double> nominal_;
  std::vector<DiscreteUpdate> updates_;  // from all event iterations of the last event
};

}  // namespace ssptool
