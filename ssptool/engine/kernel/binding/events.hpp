// Events as a Python class, and what the core throws as exceptions of event_calls.py.
#pragma once

#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <utility>
#include <vector>

#include "../core/events.hpp"
#include "../core/stopped.hpp"
#include "kernel.hpp"

namespace ssptool::binding {

nb::module_ event_vocabulary();

// The reason that Python has given as an exception of type Stopped.
IntegrationStopped stopped_from(nb::handle stopped);
// An exception of type Stopped, not raised.
nb::object to_python(const IntegrationStopped&);
// Set as the error of Python.
void raise(const IntegrationStopped&);
void raise(const CallRefused&);

// What callbacks raise passes as it is.
template <class Act>
auto translated(const Act& act) {
  try {
    return act();
  } catch (const IntegrationStopped& stopped) {
    raise(stopped);
  } catch (const CallRefused& refused) {
    raise(refused);
  }
  throw nb::python_error();
}

// The same while no Python runs.
template <class Act>
auto translated_unlocked(const Act& act) {
  return translated([&] {
    const Unlocked unlocked;
    return act();
  });
}

PlannedEvents events_from(nb::handle calls);
std::vector<FunctionTable> tables_from(nb::handle calls);
FunctionTable table_from(nb::handle functions);

// It keeps its kernel alive.
class NativeEvents {
 public:
  NativeEvents(NativeKernel& kernel, nb::handle calls)
      : core_(kernel.core().slot_values, kernel.core().members, events_from(calls), tables_from(calls)) {}

  EventMembers& core() { return core_; }

  bool settle(const Vector& nominal, nb::callable evaluate, nb::callable update, double t, double until) {
    EventIteration iteration(
        core_, span_of(nominal),
        [&](double time) {
          const nb::gil_scoped_acquire locked;
          evaluate(time);
        },
        [&](double time) {
          const nb::gil_scoped_acquire locked;
          std::vector<Updated> found;
          for (const nb::handle one : update(time))
            found.push_back({nb::cast<std::string>(one[0]), nb::cast<bool>(one[1])});
          return found;
        });
    return translated_unlocked([&] { return iteration.settle(t, until); });
  }

  // (member, clock, time) of each timer
  nb::list timers() const {
    nb::list found;
    for (const Timer& timer : core_.clock_schedule.timers()) found.append(to_python(timer));
    return found;
  }

  nb::list due(double until) const {
    nb::list found;
    for (const std::size_t number : core_.clock_schedule.due(until))
      found.append(to_python(core_.clock_schedule.timers()[number]));
    return found;
  }

  std::vector<std::pair<std::string, bool>> update(double t) {
    std::vector<std::pair<std::string, bool>> found;
    for (const Updated& one : translated_unlocked([&] { return core_.update(t); }))
      found.emplace_back(one.component, one.again);
    return found;
  }

 private:
  [[nodiscard]] nb::tuple to_python(const Timer& timer) const {
    const PlannedClock* const first = core_.plan().members[timer.member].clocks.data();
    return nb::make_tuple(timer.member, timer.clock - first, core_.clock_schedule.time(timer));
  }

  EventMembers core_;
};

}  // namespace ssptool::binding
