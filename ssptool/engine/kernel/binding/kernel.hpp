// The kernel as a Python class; the GIL is released while components compute.
#pragma once

#include <memory>
#include <type_traits>

#include "conversions.hpp"

namespace ssptool::binding {

template <class Argument>
using FromPython = std::conditional_t<std::is_same_v<Argument, Index>, Number, Argument>;

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif

// A constant defined in calls.py.
nb::object vocabulary(const char* name);
// The Python module solutions.py.
nb::object solutions_module();

class NativeKernel {
 public:
  // For the kernel of a system; the system may create another one for its next run.
  explicit NativeKernel(std::shared_ptr<Kernel> core)
      : core_(std::move(core)),
        outcome_type_(vocabulary("Outcome")),
        code_type_(vocabulary("Code")),
        ok_(vocabulary("OK")),
        call_type_(vocabulary("Call")) {}

  NativeKernel(const NativeKernel&) = delete;
  NativeKernel& operator=(const NativeKernel&) = delete;
  ~NativeKernel() = default;

  Kernel& core() { return *core_; }

  Number schedule(nb::handle steps) {
    std::vector<CallOrLoop> calls;
    for (const nb::handle step : steps) {
      if (nb::isinstance(step, call_type_))
        calls.emplace_back(call_from(step));
      else
        calls.emplace_back(SolveLoop{static_cast<Index>(attribute<Number>(step, "loop"))});
    }
    return static_cast<Number>(core_->schedules.add(calls));
  }

  // (loop, solution) of each rescue of the last evaluation
  nb::tuple latest_rescues() const;

  template <class Operation>
  nb::object unlocked(Operation operation) {
    Outcome outcome;
    {
      Unlocked unlocked;
      outcome = operation(*core_);
    }
    return to_python(outcome);
  }

  nb::object to_python(const Outcome& outcome) const {
    if (outcome.ok() && outcome.steps == 0 && outcome.iterations == 0) return ok_;
    return outcome_type_(code_type_(static_cast<int>(outcome.code)), outcome.instance, outcome.function,
                         outcome.fmi_status, outcome.loop, outcome.slot, outcome.steps, outcome.instruction,
                         outcome.iterations);
  }

 private:
  std::shared_ptr<Kernel> core_;
  nb::object outcome_type_, code_type_, ok_, call_type_;
};

// Makes an operation of a part of the kernel callable with indices from Python; the GIL is released if it may call
// components.
template <class Part, class Result, class... Arguments>
auto operation(Part Kernel::* part, Result (Part::*own)(Arguments...)) {
  return [part, own](NativeKernel& self, FromPython<Arguments>... arguments) {
    if constexpr (std::is_same_v<Result, Outcome>)
      return self.unlocked([&](Kernel& core) { return ((core.*part).*own)(static_cast<Arguments>(arguments)...); });
    else
      return ((self.core().*part).*own)(static_cast<Arguments>(arguments)...);
  };
}

nb::class_<NativeKernel> bind_kernel(nb::module_&);
void bind_signs(nb::module_&);
void bind_system(nb::module_&);
void bind_probe(nb::module_&);

nb::object solution_to_python(Solution, nb::object rejected);
nb::tuple iterates_to_python(std::vector<Iterate>);
nb::object to_python(IterationReport);
nb::object to_python(const AcceptedSteps&);
// A two-dimensional array.
nb::object rows_of(std::vector<double>, std::size_t width);

}  // namespace ssptool::binding
