#include "system_ode.hpp"

#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

#include "ode_solvers.hpp"
#include "stopped.hpp"

namespace ssptool::binding {

using namespace nb::literals;

SystemOde::SystemOde(runtime::System& system, const runtime::RunPlan& run) : system_(system), run_(run) {}

void SystemOde::rest() noexcept {
  alone_.reset();
  running_ = nullptr;
}

void SystemOde::integrate(int solver, nb::object cvode, nb::object explain, nb::object refused, nb::object sample) {
  explain_ = std::move(explain);
  refused_ = std::move(refused);
  sample_ = std::move(sample);
  told_ = {};
  ode_ = {};
  ode_.slopes = run_.slopes;
  ode_.kept_for = run_.kept_for;
  ode_.knots = run_.knots;
  if (!sample_.is_none())
    ode_.sample = [this](double t, double begin, double end, double now) {
      const nb::gil_scoped_acquire locked;
      if (const nb::object reason = sample_(t, begin, end, now); !reason.is_none()) throw stopped_from(reason);
    };
  ode_.make_solver = [&](OdeProblem& problem, OdeSize size, double rtol) {
    return solver_from(solver, problem, size, rtol, cvode);
  };
  ode_.explain = [this](const Outcome& outcome, double t) {
    const nb::gil_scoped_acquire locked;
    return stopped_from(explain_(NativeKernel(system_.kernel()).to_python(outcome), t));
  };
  ode_.refused = [this](const CallRefused& one, double t) {
    const nb::gil_scoped_acquire locked;
    return stopped_from(refused_(to_python(one), t));
  };
  translated([&] { running_ = &system_.integrate(ode_); });
  ode_.make_solver = {};
}

void SystemOde::stand() {
  if (alone_) system_.stand_at(alone_->reached());
}

void SystemOde::save(runtime::SystemState& state) const {
  if (alone_) state.alone = alone_->save();
}

void SystemOde::go_on(const runtime::SystemState& state) {
  if (!is_alone()) return;
  if (!state.alone) throw std::runtime_error("the state belongs to another system");
  stand_alone();
  alone_->go_on(*state.alone);
}

void SystemOde::stand_alone() {
  const runtime::Plan& plan = system_.plan();
  alone_ = std::make_unique<runtime::OdeAlone>(*running_, ode_, plan.everyone,
                                               runtime::CommunicationPoints{system_.grid(), plan.stop, run_.steps});
}

std::vector<double> SystemOde::jacobian(double t, std::span<const double> x) {
  std::vector<double> columns(x.size() * x.size());
  if (!running_->jacobian || x.size() != running_->system.size()) return {};
  running_->jacobian->forget();
  const bool found = translated_unlocked([&] { return running_->jacobian->fill(t, x.data(), columns.data()); });
  return found ? columns : std::vector<double>{};
}

runtime::OdeProbe* SystemOde::probe() {
  if (!is_alone() || running_ == nullptr) throw std::runtime_error("nothing but a running ODE can be probed");
  translated_unlocked([this] { stand(); });
  return new runtime::OdeProbe(running_->system, system_.plan().ode->parts);
}

void SystemOde::begin_alone() {
  stand_alone();
  translated_unlocked([&] { alone_->begin(); });
}

nb::object SystemOde::run_alone(double limit, std::span<double> rows) {
  runtime::OdeBatch found;
  {
    const Unlocked unlocked;
    found = alone_->run(limit, rows);
  }
  const nb::object stopped = reason_of([&] {
    if (found.failure) std::rethrow_exception(found.failure);
  });
  return nb::module_::import_("ssptool.engine.kernel.solutions")
      .attr("StepBatch")("steps"_a = found.rows, "begin"_a = found.t, "stopped"_a = stopped,
                         "finished"_a = found.finished, "waiting"_a = found.waiting, "events"_a = found.events,
                         "evaluations"_a = found.evaluations, "points"_a = array(found.points));
}

nb::tuple SystemOde::loops() const {
  nb::list found;
  for (const Index loop : system_.loops_of_ode()) found.append(loop == none ? Number{-1} : static_cast<Number>(loop));
  return nb::tuple(found);
}

void SystemOde::begin_beside() {
  translated_unlocked([&] { system_.begin_beside(ode_); });
}

std::pair<std::int64_t, std::int64_t> SystemOde::new_counts() {
  const std::int64_t more = running_->jacobian ? running_->jacobian->evaluations() : 0;
  const std::pair all{std::int64_t{running_->integration->events()},
                      running_->integration->effort().evaluations + more};
  const auto before = std::exchange(told_, all);
  return {all.first - before.first, all.second - before.second};
}

void SystemOde::show_end(double t) {
  translated_unlocked([&] { component().show_end(t); });
}

nb::object SystemOde::failure() {
  return reason_of([&] { component().rethrow(); });
}

nb::list SystemOde::take_remarks() {
  nb::list found;
  for (const runtime::IntegrationRemark& one : std::exchange(ode_.remarks, {}))
    found.append(nb::make_tuple(static_cast<int>(one.what), one.t, one.reason));
  return found;
}

}  // namespace ssptool::binding
