#include "slopes.hpp"

namespace ssptool::binding {

using namespace nb::literals;

void bind_slopes(nb::module_& module) {
  nb::class_<NativeSlopes>(module, "NativeSlopes")
      .def(nb::init<NativeKernel&, Number, nb::handle, nb::handle, std::uintptr_t>(), "kernel"_a, "schedule"_a,
           "parts"_a, "inputs"_a, "numbers"_a, nb::keep_alive<1, 2>(),
           nb::sig("def __init__(self, kernel: NativeKernel, schedule: int, parts: collections.abc.Sequence[tuple[int, "
                   "int, int, int, int]], inputs: ssptool.engine.kernel.interface.Slots, numbers: int) -> None"))
      .def_prop_ro("function", [](const NativeSlopes&) { return reinterpret_cast<std::uintptr_t>(&Slopes::evaluate); })
      .def_prop_ro("own", [](NativeSlopes& self) { return reinterpret_cast<std::uintptr_t>(&self.core()); })
      .def(
          "rest",
          [](NativeSlopes& self, std::uintptr_t function) {
            self.core().rest(reinterpret_cast<Slopes::Rest*>(function));
          },
          "function"_a)
      .def(
          "origin", [](NativeSlopes& self, double t) { self.core().origin(t); }, "t"_a)
      .def(
          "input_polynomials",
          [](NativeSlopes& self, double start, const Vector& value, const Vector& first, const Vector& second) {
            self.core().input_polynomials(start, {value.data(), value.size()}, {first.data(), first.size()},
                                          {second.data(), second.size()});
          },
          "start"_a, "value"_a, "first"_a, "second"_a)
      .def("take_trouble", &NativeSlopes::take_trouble,
           nb::sig("def take_trouble(self) -> tuple[int, int, int, ssptool.engine.kernel.interface.Outcome] | None"));
}

}  // namespace ssptool::binding
