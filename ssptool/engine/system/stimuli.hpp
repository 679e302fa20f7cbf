// Influences from outside on a running system, except tables: functions that drive inputs, and scenarios.
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

// Two times are equal if they differ by less than 1e-12 s, or relatively by less than 1e-12.
inline bool same_time(double one, double other) noexcept {
  return std::abs(one - other) <= 1e-12 * std::max({1.0, std::abs(one), std::abs(other)});
}

// Writes values of functions at a time [s] into their columns, within the segment between two times; returns whether it
// could.
using Sample = std::function<bool(double t, double begin, double end)>;

// A parameter that gets a value.
struct ParameterSetting {
  PartVariable parameter;
  Value value;
};

// Objects that stimuli change: the kernel of all parts, that of an ODE next to other parts, and signals that are
// exchanged at events only. A null pointer means that there is no such object, or not yet.
struct ActedOn {
  Kernel& kernel;
  Kernel* inside;
  EventMembers* events;
  EventMembers* events_of_ode;
};

// Segments lie between jumps. Exported systems have no stimuli, so that their implementation is only in runs.
class Stimuli {
 public:
  Stimuli() = default;
  Stimuli(const Stimuli&) = delete;
  Stimuli& operator=(const Stimuli&) = delete;
  virtual ~Stimuli() = default;

  // Activates what applies in a segment.
  virtual void go_to(std::size_t segment, const ActedOn&) = 0;
  // Parameters to set at the start of a segment.
  [[nodiscard]] virtual const std::vector<ParameterSetting>& settings(std::size_t segment) const = 0;
};

// A scenario as written by `frozen_scenario` for this plan; throws as `plan_from`.
std::unique_ptr<Stimuli> scenario_from(const std::string& text, const Plan&);

}  // namespace ssptool::runtime
