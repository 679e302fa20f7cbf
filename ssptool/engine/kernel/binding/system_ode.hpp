// The ODE of a system that executes a frozen plan, as a run integrates it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "../../system/ode_alone.hpp"
#include "../../system/ode_probe.hpp"
#include "../../system/run_plan.hpp"
#include "../../system/system.hpp"
#include "kernel.hpp"

namespace ssptool::binding {

class SystemOde {
 public:
  // `run` must outlive this object.
  SystemOde(runtime::System& system, const runtime::RunPlan& run);

  // Must be called before the system begins another run.
  void rest() noexcept;
  // Integrates with the solver of this number; `cvode` returns functions of CVODE by name. `explain` describes an
  // outcome of a kernel at a time [s], and `refused` the refusal of a function by a component. `sample` calls the
  // functions that drive inputs (see OdeOfRun) and returns a reason to stop, or None.
  void integrate(int solver, nb::object cvode, nb::object explain, nb::object refused, nb::object sample);
  // Breaks the reference cycle through the explanations, which Python does not see.
  void let_go() {
    explain_.reset();
    refused_.reset();
    sample_.reset();
  }

  // `save` must be called before the state of the system is saved, and `go_on` after it is restored.
  void stand();
  void save(runtime::SystemState&) const;
  void go_on(const runtime::SystemState&);
  // If the ODE is the whole system: calls a function on its parts in event mode.
  [[nodiscard]] bool is_alone() const noexcept { return system_.plan().ode && system_.plan().ode->alone; }
  void intervene(const std::function<void()>& act) { alone_->intervene(act); }

  // For a system that consists only of an ODE: the first instant, and rows.
  void begin_alone();
  nb::object run_alone(double limit, std::span<double> rows);

  // For an ODE next to other components: its kernel, and the loops in it by number in the plan.
  NativeKernel* inside() { return new NativeKernel(system_.inside()); }
  [[nodiscard]] nb::tuple loops() const;
  // The first instant. An error is thrown by the first step.
  void begin_beside();
  [[nodiscard]] runtime::OdeOfRun& of_run() noexcept { return ode_; }
  [[nodiscard]] double time() const { return running_->integration->time(); }  // [s]
  // Events and evaluations since the last call.
  std::pair<std::int64_t, std::int64_t> new_counts();
  void show_end(double t);
  // Reason to stop that has ended the last step; other exceptions are passed on.
  nb::object failure();

  // Since the last call: (what, t, reason) of each.
  nb::list take_remarks();
  // df/dx (n, n) at t [s] and these states, stored by columns; empty if no method is planned, or if it has failed.
  [[nodiscard]] std::vector<double> jacobian(double t, std::span<const double> x);
  // For a system that consists only of an ODE: evaluates it at its last row; valid during this run.
  [[nodiscard]] runtime::OdeProbe* probe();
  [[nodiscard]] const RescueWork& rescues() const noexcept { return ode_.rescues; }

 private:
  void stand_alone();
  [[nodiscard]] OdeComponent& component() { return system_.component(); }

  runtime::System& system_;
  const runtime::RunPlan& run_;
  runtime::OdeOfRun ode_;
  nb::object explain_, refused_, sample_;
  runtime::RunningOde* running_ = nullptr;
  std::pair<std::int64_t, std::int64_t> told_;  // all events and evaluations at the last call of `new_counts`
  std::unique_ptr<runtime::OdeAlone> alone_;
};

}  // namespace ssptool::binding
