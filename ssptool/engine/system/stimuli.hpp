// What acts on a running system from outside beside tables: functions that drive inputs, and scenarios.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "../kernel/core/events.hpp"
#include "../kernel/core/kernel.hpp"
#include "plan.hpp"

namespace ssptool::runtime {

// Two times that differ by less than 1e-12, absolutely or relatively, are one [s].
inline bool same_time(double one, double other) noexcept {
  return std::abs(one - other) <= 1e-12 * std::max({1.0, std::abs(one), std::abs(other)});
}

// Puts values of functions at a time [s] into their columns, inside of the segment between two times; whether it could.
using Sample = std::function<bool(double t, double begin, double end)>;

// A parameter that takes a value.
struct ParameterSetting {
  PartVariable parameter;
  Value value;
};

// What is acted on: the kernel of all parts, and beside it that of an ODE; signals that are exchanged at events only.
// Null: there is none, or none yet.
struct ActedOn {
  Kernel& kernel;
  Kernel* inside;
  EventMembers* events;
  EventMembers* events_of_ode;
};

// Segments are those between jumps. Exports have nothing of this kind, so that what is behind it is in runs only.
class Stimuli {
 public:
  Stimuli() = default;
  Stimuli(const Stimuli&) = delete;
  Stimuli& operator=(const Stimuli&) = delete;
  virtual ~Stimuli() = default;

  // What is in force in a segment acts from now on.
  virtual void go_to(std::size_t segment, const ActedOn&) = 0;
  // What is set where a segment begins.
  [[nodiscard]] virtual const std::vector<ParameterSetting>& settings(std::size_t segment) const = 0;
};

// A scenario, as `frozen_scenario` states it for this plan; throws as `plan_from`.
std::unique_ptr<Stimuli> scenario_from(const std::string& text, const Plan&);

}  // namespace ssptool::runtime
