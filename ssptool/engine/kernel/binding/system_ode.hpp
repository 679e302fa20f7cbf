// The ODE of a system that carries out a frozen plan, as a run integrates it.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "../../system/ode_alone.hpp"
#include "../../system/ode_probe.hpp"
#include "../../system/run_plan.hpp"
#include "../../system/system.hpp"
#include "kernel.hpp"

namespace ssptool::binding {

class SystemOde {
 public:
  // `run` must stay.
  SystemOde(runtime::System& system, const runtime::RunPlan& run);

  // Before the system begins another run.
  void rest() noexcept;
  // By a solver with this number, to which `cvode` gives functions of CVODE by their names; `explain` says what an
  // outcome of a kernel at a time [s] means, and `refused` what a function means that a component has refused;
  // `sample` has functions called that drive inputs, see OdeOfRun, and returns a reason to stop or None.
  void integrate(int solver, nb::object cvode, nb::object explain, nb::object refused, nb::object sample);
  // Explanations lead to whoever uses the system, in a circle that Python does not see.
  void let_go() {
    explain_.reset();
    refused_.reset();
    sample_.reset();
  }

  // Into a saved state, before that of the system is made; and from one, after that.
  void stand();
  void save(runtime::SystemState&) const;
  void go_on(const runtime::SystemState&);
  // Something is done to its parts, in event mode, if it is the whole system.
  [[nodiscard]] bool is_alone() const noexcept { return system_.plan().ode && system_.plan().ode->alone; }
  void intervene(const std::function<void()>& act) { alone_->intervene(act); }

  // Of a system that is nothing but an ODE: the first instant, and rows.
  void begin_alone();
  nb::object run_alone(double limit, const Rows& rows);

  // Of an ODE beside other components: its kernel, and in it the loops by number in the plan.
  NativeKernel* inside() { return new NativeKernel(system_.inside()); }
  [[nodiscard]] nb::tuple loops() const;
  // The first instant. What goes wrong comes out of the first step.
  void begin_beside();
  [[nodiscard]] runtime::OdeOfRun& of_run() noexcept { return ode_; }
  [[nodiscard]] double time() const { return running_->integration->time(); }  // [s]
  // Events and evaluations so far.
  [[nodiscard]] nb::tuple counts() const;
  void show_end(double t);
  // Raises what has ended the last step.
  void rethrow();

  // Since the last call: (what, t, reason) of each.
  nb::list take_remarks();
  // df/dx (n, n) at t [s] and states, columns together in memory; empty: no way to it is planned, or one has failed.
  [[nodiscard]] std::vector<double> jacobian(double t, std::span<const double> x);
  // Of a system that is nothing but an ODE, where its last row is, as long as this run goes on.
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
  std::unique_ptr<runtime::OdeAlone> alone_;
};

// An IntegrationStopped as Stopped, a CallRefused as Refused; None for none.
nb::object reason_to_python(const std::exception_ptr& failure);

}  // namespace ssptool::binding
