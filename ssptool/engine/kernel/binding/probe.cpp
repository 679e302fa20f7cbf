// The parts of model exchange of a run, evaluated where no integration comes to.
#include <nanobind/stl/vector.h>

#include "stopped.hpp"
#include "system_ode.hpp"

namespace ssptool::binding {

using namespace nb::literals;

void bind_probe(nb::module_& module) {
  using Self = runtime::OdeProbe;
  using Doubles = const std::vector<double>&;
  using References = const std::vector<fmi::Reference>&;
  nb::class_<Self>(module, "NativeProbe")
      .def(
          "real_slots",
          [](Self& self, Number model, bool inputs) {
            const std::vector<Slot> found = self.real_slots(index(model), inputs);
            return std::vector<Number>(found.begin(), found.end());
          },
          "model"_a, "inputs"_a)
      .def(
          "states", [](Self& self, Number model) { return self.states(index(model)); }, "model"_a)
      .def(
          "evaluate",
          [](Self& self, double t, Doubles x, const std::vector<Number>& slots, Doubles values) {
            const std::vector<Slot> places(slots.begin(), slots.end());
            return array(translated_unlocked([&] { return self.evaluate(t, x, places, values); }));
          },
          "t"_a, "x"_a, "slots"_a, "values"_a,
          nb::sig("def evaluate(self, t: float, x: collections.abc.Sequence[float], slots: "
                  "collections.abc.Sequence[int], values: collections.abc.Sequence[float]) -> "
                  "ssptool.engine.kernel.calls.Floats"))
      .def(
          "evaluate_part",
          [](Self& self, Number model, double t, Doubles x, Doubles inputs) {
            return array(translated_unlocked([&] { return self.evaluate_part(index(model), t, x, inputs); }));
          },
          "model"_a, "t"_a, "x"_a, "inputs"_a,
          nb::sig("def evaluate_part(self, model: int, t: float, x: collections.abc.Sequence[float], inputs: "
                  "collections.abc.Sequence[float]) -> ssptool.engine.kernel.calls.Floats"))
      .def(
          "derivative",
          [](Self& self, Number model, References unknowns, References knowns, Doubles seed) {
            return array(translated_unlocked([&] { return self.derivative(index(model), unknowns, knowns, seed); }));
          },
          "model"_a, "unknowns"_a, "knowns"_a, "seed"_a,
          nb::sig("def derivative(self, model: int, unknowns: collections.abc.Sequence[int], knowns: "
                  "collections.abc.Sequence[int], seed: collections.abc.Sequence[float]) -> "
                  "ssptool.engine.kernel.calls.Floats"))
      .def(
          "present_states",
          [](Self& self, double t) { return array(translated([&] { return self.present_states(t); })); }, "t"_a,
          nb::sig("def present_states(self, t: float) -> ssptool.engine.kernel.calls.Floats"))
      .def(
          "nominal_states",
          [](Self& self, double t) { return array(translated([&] { return self.nominal_states(t); })); }, "t"_a,
          nb::sig("def nominal_states(self, t: float) -> ssptool.engine.kernel.calls.Floats"));
}

}  // namespace ssptool::binding
