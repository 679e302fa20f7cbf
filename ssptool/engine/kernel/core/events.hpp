// Events: values and clock ticks are passed between components in event mode until nothing changes; events.py in C++.
// Components are those of co-simulation with event mode, or of model exchange (also FMI 2.0).
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "clocks.hpp"
#include "members.hpp"
#include "wires.hpp"

namespace ssptool {

// A clock: the index of its member, and its index among the clocks of the member.
struct ClockPlace {
  std::size_t member, clock;

  auto operator<=>(const ClockPlace&) const = default;
};

// A component in event mode.
struct PlannedEventMember {
  Index instance;  // in the kernel
  std::string name;
  Variables inputs, outputs;  // inputs set in event mode only; outputs got only at ticks of clocks
  std::vector<std::vector<std::size_t>> input_clocks, output_clocks;  // by variable: indices of clocks
  std::vector<PlannedClock> clocks;      // inputs with known times, then triggered inputs, then outputs
  std::size_t timed = 0, triggered = 0;  // numbers of the first two kinds
  std::vector<std::size_t> shown;        // by clock: the slot of its connector, or `none`
  bool stepped = true;                   // co-simulation: enters and leaves event mode with all others
};

struct PlannedEvents {
  double start = 0.0;  // of the run [s]
  std::vector<PlannedEventMember> members;
  std::vector<Wire> wires;  // to inputs of members
  std::map<ClockPlace, std::vector<ClockPlace>> clock_wires;
  std::vector<Slot> inputs;           // of all components
  std::vector<std::string> signals;   // names by slot
  std::vector<bool> unsigned_values;  // by slot: has type UInt64
  bool single = false;                // there are algebraic loops with Float32 signals
};

// A component after an update of its discrete states, and whether it needs another event iteration.
struct Updated {
  std::string component;
  bool again;
};

// All functions throw CallRefused if an FMU refuses, and IntegrationStopped.
class EventMembers {
 public:
  // `functions` are those of the members that have event mode or clocks. The types of the variables were given when the
  // instances were added (InstanceTable::exchanged_at_events).
  EventMembers(SlotValues&, Members&, PlannedEvents, const std::vector<FunctionTable>& functions);
  EventMembers(const EventMembers&) = delete;
  EventMembers& operator=(const EventMembers&) = delete;
  ~EventMembers() = default;

  [[nodiscard]] const PlannedEvents& plan() const noexcept { return plan_; }
  [[nodiscard]] std::span<const EventMode> modes() const noexcept { return modes_; }
  [[nodiscard]] SlotValues& slot_values() noexcept { return slot_values_; }
  ClockSchedule clock_schedule;
  // By member: its next time event [s].
  std::vector<double> next_times;
  // Time of the next known tick or time event [s].
  [[nodiscard]] double next_time() const;

  // Sets the overrides of a scenario at both ends of the wire to an input.
  void override_wire(Slot destination, const SlotOverride& at_source, const SlotOverride& at_destination);

  // In initialization mode: sets inputs without a clock; returns those that have changed.
  std::vector<Slot> propagate_at_start(double t);

  void enter() const;
  void leave() const;
  // One event iteration of each stepped member.
  std::vector<Updated> update(double t);

  // Whether an unclocked input differs from the value at its wire.
  [[nodiscard]] bool pending() const;
  // Sets inputs that have changed or whose clocks are `fresh`; returns those that have changed.
  std::vector<Slot> propagate(double t, const std::vector<ClockPlace>& fresh);
  // Gets outputs whose clocks tick; returns those that have changed.
  std::vector<Slot> collect();
  // Activates input clocks that are not yet active; returns these.
  std::vector<ClockPlace> tick(const std::vector<ClockPlace>& clocks);
  // Output clocks that tick for the first time in this event iteration.
  std::vector<ClockPlace> listen();
  // Input clocks that are connected to these clocks.
  [[nodiscard]] std::vector<ClockPlace> triggered_by(const std::vector<ClockPlace>& clocks) const;
  // After an event: sets the connectors of clocks that have ticked to true, until the next step or event.
  void show_ticks();
  void hide_ticks();
  // Ends an event iteration: no clock is active any more.
  void rest() noexcept;
  // Names of the active clocks.
  [[nodiscard]] std::vector<std::string> ticking() const;
  // Whether a clock is active; clocks that have ticked since ticks were last hidden.
  [[nodiscard]] bool is_active(const ClockPlace& place) const { return active_[place.member].contains(place.clock); }
  [[nodiscard]] std::vector<ClockPlace> active() const;
  void set_active(const std::vector<ClockPlace>& clocks);
  [[nodiscard]] const std::set<ClockPlace>& ticked() const noexcept { return ticked_; }

