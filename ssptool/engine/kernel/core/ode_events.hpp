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

// After an event: the next time event [s], infinity if none is known, and whose it is. `changed` is false where the
// event had no effect on states and signals.
struct EventOutcome {
  double next_time = 0.0;
  std::vector<Cause> timers;
  bool nominals_changed = false, states_changed = false, changed = false;
};

// All functions throw IntegrationStopped, or CallRefused.
class OdeEvents {
 public:
  // `nominal`: usual sizes of the signals, by slot, which must stay.
  OdeEvents(OdeSystem& system, EventMembers& members, std::span<const double> nominal)
      : system_(system), members_(members), nominal_(nominal) {}

  // Update discrete states and exchange signals until both stay the same, with all instances in event mode; times as
  // `close` as that [s] are the same.
  EventOutcome iterate(double t, double close);
  // The same in pieces, for whoever takes more than the components of the ODE through an event: begin, update as often
  // as needed, and ask for the outcome of an event in which signals have `changed`.
  void begin() noexcept { updates_.clear(); }
  std::vector<Updated> update(double t);
  [[nodiscard]] EventOutcome outcome(double t, double close, bool changed) const;
  // Something is taken at events only, and has changed.
  [[nodiscard]] bool pending() const { return members_.pending(); }
  void hide_ticks() { members_.hide_ticks(); }
  [[nodiscard]] EventMembers& members() noexcept { return members_; }

 private:
  OdeSystem& system_;
  EventMembers& members_;
  std::span<const double> nominal_;
  std::vector<DiscreteUpdate> updates_;  // of all event iterations of the last event
};

}  // namespace ssptool
