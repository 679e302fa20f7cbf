#include "kernel.hpp"

#include <nanobind/stl/vector.h>

#include <algorithm>

namespace ssptool::binding {

using namespace nb::literals;

namespace {

// A numpy view of the kernel's memory, which keeps the kernel alive.
nb::object view(nb::handle_t<NativeKernel> self, std::span<double> data, std::size_t rows) {
  const std::size_t shape[] = {rows, data.size() / rows};
  return nb::cast(nb::ndarray<nb::numpy, double>(data.data(), rows == 1 ? 1 : 2, rows == 1 ? shape + 1 : shape, self));
}

// The same memory as integers.
nb::object integer_view(nb::handle_t<NativeKernel> self, std::span<double> values) {
  const std::size_t shape[] = {values.size()};
  return nb::cast(nb::ndarray<nb::numpy, std::int64_t>(reinterpret_cast<std::int64_t*>(values.data()), 1, shape, self));
}

}  // namespace

nb::class_<NativeKernel> bind_kernel(nb::module_& module) {
  using Self = NativeKernel;
  return nb::class_<Self>(module, "NativeKernel")
      .def_prop_ro(
          "values",
          [](nb::handle_t<Self> self) { return view(self, nb::cast<Self&>(self).core().slot_values.values, 1); },
          nb::sig("def values(self) -> ssptool.engine.kernel.calls.Floats"))
      .def_prop_ro(
          "integers",
          [](nb::handle_t<Self> self) { return integer_view(self, nb::cast<Self&>(self).core().slot_values.values); },
          nb::sig("def integers(self) -> ssptool.engine.kernel.calls.Integers"))
      .def_prop_ro("loops_solved", [](Self& self) { return self.core().loops.solved(); })
      .def_prop_ro("loop_iterations", [](Self& self) { return self.core().loops.iterations(); })
      .def_prop_ro("contents", [](Self& self) { return self.core().slot_values.contents.size(); })
      .def(
          "content",
          [](Self& self, Number number) {
            const std::string* text = self.core().slot_values.contents.find(number);
            if (text == nullptr)
              throw std::out_of_range("content " + std::to_string(number) + " does not exist, or is forgotten");
            return nb::bytes(text->data(), text->size());
          },
          "number"_a)
      .def(
          "number",
          [](Self& self, const nb::bytes& content, bool keep) {
            return self.core().slot_values.contents.number({content.c_str(), content.size()}, keep);
          },
          "content"_a, "keep"_a = false)
      .def_prop_ro("content_bytes", [](Self& self) { return self.core().slot_values.contents.bytes(); })
      .def(
          "forget",
          [](Self& self, const std::vector<std::int64_t>& needed) {
            return self.core().slot_values.contents.forget(needed);
          },
          "needed"_a)
      .def_prop_ro(
          "input_value",
          [](nb::handle_t<Self> self) { return view(self, nb::cast<Self&>(self).core().slot_values.input_value, 1); },
          nb::sig("def input_value(self) -> ssptool.engine.kernel.calls.Floats"))
      .def_prop_ro(
          "input_rates",
          [](nb::handle_t<Self> self) { return view(self, nb::cast<Self&>(self).core().slot_values.input_rates, 2); },
          nb::sig("def input_rates(self) -> ssptool.engine.kernel.calls.Floats"))
      .def("report_time",
           [](Self& self, std::uintptr_t place) { self.core().stepper.report_time(reinterpret_cast<double*>(place)); })
      .def(
          "table_column",
          [](nb::handle_t<Self> self, Number column) {
            return view(self, nb::cast<Self&>(self).core().driven.column(index(column)), 1);
          },
          "column"_a, nb::sig("def table_column(self, column: int) -> ssptool.engine.kernel.calls.Floats"))
      .def(
          "iteration_report",
          [](Self& self, Number iteration) { return to_python(self.core().iterations.report(index(iteration))); },
          "iteration"_a,
          nb::sig("def iteration_report(self, iteration: int) -> ssptool.engine.kernel.calls.IterationReport"))
      .def(
          "accepted_steps",
          [](Self& self, Number iteration) { return to_python(self.core().iterations.accepted(index(iteration))); },
          "iteration"_a,
          nb::sig("def accepted_steps(self, iteration: int) -> ssptool.engine.kernel.calls.AcceptedSteps"))
      .def(
          "damped_phases",
          [](Self& self, Number iteration) {
            nb::list found;
            for (const DampedPhase& one : self.core().iterations.damped_phases(index(iteration)))
              found.append(nb::make_tuple(one.from, one.to));
            return nb::tuple(found);
          },
          "iteration"_a, nb::sig("def damped_phases(self, iteration: int) -> tuple[tuple[float, float], ...]"))
      .def_prop_ro(
          "retreats",
          [](Self& self) {
            nb::list found;
            for (Index i = 0; const Following* const one = self.core().members.following(i); ++i)
              if (one->order < 2) {
                const char* const function = one->function == nullptr ? "" : one->function;
                found.append(nb::make_tuple(i, one->order, one->since, function, one->status));
              }
            return nb::tuple(found);
          },
          nb::sig("def retreats(self) -> tuple[tuple[int, int, float, str, int], ...]"))
      .def_prop_ro(
          "divided_steps",
          [](Self& self) {
            nb::list found;
            for (Index i = 0; i < self.core().members.size(); ++i)
              if (const DividedSteps& one = self.core().stepper.divided(i); one.steps > 0)
                found.append(vocabulary("DividedSteps")(i, one.steps, one.most, one.since));
            return nb::tuple(found);
          },
          nb::sig("def divided_steps(self) -> tuple[ssptool.engine.kernel.calls.DividedSteps, ...]"))
      .def(
          "changes_of_mode",
          [](Self& self, Number instance) {
            const Members& members = self.core().members;
            check_index(index(instance), members.size(), "instance");
            return static_cast<int>(members.changes(index(instance)));
          },
          "instance"_a)
      .def(
          "ended",
          [](Self& self, Number instance) {
            const Members& members = self.core().members;
            check_index(index(instance), members.size(), "instance");
            return members.instance(index(instance)).ended();
          },
          "instance"_a)
      .def(
          "use_threads",
          [](Self& self, Number count) {
            self.core().stepper.use_threads(static_cast<std::size_t>(std::max<Number>(count, 0)));
          },
          "count"_a)
      .def("schedule", &Self::schedule, "steps"_a,
           nb::sig("def schedule(self, steps: collections.abc.Sequence[ssptool.engine.kernel.calls.Call | "
                   "ssptool.engine.kernel.calls.SolveLoop]) -> int"))
      .def(
          "record",
          [](Self& self, double t, const Numbers& row) {
            return self.unlocked([&](Kernel& core) { return core.recorder.record(t, {row.data(), row.size()}); });
          },
          "t"_a, "row"_a.noconvert(),
          nb::sig("def record(self, t: float, row: ssptool.engine.kernel.calls.Floats) -> "
                  "ssptool.engine.kernel.calls.Outcome"))
      .def(
          "watch",
          [](Self& self, std::vector<std::size_t> places, std::vector<double> limits) {
            self.core().recorder.watch(std::move(places), std::move(limits));
          },
          "places"_a, "limits"_a,
          nb::sig("def watch(self, places: collections.abc.Sequence[int], limits: collections.abc.Sequence[float]) -> "
                  "None"))
      .def("write", operation(&Kernel::driven, &DrivenInputs::write), "t"_a)
      .def("exchange", operation(&Kernel::inputs, &Inputs::exchange), "group"_a)
      .def("hold", operation(&Kernel::inputs, &Inputs::hold), "group"_a)
      .def("extrapolate", operation(&Kernel::inputs, &Inputs::extrapolate), "group"_a, "order"_a)
      .def("interpolate", operation(&Kernel::inputs, &Inputs::interpolate), "group"_a, "order"_a, "h"_a)
      .def("mid_step", operation(&Kernel::inputs, &Inputs::mid_step), "group"_a, "order"_a, "h"_a)
      .def("advance", operation(&Kernel::stepper, &Stepper::advance), "group"_a, "t"_a, "h"_a,
           nb::sig("def advance(self, group: int, t: float, h: float) -> ssptool.engine.kernel.calls.Outcome"))
      .def("evaluate", operation(&Kernel::schedules, &Schedules::evaluate), "schedule"_a,
           nb::sig("def evaluate(self, schedule: int) -> ssptool.engine.kernel.calls.Outcome"))
      .def("save", operation(&Kernel::stepper, &Stepper::save), "group"_a,
           nb::sig("def save(self, group: int) -> ssptool.engine.kernel.calls.Outcome"))
      .def("restore", operation(&Kernel::stepper, &Stepper::restore), "group"_a,
           nb::sig("def restore(self, group: int) -> ssptool.engine.kernel.calls.Outcome"))
      .def(
          "loop_tolerance", [](Self& self, Number loop) { return self.core().loops.convergence(index(loop)).rtol; },
          "loop"_a)
      .def_prop_ro("latest_rescues", &Self::latest_rescues,
                   nb::sig("def latest_rescues(self) -> tuple[tuple[int, ssptool.engine.kernel.solutions.Solution], "
                           "...]"))
      .def_prop_ro(
          "rescue_work",
          [](Self& self) {
            const RescueWork& work = self.core().rescues.work();
            return solutions_module().attr("RescueWork")(work.solved, work.iterations, work.contradicted);
          },
          nb::sig("def rescue_work(self) -> ssptool.engine.kernel.solutions.RescueWork"));
}

}  // namespace ssptool::binding