 private:
  struct Carried {
    double value;            // eight bytes, as in slots
    std::string unfit = {};  // the number, if the type of the input cannot represent it
  };

  void check_arrays(const PlannedEventMember&) const;
  [[nodiscard]] bool is_active(std::size_t member, const std::vector<std::size_t>& clocks) const;
  // The value at the wire of this input, if it differs.
  [[nodiscard]] std::optional<Carried> delivered_to(const PlannedEventMember&, std::size_t input) const;
  [[nodiscard]] Carried carried(const Wire&, Type) const;
  bool take(const PlannedEventMember&, std::size_t input, double t);
  void set(const PlannedEventMember&, const std::vector<std::size_t>& inputs, double t);
  void get(const PlannedEventMember&, const std::vector<std::size_t>& outputs);

  SlotValues& slot_values_;
  Members& members_;
  PlannedEvents plan_;  // clocks must keep their addresses
  std::vector<EventMode> modes_;
  std::map<Slot, Wire> wires_;                 // by destination
  std::vector<std::set<std::size_t>> active_;  // by member: clocks that tick in the present event iteration
  std::set<ClockPlace> ticked_;
};

// Result of one event iteration of all components: whether something has changed and no further iteration is needed,
// components that need one, and clocks that have ticked in it.
struct EventRound {
  bool changed = false, settled = false;
  std::vector<std::string> again, ticking;
};

// Iterates an event of connected components until they settle, and leaves them in event mode (FMI 2.0.4, 3.2.3; FMI
// 3.0, 2.2.8, 2.3.3 and 4.2.1).
class EventIteration {
 public:
  using Evaluate = std::function<void(double t)>;                // everything that is exchanged continuously
  using Update = std::function<std::vector<Updated>(double t)>;  // updates the discrete states of all components

  // `nominal`: usual sizes of the signals, by slot. Both functions may throw any exception.
  EventIteration(EventMembers& running, std::span<const double> nominal, Evaluate evaluate, Update update);

  // Handles the event at t, with the ticks of all clocks that are due up to `until`; returns whether anything has
  // changed.
  bool settle(double t, double until);

  // The same in separate calls, between which the caller sets and gets variables: `begin` starts with the ticks that
  // are due; then any number of exchanges is followed by an update, until no further update is needed.
  void begin(double until);
  // Input clocks that will tick in the next exchange.
  void trigger(const std::vector<ClockPlace>& clocks);
  // Within one event iteration: passes ticks and values along connections until nothing changes; returns whether
  // anything has changed.
  bool exchange(double t);
  // Updates the discrete states of all components, which ends the event iteration.
  EventRound update(double t);

  // State between two calls: input clocks that will tick in the next exchange, and numbers of timers that have ticked
  // since the last update.
  struct Open {
    std::vector<ClockPlace> waiting;
    std::set<std::size_t> ticked;
  };
  Open open;

 private:
  [[nodiscard]] bool moved(std::span<const double> before) const;
  [[nodiscard]] bool moved(std::span<const double> before, Slot slot) const;

  EventMembers& running_;
  std::span<const double> nominal_;
  Evaluate evaluate_;
  Update update_;
};

// Limit of event iterations; beyond it the event does not converge, and components, clocks and signals that still
// change are reported.
inline constexpr int max_event_iterations = 100;
IntegrationStopped endless(double t, const std::vector<std::string>& again, const std::vector<std::string>& ticking,
                           const std::vector<std::string>& moving = {});

}  // namespace ssptool
