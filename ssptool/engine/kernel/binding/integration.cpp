#include "integration.hpp"

#include <memory>

#include "ode_solvers.hpp"

namespace ssptool::binding {

using namespace nb::literals;

namespace {

using CauseText = std::pair<std::string, std::string>;

std::vector<Cause> causes_from(nb::handle causes) {
  std::vector<Cause> found;
  for (const nb::handle one : causes) {
    auto [component, what] = nb::cast<CauseText>(one);
    found.push_back({std::move(component), std::move(what)});
  }
  return found;
}

nb::object to_python(const std::vector<Cause>& causes) {
  nb::list found;
  for (const Cause& one : causes) found.append(nb::make_tuple(one.component, one.what));
  return nb::tuple(found);
}

Pattern pattern_from(nb::handle matrix) {
  const auto cells = nb::cast<nb::ndarray<const bool, nb::ndim<2>, nb::c_contig, nb::device::cpu>>(matrix);
  Pattern found(cells.shape(0), cells.shape(1), false);
  for (std::size_t i = 0; i < found.rows; ++i)
    for (std::size_t j = 0; j < found.columns; ++j)
      if (cells.data()[i * found.columns + j]) found.set(i, j);
  return found;
}

PlannedOdeJacobian jacobian_from(nb::handle calls) {
  PlannedOdeJacobian found;
  found.directional = attribute<bool>(calls, "directional");
  found.relative_step = attribute<double>(calls, "relative_step");
  found.kept_for = attribute<int>(calls, "kept_for");
  if (const nb::object pattern = calls.attr("pattern"); !pattern.is_none()) found.pattern = pattern_from(pattern);
  for (const nb::handle part : nb::object(calls.attr("parts")))
    found.parts.push_back({indices<fmi::Reference>(part.attr("unknowns")), indices<fmi::Reference>(part.attr("knowns")),
                           indices<std::size_t>(part.attr("rows")), indices<std::size_t>(part.attr("columns")),
                           pattern_from(part.attr("pattern"))});
  found.wires = dense_from(nb::cast<Matrix>(calls.attr("wires")));
  return found;
}

std::vector<ContinuousModel> models_from(nb::handle models) {
  std::vector<ContinuousModel> found;
  for (const nb::handle one : models) {
    ContinuousModel::Facts facts{attribute<std::string>(one, "name"),
                                 attribute<int>(one, "fmi_major"),
                                 static_cast<std::size_t>(attribute<Number>(one, "states")),
                                 static_cast<std::size_t>(attribute<Number>(one, "indicators")),
                                 attribute<bool>(one, "reports_steps"),
                                 numbers<std::string>(one.attr("slopes")),
                                 attribute<bool>(one, "directional"),
                                 attribute<bool>(one, "saves_state")};
    found.emplace_back(std::move(facts), table_from(one.attr("functions")), address(one.attr("component")));
  }
  return found;
}

std::vector<Index> instances_from(nb::handle models) {
  std::vector<Index> found;
  for (const nb::handle one : models) found.push_back(index(attribute<Number>(one, "instance")));
  return found;
}

IntegrationSettings settings_from(nb::handle calls) {
  return {attribute<double>(calls, "rtol"),        attribute<double>(calls, "start"),
          attribute<double>(calls, "stop"),        attribute<double>(calls, "macro_step"),
          attribute<bool>(calls, "takes_samples"), attribute<bool>(calls, "retreats")};
}

IntegrationState state_from(nb::handle position) {
  IntegrationState state;
  state.t = attribute<double>(position, "t");
  state.x = doubles(position.attr("x"));
  state.next_time = attribute<double>(position, "next_time");
  state.timers = causes_from(position.attr("timers"));
  state.limited_until = attribute<double>(position, "limited_until");
  state.longest_step = attribute<double>(position, "longest_step");
  state.restarted = attribute<double>(position, "restarted");
  for (const std::size_t number : indices<std::size_t>(position.attr("at_zero"))) state.at_zero.insert(number);
  for (const nb::handle item : nb::object(position.attr("seen").attr("items")())) {
    auto [component, what] = nb::cast<CauseText>(item[0]);
    state.seen[{std::move(component), std::move(what)}] = {nb::cast<std::int64_t>(item[1][0]),
                                                           numbers<double>(item[1][1])};
  }
  state.events = attribute<std::int64_t>(position, "events");
  state.first_step = attribute<double>(position, "first_step");
  state.retreated = attribute<bool>(position, "retreated");
  return state;
}

}  // namespace

NativeIntegration::NativeIntegration(NativeKernel& kernel, NativeEvents& events, nb::handle calls, nb::object owner)
    : kernel_(kernel),
      everyone_(index(attribute<Number>(calls, "everyone"))),
      owner_(std::move(owner)),
      nominal_(doubles(calls.attr("nominal"))),
      system_(
          kernel.core(), models_from(nb::object(calls.attr("models"))),
          instances_from(nb::object(calls.attr("models"))),
          {index(attribute<Number>(calls, "whole")), index(attribute<Number>(calls, "slopes"))},
          indices<Slot>(calls.attr("inputs")),
          [this, &kernel](const Outcome& outcome, double t) {
            const nb::gil_scoped_acquire locked;
            return owner_.reason("explain", kernel.to_python(outcome), t).value();
          },
          [this](Index schedule, double t) {
            const nb::gil_scoped_acquire locked;
            return owner_.reason("rescue", nb::int_(schedule), t);
          }),
      events_(system_, events.core(), nominal_),
      integration_(connected(calls), events_,
                   solver_from(attribute<int>(calls, "solver"), system_, {system_.size(), system_.indicator_count()},
                               attribute<double>(calls, "rtol"), calls.attr("cvode")),
                   settings_from(calls)) {
  if (jacobian_) jacobian_->on_contradiction = [this] { owner_.call("contradicted"); };
  integration_.on_retreat = [this](double t, const std::string& reason) { owner_.call("retreated", t, reason); };
  integration_.on_row = [this](double t, RowOf) { add_row(t); };
  integration_.on_no_row = [this] { owner_.call("no_row"); };
}

Effort NativeIntegration::effort() const {
  Effort found = integration_.effort();
  if (jacobian_) found.evaluations += jacobian_->evaluations();
  return found;
}

nb::object NativeIntegration::position(double t) {
  const IntegrationState state = does([t](Integration& core) { return core.position(t); });
  nb::dict seen;
  for (const auto& [cause, history] : state.seen)
    seen[nb::make_tuple(cause.component, cause.what)] = nb::make_tuple(history.total, history.times);
  return nb::module_::import_("ssptool.engine.kernel.ode")
      .attr("KernelPosition")(state.t, array(state.x), state.next_time, to_python(state.timers), state.limited_until,
                              state.longest_step, state.restarted,
                              nb::cast(std::vector<std::size_t>(state.at_zero.begin(), state.at_zero.end())), seen,
                              state.events, state.first_step, state.retreated);
}

void NativeIntegration::go_to(nb::handle position) {
  const IntegrationState state = state_from(position);
  does([&](Integration& core) { core.go_to(state); });
}

void NativeIntegration::start_over(nb::handle position) {
  const IntegrationState state = state_from(position);
  does([&](Integration& core) { core.start_over(state); });
}

void NativeIntegration::intervene(nb::callable action) {
  does([&](Integration& core) {
    core.intervene([&] {
      const nb::gil_scoped_acquire locked;
      action();
    });
  });
}

nb::object NativeIntegration::jacobian(double t, nb::handle states) {
  const std::vector<double> x = doubles(states);
  const std::size_t n = x.size();
  std::vector<double> columns(n * n);
  if (!jacobian_ || n != system_.size()) return nb::none();
  jacobian_->forget();
  if (!translated_unlocked([&] { return jacobian_->fill(t, x.data(), columns.data()); })) return nb::none();
  DenseMatrix matrix{n, n};
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t i = 0; i < n; ++i) matrix(i, j) = columns[j * n + i];
  return array(std::move(matrix));
}

