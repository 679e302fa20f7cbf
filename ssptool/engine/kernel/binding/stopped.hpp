// Reasons to stop, as exceptions of stopped.py.
#pragma once

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

}  // namespace ssptool::binding
