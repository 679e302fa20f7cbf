// The right-hand side of an ODE as a Python class.
#include "../core/slopes.hpp"

#include <nanobind/stl/tuple.h>

#include <tuple>

#include "kernel.hpp"

namespace ssptool::binding {

using namespace nb::literals;

namespace {

// The right-hand side of an ODE for an integrator; it keeps its kernel alive.
class NativeSlopes {
 public:
  // Each part: component, functions that set time and states and get slopes (all addresses), number of states.
  NativeSlopes(NativeKernel& kernel, Number schedule, nb::handle parts, nb::handle inputs, std::uintptr_t numbers)
      : kernel_(kernel),
        core_(kernel.core().slot_values, kernel.core().schedules, index(schedule), parts_from(parts),
              indices<Slot>(inputs), reinterpret_cast<Slopes::Numbers*>(numbers)) {}

  Slopes& core() { return core_; }

  // (stage, part, status, outcome), or None
  nb::object take_trouble() {
    const Trouble trouble = core_.take_trouble();
    if (trouble.stage == Stage::none) return nb::none();
    return nb::make_tuple(static_cast<int>(trouble.stage), trouble.part, trouble.status,
                          kernel_.to_python(trouble.outcome));
  }

 private:
  static std::vector<ContinuousPart> parts_from(nb::handle parts) {
    std::vector<ContinuousPart> found;
    std::size_t first = 0;
    for (const nb::handle item : parts) {
      const auto [component, set_time, set_states, get_slopes, count] =
          nb::cast<std::tuple<std::uintptr_t, std::uintptr_t, std::uintptr_t, std::uintptr_t, std::size_t>>(item);
      found.push_back({reinterpret_cast<void*>(component), reinterpret_cast<fmi::exchange::SetTime*>(set_time),
                       reinterpret_cast<fmi::exchange::SetStates*>(set_states),
                       reinterpret_cast<fmi::exchange::GetSlopes*>(get_slopes), first, count});
      first += count;
    }
    return found;
  }

  NativeKernel& kernel_;
  Slopes core_;
};

}  // namespace

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
