// An ODE beside co-simulation as a Python class: the kernel that couples steps it without Python.
#include "../core/ode_component.hpp"

#include <utility>

#include "integration.hpp"

namespace ssptool::binding {

using namespace nb::literals;

namespace {

nb::dict addresses(const std::map<std::string, void*>& functions) {
  nb::dict found;
  for (const auto& [name, function] : functions) found[name.c_str()] = reinterpret_cast<std::uintptr_t>(function);
  return found;
}

std::vector<bool> marked(const std::vector<Slot>& slots, std::size_t count) {
  std::vector<bool> found(count);
  for (const Slot slot : slots) found.at(slot) = true;
  return found;
}

OdeExchange exchange_from(nb::handle calls, std::size_t slots) {
  OdeExchange found;
  found.moving = numbers<bool>(calls.attr("moving"));
  found.nominal = doubles(calls.attr("nominal"));
  found.received = indices<Slot>(calls.attr("received"));
  found.shown = indices<Slot>(calls.attr("shown"));
  found.event_signals = indices<Slot>(calls.attr("event_signals"));
  found.event_sources = indices<Slot>(calls.attr("event_sources"));
  found.contents = marked(indices<Slot>(calls.attr("contents")), slots);
  found.content_columns = indices<std::size_t>(calls.attr("content_columns"));
  found.start = attribute<double>(calls, "start");
  found.macro_step = attribute<double>(calls, "macro_step");
  found.hands_over = attribute<bool>(calls, "hands_over");
  return found;
}

nb::object to_python(EventRow row) { return nb::make_tuple(row.end, array(std::move(row.row))); }

// It keeps its kernel and, from `attach` on, the integration alive.
class NativeOdeComponent {
 public:
  explicit NativeOdeComponent(NativeKernel& outside) : outside_(outside), core_(outside.core()) {}

  OdeComponent& core() { return core_; }

  [[nodiscard]] nb::dict functions(nb::handle names) const {
    nb::dict found;
    for (const nb::handle name : names) found[name] = reinterpret_cast<std::uintptr_t>(OdeComponent::idle_function());
    found.update(addresses(OdeComponent::functions()));
    return found;
  }

  void attach(NativeIntegration& integration, nb::handle exchange) {
    core_.attach(integration.system(), integration.events(), integration.core(),
                 exchange_from(exchange, outside_.core().slot_values.size()));
    core_.make_row = [&integration](double t) { return integration.make_row(t); };
  }

  template <class Act>
  auto does(const Act& act) {
    return translated_unlocked([&] { return act(core_); });
  }

  void intervene(nb::callable action) {
    does([&](OdeComponent& core) {
      core.intervene([&] {
        const nb::gil_scoped_acquire locked;
        action();
      });
    });
  }

  std::vector<std::pair<std::string, bool>> update(double t) {
    std::vector<std::pair<std::string, bool>> found;
    for (const Updated& one : does([t](OdeComponent& core) { return core.update(t); }))
      found.emplace_back(one.component, one.again);
    return found;
  }

  nb::object take_row(double until) {
    auto row = core_.take_row(until);
    return row ? to_python(std::move(*row)) : nb::none();
  }

  [[nodiscard]] nb::list rows() const {
    nb::list found;
    for (const EventRow& row : core_.rows()) found.append(to_python(row));
    return found;
  }

  void go_on_from(const Vector& signs, double end, nb::handle rows) {
    std::deque<EventRow> found;
    for (const nb::handle row : rows) found.push_back({nb::cast<double>(row[0]), doubles(row[1])});
    core_.set_rows(std::move(found));
    core_.go_on_from(span_of(signs), end);
  }

 private:
  NativeKernel& outside_;
  OdeComponent core_;
};

}  // namespace

void bind_ode_component(nb::module_& module) {
  using Self = NativeOdeComponent;
  nb::class_<Self>(module, "NativeOdeComponent")
      .def(nb::init<NativeKernel&>(), "outside"_a, nb::keep_alive<1, 2>())
      .def("functions", &Self::functions, "names"_a,
           nb::sig("def functions(self, names: collections.abc.Iterable[str]) -> dict[str, int]"))
      .def_prop_ro("address", [](Self& self) { return reinterpret_cast<std::uintptr_t>(&self.core()); })
      .def("attach", &Self::attach, "integration"_a, "exchange"_a, nb::keep_alive<1, 2>(),
           nb::sig("def attach(self, integration: NativeIntegration, exchange: "
                   "ssptool.engine.kernel.ode.OdeExchangeCalls) -> None"))
      .def("begin", [](Self& self) { self.does([](OdeComponent& core) { core.begin(); }); })
      .def(
          "refuse_steps", [](Self& self, nb::handle stopped) { self.core().refuse_steps(stopped_from(stopped)); },
          "stopped"_a, nb::sig("def refuse_steps(self, stopped: ssptool.engine.kernel.event_calls.Stopped) -> None"))
      .def(
          "rethrow", [](Self& self) { translated([&] { self.core().rethrow(); }); },
          nb::sig("def rethrow(self) -> typing.NoReturn"))
      .def("intervene", &Self::intervene, "action"_a,
           nb::sig("def intervene(self, action: collections.abc.Callable[[], None]) -> None"))
      .def_prop_ro("takes_event_signals", [](Self& self) { return self.core().takes_event_signals(); })
      .def("event_pending", [](Self& self) { return self.core().event_pending(); })
      .def_prop_ro("next_time", [](Self& self) { return self.core().next_time(); })
      .def("enter", [](Self& self) { self.does([](OdeComponent& core) { core.enter(); }); })
      .def("update", &Self::update, "t"_a)
      .def(
          "leave",
          [](Self& self, bool changed, bool first) {
            return self.does([&](OdeComponent& core) { return core.leave(changed, first); });
          },
          "changed"_a, "first"_a)
      .def("take_row", &Self::take_row, "until"_a,
           nb::sig("def take_row(self, until: float) -> tuple[float, ssptool.engine.kernel.interface.Floats] | None"))
      .def_prop_ro("has_rows", [](Self& self) { return !self.core().rows().empty(); })
      .def("rows", &Self::rows, nb::sig("def rows(self) -> list[tuple[float, ssptool.engine.kernel.interface.Floats]]"))
      .def_prop_ro(
          "signs", [](Self& self) { return array(self.core().signs()); },
          nb::sig("def signs(self) -> ssptool.engine.kernel.interface.Floats"))
      .def_prop_ro("end", [](Self& self) { return self.core().end(); })
      .def("go_on_from", &Self::go_on_from, "signs"_a, "end"_a, "rows"_a,
           nb::sig("def go_on_from(self, signs: ssptool.engine.kernel.interface.Floats, end: float, rows: "
                   "collections.abc.Iterable[tuple[float, ssptool.engine.kernel.interface.Floats]]) -> None"));
  module.def(
      "idle_functions", [](int fmi_major) { return addresses(OdeComponent::idle(fmi_major)); }, "fmi_major"_a,
      nb::sig("def idle_functions(fmi_major: int) -> dict[str, int]"));
}

}  // namespace ssptool::binding
