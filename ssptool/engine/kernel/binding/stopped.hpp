// Reasons to stop, converted to and from failures of runs (engine/failure.py).
#pragma once

#include "../core/stopped.hpp"
#include "kernel.hpp"

namespace ssptool::binding {

// The reason in a `Failure`.
IntegrationStopped stopped_from(nb::handle failure);
// A `Failure`.
nb::object to_python(const IntegrationStopped&);
// A `SystemRefusal`.
nb::object to_python(const CallRefused&);
// Raises a `RunError` or a `FmiError` in Python.
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

// The reason to stop, or None.
template <class Act>
nb::object reason_of(const Act& act) {
  try {
    act();
  } catch (const IntegrationStopped& stopped) {
    return to_python(stopped);
  } catch (const CallRefused& refused) {
    return to_python(refused);
  }
  return nb::none();
}

}  // namespace ssptool::binding
