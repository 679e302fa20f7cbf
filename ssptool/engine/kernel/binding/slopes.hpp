// The right-hand side of an ODE as a Python class.
#pragma once

#include <nanobind/stl/tuple.h>

#include <tuple>

#include "../core/slopes.hpp"
#include "kernel.hpp"

namespace ssptool::binding {

// The right-hand side of an ODE for an integrator; it keeps its kernel alive.
class NativeSlopes {
 public:
  // Each part: component, functions that set time and states and get slopes (all addresses), number of states.
  NativeSlopes(NativeKernel& kernel, Number schedule, nb::handle parts, nb::handle inputs, std::uintptr_t numbers)
      : kernel_(kernel),
        core_(kernel.core().slot_values, kernel.core().schedules, index(schedule), parts_from(parts),
              indices<Slot>(inputs), reinterpret_cast<Slopes::Numbers*>(numbers)) {}

  Slopes& core() { return core_; }

  // (stage, part, status, outcome), or None
  nb::object take_trouble() {
    const Trouble trouble = core_.take_trouble();
    if (trouble.stage == Stage::none) return nb::none();
    return nb::make_tuple(static_cast<int>(trouble.stage), trouble.part, trouble.status,
                          kernel_.to_python(trouble.outcome));
  }

 private:
  static std::vector<ContinuousPart> parts_from(nb::handle parts) {
    std::vector<ContinuousPart> found;
    std::size_t first = 0;
    for (const nb::handle item : parts) {
      const auto [component, set_time, set_states, get_slopes, count] =
          nb::cast<std::tuple<std::uintptr_t, std::uintptr_t, std::uintptr_t, std::uintptr_t, std::size_t>>(item);
      found.push_back({reinterpret_cast<void*>(component), reinterpret_cast<fmi::exchange::SetTime*>(set_time),
                       reinterpret_cast<fmi::exchange::SetStates*>(set_states),
                       reinterpret_cast<fmi::exchange::GetSlopes*>(get_slopes), first, count});
      first += count;
    }
    return found;
  }

  NativeKernel& kernel_;
  Slopes core_;
};

}  // namespace ssptool::binding
