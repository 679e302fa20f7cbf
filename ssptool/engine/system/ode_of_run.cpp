#include "ode_of_run.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "system.hpp"

namespace ssptool::runtime {

namespace {

// Only the parts know the sizes of array states; with array states, the dependencies are therefore unknown.
std::optional<PlannedOdeJacobian> jacobian_of_run(const Plan& plan, std::size_t size, int kept_for) {
  std::optional<PlannedOdeJacobian> found = plan.ode->jacobian;
  if (!found) return found;
  found->kept_for = kept_for;
  std::size_t scalars = 0;
  for (const Index part : plan.ode->parts) scalars += plan.parts[part].exchange->states;
  if (scalars != size) {
    found->directional = false;
    found->pattern.reset();
    found->parts.clear();
    found->wires = DenseMatrix(0, 0);
  }
  return found;
}

// Evaluates a schedule, with more robust methods for loops that need them.
Outcome evaluate_surely(Kernel& kernel, Index schedule, OdeOfRun& run) {
  const Outcome outcome = kernel.rescues.evaluate(schedule);
  for (const Rescue& one : kernel.rescues.latest()) {
    ++run.rescues.solved;
    run.rescues.iterations += one.solution.iterations;
    if (one.solution.contradicted) run.remarks.push_back({IntegrationRemark::What::wrong_derivatives_in_loop});
  }
  return outcome;
}

}  // namespace

std::vector<double> row_of(Kernel& kernel, Index everyone, double t, const OdeSystem::Explain& explain) {
  kernel.inputs.exchange(everyone);
  kernel.history.accept(t);
  std::vector<double> row(kernel.recorder.width());
  if (const Outcome outcome = kernel.recorder.record(t, row); !outcome.ok())
    throw IntegrationStopped(explain(outcome, t));
  return row;
}

RunningOde& System::integrate(OdeOfRun& run) {
  Kernel& kernel = kernel_of_ode();
  ode_ = std::make_unique<RunningOde>(kernel, models_of(parts_, *plan_.ode, run.slopes), plan_, schedules_of_ode(),
                                      members_of_ode(), run.explain,
                                      [this, &run](Index schedule, double t) { return rescued(run, schedule, t); });
  const IntegrationSettings settings = integration_settings();
  OdeSystem& system = ode_->system;
  ode_->be_integrated(jacobian_of_run(plan_, system.size(), run.kept_for),
                      run.make_solver(system, {system.size(), system.indicator_count()}, settings.rtol), settings);
  ode_->integration->on_retreat = [&run](double t, const std::string& reason) {
    run.remarks.push_back({IntegrationRemark::What::retreat, t, reason});
  };
  if (component_ != nullptr)
    attach_with_rows(run);
  else
    drive(run);
  if (ode_->jacobian)
    ode_->jacobian->on_contradiction = [&run] { run.remarks.push_back({IntegrationRemark::What::wrong_derivatives}); };
  return *ode_;
}

std::optional<IntegrationStopped> System::rescued(OdeOfRun& run, Index schedule, double t) {
  Kernel& kernel = kernel_of_ode();
  std::vector<Iterate> iterates;
  const Outcome outcome = [&] {
    const Watching watching(kernel.loops, iterate_log_ != nullptr ? &iterates : nullptr);
    return evaluate_surely(kernel, schedule, run);
  }();
  log_iterates(iterates, component_ != nullptr ? loops_of_ode_ : loops_, t);
  if (outcome.ok()) return {};
  return run.explain(outcome, t);
}

// Inputs and scenarios of a system that consists only of an ODE.
class System::StimuliOfOde final : public OdeStimuli {
 public:
  StimuliOfOde(System& system, OdeOfRun& run) : system_(system), run_(run) {
    if (run.sample)
      system.sample_with([this](double t, double begin, double end) {
        run_.sample(t, begin, end, now_);
        return true;
      });
  }

  void write(double t) override {
    now_ = t;
    if (system_.sample_) system_.sample_(t, system_.begin_of_segment(), end());
    system_.kernel_->driven.write(t);
  }

  double limit(double t) override {
    for (auto knot = std::ranges::upper_bound(run_.knots, t); knot != run_.knots.end(); ++knot)
      if (!same_time(*knot, t)) return std::min(*knot, end());
    return end();
  }

  double end() override { return system_.end_of_segment(); }

  void jump(double t) override {
    now_ = t;
    try {
      if (const Outcome outcome = system_.enter_segment(); !outcome.ok())
        throw IntegrationStopped(run_.explain(outcome, t));
    } catch (const Refused& refused) {
      const Refusal& what = refused.refusal;
      if (what.unsettled == Unsettled::nothing) throw CallRefused(what.part, what.function, what.status);
      throw IntegrationStopped(Ending::events, refused.what(),
                               "look for equations that contradict each other around a loop of connections",
                               system_.begin_of_segment());
    }
  }

 private:
  System& system_;
  OdeOfRun& run_;
  double now_ = 0.0;  // [s]
};

void System::drive(OdeOfRun& run) {
  if (plan_.tables.columns.empty() && stimuli_ == nullptr) return;
  run.stimuli = std::make_unique<StimuliOfOde>(*this, run);
  ode_->system.stimuli = run.stimuli.get();
}

void System::attach_with_rows(OdeOfRun& run) {
  OdeExchange exchange = exchange_of(plan_);
  for (std::size_t column = 0; column < plan_.recorded.size(); ++column)
    if (is_content(plan_.types[plan_.recorded[column]])) exchange.content_columns.push_back(column + 1);
  component_->attach(ode_->system, ode_->events, *ode_->integration, std::move(exchange));
  std::vector<Index> everyone;
  for (Index part = 0; part < parts_.size(); ++part) everyone.push_back(part);
  component_->make_row = [this, &run, group = inside_->groups.add(everyone)](double t) {
    return row_of(*inside_, group, t, run.explain);
  };
}

// An error at the start is thrown by the first step.
void System::begin_beside(OdeOfRun& run) {
  begin_inside();
  try {
    component_->begin();
  } catch (const IntegrationStopped& stopped) {
    component_->refuse_steps(stopped);
  } catch (const CallRefused& refused) {
    component_->refuse_steps(run.refused(refused, ode_->integration->time()));
  }
  watched([&] { (void)evaluate_surely(*kernel_, everything_, run); });
  kernel_->inputs.exchange(plan_.everyone);
  kernel_->history.accept(now_);
}

void System::react(OdeOfRun& run) {
  if (steps_end_at_events()) return watched([this] { (void)handle_event({}); });
  component_->intervene([] {});
  kernel_->inputs.exchange(plan_.everyone);
  watched([&] { check(evaluate_surely(*kernel_, everything_, run), now_); });
  kernel_->inputs.exchange(plan_.everyone);
  kernel_->history.accept_after_event(now_);
}

}  // namespace ssptool::runtime
