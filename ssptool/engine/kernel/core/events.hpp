// Events: values and ticks of clocks pass between components in event mode until all settle; events.py as C++ types.
// Components are those of co-simulation with event mode, or of model exchange, of FMI 2.0 as well.
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

// A clock: the place of its member, and its own place among the clocks of that.
struct ClockPlace {
  std::size_t member, clock;

  auto operator<=>(const ClockPlace&) const = default;
};

// A component in event mode.
struct PlannedEventMember {
  Index instance;  // of the kernel
  std::string name;
  Variables inputs, outputs;  // inputs that are set in event mode only; outputs that are got only when a clock ticks
  std::vector<std::vector<std::size_t>> input_clocks, output_clocks;  // by variable: places among the clocks
  std::vector<PlannedClock> clocks;      // inputs that tick at known times, then triggered ones, then outputs
  std::size_t timed = 0, triggered = 0;  // so many of the first two kinds
  std::vector<std::size_t> shown;        // by clock: the slot of its connector, or `none`
  bool stepped = true;                   // of co-simulation: enters event mode and leaves it with all others
};

struct PlannedEvents {
  double start = 0.0;  // of the run [s]
  std::vector<PlannedEventMember> members;
  std::vector<Wire> wires;  // into inputs of members
  std::map<ClockPlace, std::vector<ClockPlace>> clock_wires;
  std::vector<Slot> inputs;           // of all components
  std::vector<std::string> signals;   // names by slot
  std::vector<bool> unsigned_values;  // by slot: of type UInt64
  bool single = false;                // there are algebraic loops with signals of type Float32
};

// Of a component, after its discrete states were updated: whether it needs another event iteration.
struct Updated {
  std::string component;
  bool again;
};

// All functions throw CallRefused for what an FMU does not do, and IntegrationStopped.
class EventMembers {
 public:
  // `functions` are those of the members that have event mode or clocks. Types of the
  // variables were stated when the instances were added (InstanceTable::exchanged_at_events).
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
  // Of the next known tick or time event [s].
  [[nodiscard]] double next_time() const;

  // What a scenario does on the way to an input, from now on.
  void override_wire(Slot destination, const SlotOverride& at_source, const SlotOverride& at_destination);

  // In initialization mode: set inputs that belong to no clock; those that have changed.
  std::vector<Slot> propagate_at_start(double t);

  void enter() const;
  void leave() const;
  // The discrete states of those that are stepped: one event iteration of each.
  std::vector<Updated> update(double t);

  // Whether an unclocked input differs from what its wire delivers.
  [[nodiscard]] bool pending() const;
  // Set inputs that have changed, or that belong to clocks that are `fresh`; those that have changed.
  std::vector<Slot> propagate(double t, const std::vector<ClockPlace>& fresh);
  // Get outputs whose clocks tick; those that have changed.
  std::vector<Slot> collect();
  // Activate input clocks that are not active yet; these.
  std::vector<ClockPlace> tick(const std::vector<ClockPlace>& clocks);
  // Output clocks that tick, and have not done so before in this event iteration.
  std::vector<ClockPlace> listen();
  // Input clocks that connections lead to from these.
  [[nodiscard]] std::vector<ClockPlace> triggered_by(const std::vector<ClockPlace>& clocks) const;
  // After an event: connectors of clocks that have ticked in it are true, until the next step or event.
  void show_ticks();
  void hide_ticks();
  // An event iteration is over: no clock is active any more.
  void rest() noexcept;
  // Names of the clocks that are active.
  [[nodiscard]] std::vector<std::string> ticking() const;
  // Clocks that are active, and those that have ticked since ticks were hidden.
  [[nodiscard]] bool is_active(const ClockPlace& place) const { return active_[place.member].contains(place.clock); }
  [[nodiscard]] std::vector<ClockPlace> active() const;
  void set_active(const std::vector<ClockPlace>& clocks);
  [[nodiscard]] const std::set<ClockPlace>& ticked() const noexcept { return ticked_; }

 private:
  struct Carried {
    double value;            // eight bytes, as slots have them
    std::string unfit = {};  // the number that the type of the input does not have
  };

  void check_arrays(const PlannedEventMember&) const;
  [[nodiscard]] bool is_active(std::size_t member, const std::vector<std::size_t>& clocks) const;
  // What the wire to this input delivers, if that is something else.
  [[nodiscard]] std::optional<Carried> delivered_to(const PlannedEventMember&, std::size_t input) const;
  [[nodiscard]] Carried carried(const Wire&, Type) const;
  bool take(const PlannedEventMember&, std::size_t input, double t);
  void set(const PlannedEventMember&, const std::vector<std::size_t>& inputs, double t);
  void get(const PlannedEventMember&, const std::vector<std::size_t>& outputs);

  SlotValues& slot_values_;
  Members& members_;
  PlannedEvents plan_;  // clocks stay where they are
  std::vector<EventMode> modes_;
  std::map<Slot, Wire> wires_;                 // by destination
  std::vector<std::set<std::size_t>> active_;  // by member: clocks that tick in the present event iteration
  std::set<ClockPlace> ticked_;
};

// One event iteration of all components: whether something has changed and nothing needs another one, components that
// do need one, and clocks that have ticked in it.
struct EventRound {
  bool changed = false, settled = false;
  std::vector<std::string> again, ticking;
};

// Brings connected components in event mode to where they settle, and leaves them in event mode (FMI 2.0.4, 3.2.3; FMI
// 3.0, 2.2.8, 2.3.3 and 4.2.1).
class EventIteration {
 public:
  using Evaluate = std::function<void(double t)>;                // everything else that is exchanged
  using Update = std::function<std::vector<Updated>(double t)>;  // the discrete states of all components

  // `nominal`: usual sizes of the signals, by slot. Both functions may throw what they like.
  EventIteration(EventMembers& running, std::span<const double> nominal, Evaluate evaluate, Update update);

  // The event at t, with the ticks of all clocks that are due `until` then; whether anything has changed.
  bool settle(double t, double until);

  // The same in pieces, for whoever sets and gets variables between them: it begins with the ticks that are due; then
  // exchanges, as many as are wanted, and an update take turns until no other one is needed.
  void begin(double until);
  // Input clocks that tick with the next exchange.
  void trigger(const std::vector<ClockPlace>& clocks);
  // Within one event iteration: ticks and values go where connections lead, until nothing moves any more; whether
  // anything has moved.
  bool exchange(double t);
  // The discrete states of all components, which ends the event iteration.
  EventRound update(double t);

  // Between two pieces: input clocks that tick with the next exchange, and numbers of timers that have ticked since the
  // last update.
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

// Of an event iteration that does not converge, with components, clocks and signals that still change.
inline constexpr int max_event_iterations = 100;
IntegrationStopped endless(double t, const std::vector<std::string>& again, const std::vector<std::string>& ticking,
                           const std::vector<std::string>& moving = {});

}  // namespace ssptool
