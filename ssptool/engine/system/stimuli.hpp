// What acts on a running system from outside beside tables: functions that drive inputs, and scenarios.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "../kernel/core/kernel.hpp"
#include "plan.hpp"

namespace ssptool::runtime {

// Puts values of functions at a time [s] into their columns, inside of the segment between two times; whether it could.
using Sample = std::function<bool(double t, double begin, double end)>;

// A parameter that takes a value.
struct ParameterSetting {
  PartVariable parameter;
  Value value;
};

// Segments are those between jumps. Exports have nothing of this kind, so that what is behind it is in runs only.
class Stimuli {
 public:
  Stimuli() = default;
  Stimuli(const Stimuli&) = delete;
  Stimuli& operator=(const Stimuli&) = delete;
  virtual ~Stimuli() = default;

  // A run begins, with this kernel.
  virtual void begin(Kernel&) = 0;
  // What is in force in a segment acts from now on.
  virtual void go_to(std::size_t segment) = 0;
  // What is set where a segment begins.
  [[nodiscard]] virtual const std::vector<ParameterSetting>& settings(std::size_t segment) const = 0;
};

// A scenario, as `frozen_scenario` states it for this plan; throws as `plan_from`.
std::unique_ptr<Stimuli> scenario_from(const std::string& text, const Plan&);

}  // namespace ssptool::runtime
