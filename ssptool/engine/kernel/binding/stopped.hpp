// Reasons to stop, converted to and from the exceptions of stopped.py.
#pragma once

#include "../core/stopped.hpp"
#include "kernel.hpp"

namespace ssptool::binding {

nb::module_ event_vocabulary();

// The reason in a Python exception of type Stopped.
IntegrationStopped stopped_from(nb::handle stopped);
// A Python exception of type Stopped, not raised.
nb::object to_python(const IntegrationStopped&);
// Raises it in Python.
void raise(const IntegrationStopped&);
void raise(const CallRefused&);

// Exceptions that callbacks raise are passed on unchanged.
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

// The same with the GIL released.
template <class Act>
auto translated_unlocked(const Act& act) {
  return translated([&] {
    const Unlocked unlocked;
    return act();
  });
}

}  // namespace ssptool::binding