std::vector<double> NativeIntegration::make_row(double t) {
  Kernel& core = kernel_.core();
  core.inputs.exchange(everyone_);
  core.history.accept(t);
  std::vector<double> row(core.recorder.width());
  if (const Outcome outcome = core.recorder.record(t, row); !outcome.ok()) throw explained(outcome, t);
  return row;
}

void NativeIntegration::add_row(double t) {
  std::vector<double> row = make_row(t);
  const nb::gil_scoped_acquire locked;
  owner_.call("row", array(std::move(row)));
}

IntegrationStopped NativeIntegration::explained(const Outcome& outcome, double t) const {
  const nb::gil_scoped_acquire locked;
  return owner_.reason("explain", kernel_.to_python(outcome), t).value();
}

OdeSystem& NativeIntegration::connected(nb::handle calls) {
  if (attribute<bool>(calls, "has_stimuli")) system_.stimuli = &owner_;
  if (const nb::object jacobian = calls.attr("jacobian"); !jacobian.is_none())
    system_.jacobian_of = &jacobian_.emplace(system_, jacobian_from(jacobian));
  return system_;
}

void bind_integration(nb::module_& module) {
  using Self = NativeIntegration;
  nb::class_<Self>(module, "NativeIntegration")
      .def(nb::init<NativeKernel&, NativeEvents&, nb::handle, nb::object>(), "kernel"_a, "events"_a, "calls"_a,
           "owner"_a, nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(),
           nb::sig("def __init__(self, kernel: NativeKernel, events: NativeEvents, calls: "
                   "ssptool.engine.kernel.ode.OdeCalls, owner: ssptool.engine.kernel.ode.OdeOwner) -> None"))
      .def_prop_ro("time", [](Self& self) { return self.core().time(); })
      .def_prop_ro("events", [](Self& self) { return self.core().events(); })
      .def_prop_ro(
          "effort", [](Self& self) { return to_python(self.effort()); },
          nb::sig("def effort(self) -> ssptool.engine.kernel.ode.Effort"))
      .def("begin", [](Self& self) { self.does([](Integration& core) { core.begin(); }); })
      .def("cross_at_start", [](Self& self) { self.does([](Integration& core) { core.cross_at_start(); }); })
      .def(
          "advance",
          [](Self& self, double point, double limit) {
            return self.does([&](Integration& core) { return core.advance(point, limit); });
          },
          "point"_a, "limit"_a)
      .def("position", &Self::position, "t"_a,
           nb::sig("def position(self, t: float) -> ssptool.engine.kernel.ode.KernelPosition"))
      .def("go_to", &Self::go_to, "position"_a,
           nb::sig("def go_to(self, position: ssptool.engine.kernel.ode.KernelPosition) -> None"))
      .def("start_over", &Self::start_over, "position"_a,
           nb::sig("def start_over(self, position: ssptool.engine.kernel.ode.KernelPosition) -> None"))
      .def("intervene", &Self::intervene, "action"_a,
           nb::sig("def intervene(self, action: collections.abc.Callable[[], None]) -> None"))
      .def("jacobian", &Self::jacobian, "t"_a, "x"_a,
           nb::sig("def jacobian(self, t: float, x: ssptool.engine.kernel.interface.Floats) -> "
                   "ssptool.engine.kernel.interface.Floats | None"))
      .def("close", &Self::close);
}

}  // namespace ssptool::binding
