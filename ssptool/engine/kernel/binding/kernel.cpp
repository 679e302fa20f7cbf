#include "kernel.hpp"

#include <nanobind/stl/vector.h>

#include <algorithm>
#include <type_traits>

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

template <class Argument>
using FromPython = std::conditional_t<std::is_same_v<Argument, Index>, Number, Argument>;

// An operation of a part of the kernel, for indices from Python; the GIL is released where it may call components.
template <class Part, class Result, class... Arguments>
auto operation(Part Kernel::* part, Result (Part::*own)(Arguments...)) {
  return [part, own](NativeKernel& self, FromPython<Arguments>... arguments) {
    if constexpr (std::is_same_v<Result, Outcome>)
      return self.unlocked([&](Kernel& core) { return ((core.*part).*own)(static_cast<Arguments>(arguments)...); });
    else
      return ((self.core().*part).*own)(static_cast<Arguments>(arguments)...);
  };
}

}  // namespace

void bind_kernel(nb::module_& module) {
  using Self = NativeKernel;
  nb::class_<Self>(module, "NativeKernel")
      .def(nb::init<std::size_t, nb::handle>(), "slots"_a, "integers"_a = nb::tuple(),
           nb::sig("def __init__(self, slots: int, integers: ssptool.engine.kernel.interface.Slots = ()) -> None"))
      .def_prop_ro(
          "values",
          [](nb::handle_t<Self> self) { return view(self, nb::cast<Self&>(self).core().slot_values.values, 1); },
          nb::sig("def values(self) -> ssptool.engine.kernel.interface.Floats"))
      .def_prop_ro(
          "integers",
          [](nb::handle_t<Self> self) { return integer_view(self, nb::cast<Self&>(self).core().slot_values.values); },
          nb::sig("def integers(self) -> ssptool.engine.kernel.interface.Integers"))
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
          nb::sig("def input_value(self) -> ssptool.engine.kernel.interface.Floats"))
      .def_prop_ro(
          "input_rates",
          [](nb::handle_t<Self> self) { return view(self, nb::cast<Self&>(self).core().slot_values.input_rates, 2); },
          nb::sig("def input_rates(self) -> ssptool.engine.kernel.interface.Floats"))
      .def("environment",
           [](Self& self) { return reinterpret_cast<std::uintptr_t>(self.core().members.make_environment()); })
      .def("report_time",
           [](Self& self, std::uintptr_t place) { self.core().stepper.report_time(reinterpret_cast<double*>(place)); })
      .def("intermediate_update_address",
           [](const Self&) { return reinterpret_cast<std::uintptr_t>(&ssptool_intermediate_update); })
      .def(
          "add", [](Self& self, nb::handle table) { return self.core().add(member_from(table, self.core())); },
          "table"_a, nb::sig("def add(self, table: ssptool.engine.kernel.interface.InstanceTable) -> int"))
      .def(
          "connect",
          [](Self& self, nb::handle sources, nb::handle destinations, nb::handle factors, nb::handle offsets,
             nb::handle tables, nb::handle discrete, nb::handle ranges) {
            self.core().connect(wires_from(sources, destinations, factors, offsets, tables, discrete, ranges));
          },
          "sources"_a, "destinations"_a, "factors"_a, "offsets"_a, "tables"_a = nb::dict(), "discrete"_a = nb::tuple(),
          "ranges"_a = nb::dict(),
          nb::sig("def connect(self, sources: ssptool.engine.kernel.interface.Slots, destinations: "
                  "ssptool.engine.kernel.interface.Slots, factors: collections.abc.Sequence[float], offsets: "
                  "collections.abc.Sequence[float], tables: ssptool.engine.kernel.interface.Tables = ..., discrete: "
                  "collections.abc.Sequence[int] = ..., ranges: collections.abc.Mapping[int, tuple[float, float]] = "
                  "...) -> "
                  "None"))
      .def(
          "demand",
          [](Self& self, Number slot, bool nonnegative, int digits) {
            self.core().slot_values.demand(index(slot), {nonnegative, digits});
          },
          "slot"_a, "nonnegative"_a, "digits"_a)
      .def(
          "group", [](Self& self, nb::handle instances) { return self.core().groups.add(indices<Index>(instances)); },
          "instances"_a, nb::sig("def group(self, instances: collections.abc.Sequence[int]) -> int"))
      .def(
          "loop", [](Self& self, nb::handle loop) { return self.core().loop_solutions.add(loop_from(loop)); }, "loop"_a,
          nb::sig("def loop(self, loop: ssptool.engine.kernel.interface.LoopCalls) -> int"))
      .def("time_tables", &Self::time_tables, "tables"_a,
           nb::sig("def time_tables(self, tables: ssptool.engine.kernel.interface.TimeTables) -> None"))
      .def(
          "table_column",
          [](nb::handle_t<Self> self, Number column) {
            return view(self, nb::cast<Self&>(self).core().driven.column(index(column)), 1);
          },
          "column"_a, nb::sig("def table_column(self, column: int) -> ssptool.engine.kernel.interface.Floats"))
      .def(
          "override_column",
          [](Self& self, Number column, nb::handle value) {
            self.core().driven.override_column(index(column), override_from(value));
          },
          "column"_a, "override"_a,
          nb::sig(
              "def override_column(self, column: int, override: ssptool.engine.kernel.interface.SlotOverride) -> None"))
      .def(
          "follow",
          [](Self& self, nb::handle polynomials) { self.core().driven.follow(polynomials_from(polynomials)); },
          "polynomials"_a,
          nb::sig("def follow(self, polynomials: "
                  "collections.abc.Sequence[ssptool.engine.kernel.interface.SlotPolynomial]) -> None"))
      .def("between", operation(&Kernel::driven, &DrivenInputs::between), "begin"_a, "end"_a)
      .def("write", operation(&Kernel::driven, &DrivenInputs::write), "t"_a)
      .def("drive", operation(&Kernel::driven, &DrivenInputs::drive), "t"_a, "h"_a)
      .def("override_wires", &Self::override_wires, "wires"_a,
           nb::sig("def override_wires(self, wires: "
                   "collections.abc.Sequence[ssptool.engine.kernel.interface.OverriddenWire]) -> None"))
      .def(
          "iteration", [](Self& self, nb::handle calls) { return self.core().iterations.add(iteration_from(calls)); },
          "calls"_a, nb::sig("def iteration(self, calls: ssptool.engine.kernel.interface.IterationCalls) -> int"))
      .def("iterate", operation(&Kernel::iterations, &Iterations::iterate), "iteration"_a, "t"_a, "h"_a,
           nb::sig("def iterate(self, iteration: int, t: float, h: float) -> "
                   "ssptool.engine.kernel.interface.Outcome"))
      .def(
          "iteration_report",
          [](Self& self, Number iteration) { return to_python(self.core().iterations.report(index(iteration))); },
          "iteration"_a,
          nb::sig("def iteration_report(self, iteration: int) -> ssptool.engine.kernel.interface.IterationReport"))
      .def(
          "iteration_memory",
          [](Self& self, Number iteration) {
            Iterations& iterations = self.core().iterations;
            return to_python(iterations.memory(index(iteration)), iterations.unknowns(index(iteration)));
          },
          "iteration"_a,
          nb::sig("def iteration_memory(self, iteration: int) -> ssptool.engine.kernel.interface.IterationMemory"))
      .def(
          "set_iteration_memory",
          [](Self& self, Number iteration, nb::handle memory) {
            Iterations& iterations = self.core().iterations;
            iterations.set_memory(index(iteration), memory_from(memory, iterations.unknowns(index(iteration))));
          },
          "iteration"_a, "memory"_a,
          nb::sig("def set_iteration_memory(self, iteration: int, memory: "
                  "ssptool.engine.kernel.interface.IterationMemory) -> None"))
      .def(
          "step_derivatives",
          [](Self& self, Number iteration) {
            StepDerivatives found = self.core().iterations.step(index(iteration)).derivatives();
            return nb::make_tuple(array(std::move(found.matrix)), nb::tuple(nb::cast(found.known)));
          },
          "iteration"_a,
          nb::sig("def step_derivatives(self, iteration: int) -> tuple[ssptool.engine.kernel.interface.Floats, "
                  "tuple[bool, ...]]"))
      .def(
          "repeat_step",
          [](Self& self, Number iteration, const Vector& x) {
            Iterations& iterations = self.core().iterations;
            check_size(x.size(), iterations.unknowns(index(iteration)), "the list of unknowns");
            return array(iterations.step(index(iteration)).repeated(span_of(x)));
          },
          "iteration"_a, "x"_a,
          nb::sig("def repeat_step(self, iteration: int, x: ssptool.engine.kernel.interface.Floats) -> "
                  "ssptool.engine.kernel.interface.Floats"))
      .def(
          "accepted_steps",
          [](Self& self, Number iteration) { return to_python(self.core().iterations.accepted(index(iteration))); },
          "iteration"_a,
          nb::sig("def accepted_steps(self, iteration: int) -> ssptool.engine.kernel.interface.AcceptedSteps"))
      .def(
          "set_accepted_steps",
          [](Self& self, Number iteration, nb::handle accepted) {
            self.core().iterations.set_accepted(index(iteration), accepted_from(accepted));
          },
          "iteration"_a, "accepted"_a,
          nb::sig("def set_accepted_steps(self, iteration: int, accepted: "
                  "ssptool.engine.kernel.interface.AcceptedSteps) -> None"))
      .def(
          "trial",
          [](Self& self, Number iteration, double t, double h) {
            return vocabulary("Trial")(static_cast<Number>(self.core().iterations.trial(index(iteration), t, h)));
          },
          "iteration"_a, "t"_a, "h"_a,
          nb::sig("def trial(self, iteration: int, t: float, h: float) -> ssptool.engine.kernel.interface.Trial"))
      .def(
          "iterations",
          [](Self& self) {
            const auto counts = self.core().iterations.counts();  // the next run changes them
            return array(std::vector<std::int64_t>(counts.begin(), counts.end()));
          },
          nb::sig("def iterations(self) -> ssptool.engine.kernel.interface.Integers"))
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
          nb::sig("def divided_steps(self) -> tuple[ssptool.engine.kernel.interface.DividedSteps, ...]"))
      .def(
          "limit_inputs",
          [](Self& self, Number instance, int order) {
            Following* const found = self.core().members.following(index(instance));
            if (found == nullptr) throw std::out_of_range("instance " + std::to_string(instance) + " does not exist");
            found->order = order;
          },
          "instance"_a, "order"_a)
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
           nb::sig("def schedule(self, steps: collections.abc.Sequence[ssptool.engine.kernel.interface.Call | "
                   "ssptool.engine.kernel.interface.SolveLoop]) -> int"))
      .def(
          "record_slots", [](Self& self, nb::handle slots) { self.core().recorder.record_slots(indices<Slot>(slots)); },
          "slots"_a, nb::sig("def record_slots(self, slots: ssptool.engine.kernel.interface.Slots) -> None"))
      .def(
          "record",
          [](Self& self, double t, const Numbers& row) {
            return self.unlocked([&](Kernel& core) { return core.recorder.record(t, {row.data(), row.size()}); });
          },
          "t"_a, "row"_a.noconvert(),
          nb::sig("def record(self, t: float, row: ssptool.engine.kernel.interface.Floats) -> "
                  "ssptool.engine.kernel.interface.Outcome"))
      .def("exchange", operation(&Kernel::inputs, &Inputs::exchange), "group"_a)
      .def("hold", operation(&Kernel::inputs, &Inputs::hold), "group"_a)
      .def("extrapolate", operation(&Kernel::inputs, &Inputs::extrapolate), "group"_a, "order"_a)
      .def("interpolate", operation(&Kernel::inputs, &Inputs::interpolate), "group"_a, "order"_a, "h"_a)
      .def("mid_step", operation(&Kernel::inputs, &Inputs::mid_step), "group"_a, "order"_a, "h"_a)
      .def("advance", operation(&Kernel::stepper, &Stepper::advance), "group"_a, "t"_a, "h"_a,
           nb::sig("def advance(self, group: int, t: float, h: float) -> ssptool.engine.kernel.interface.Outcome"))
      .def("evaluate", operation(&Kernel::schedules, &Schedules::evaluate), "schedule"_a,
           nb::sig("def evaluate(self, schedule: int) -> ssptool.engine.kernel.interface.Outcome"))
      .def("accept", operation(&Kernel::history, &History::accept), "t"_a)
      .def("discard_point", operation(&Kernel::history, &History::discard_point))
      .def("save", operation(&Kernel::stepper, &Stepper::save), "group"_a,
           nb::sig("def save(self, group: int) -> ssptool.engine.kernel.interface.Outcome"))
      .def("restore", operation(&Kernel::stepper, &Stepper::restore), "group"_a,
           nb::sig("def restore(self, group: int) -> ssptool.engine.kernel.interface.Outcome"))
      .def(
          "release", [](Self& self) { self.core().stepper.release(); }, nb::call_guard<Unlocked>())
      .def("run", &Self::run, "program"_a, "start"_a, "h"_a, "first"_a, "rows"_a.noconvert(),
           nb::sig("def run(self, program: collections.abc.Sequence[ssptool.engine.kernel.interface.Instruction], "
                   "start: float, h: float, first: int, rows: ssptool.engine.kernel.interface.Floats) -> "
                   "ssptool.engine.kernel.interface.Outcome"))
      .def(
          "residual", [](Self& self, Number loop, const Vector& x) { return self.on_loop(&Loops::residual, loop, x); },
          "loop"_a, "x"_a,
          nb::sig("def residual(self, loop: int, x: ssptool.engine.kernel.interface.Floats) -> "
                  "tuple[ssptool.engine.kernel.interface.Outcome, ssptool.engine.kernel.interface.Floats]"))
      .def(
          "jacobian_product",
          [](Self& self, Number loop, const Vector& seed) {
            return self.on_loop(&Loops::jacobian_product, loop, seed);
          },
          "loop"_a, "seed"_a,
          nb::sig("def jacobian_product(self, loop: int, seed: ssptool.engine.kernel.interface.Floats) -> "
                  "tuple[ssptool.engine.kernel.interface.Outcome, ssptool.engine.kernel.interface.Floats]"))
      .def("update_frozen", operation(&Kernel::loops, &Loops::update_frozen), "loop"_a)
      .def(
          "set_chord",
          [](Self& self, Number loop, const Matrix& matrix) {
            self.core().loops.set_chord(index(loop), {matrix.data(), matrix.size()});
          },
          "loop"_a, "matrix"_a)
      .def(
          "chord",
          [](Self& self, Number loop) {
            const std::vector<double>& chord = self.core().loops.chord(index(loop));
            const std::size_t size = self.core().loops.torn_values(index(loop)).size();
            DenseMatrix matrix(size, size);
            matrix.elements = chord;
            return array(std::move(matrix));
          },
          "loop"_a, nb::sig("def chord(self, loop: int) -> ssptool.engine.kernel.interface.Floats"))
      .def("solve", &Self::solve, "loop"_a, "method"_a, "second"_a, "watched"_a = false,
           nb::sig("def solve(self, loop: int, method: ssptool.engine.kernel.interface.LoopMethod, second: "
                   "ssptool.engine.kernel.interface.Floats, watched: bool = False) -> "
                   "ssptool.engine.kernel.interface.Solved"))
      .def("refresh_chord", operation(&Kernel::loop_solutions, &LoopSolutions::refresh_chord), "loop"_a)
      .def(
          "loop_tolerance", [](Self& self, Number loop) { return self.core().loops.convergence(index(loop)).rtol; },
          "loop"_a)
      .def("allow_rounding", operation(&Kernel::loop_solutions, &LoopSolutions::allow_rounding), "loop"_a)
      .def("evaluate_surely", &Self::evaluate_surely, "schedule"_a, "watched"_a = false,
           nb::sig("def evaluate_surely(self, schedule: int, watched: bool = False) -> "
                   "ssptool.engine.kernel.interface.Evaluated"))
      .def_prop_ro("latest_rescues", &Self::latest_rescues,
                   nb::sig("def latest_rescues(self) -> tuple[tuple[int, ssptool.engine.kernel.solutions.Solution], "
                           "...]"))
      .def_prop_ro(
          "rescue_work",
          [](Self& self) {
            const RescueWork& work = self.core().rescues.work();
            return vocabulary("RescueWork")(work.solved, work.iterations, work.contradicted);
          },
          nb::sig("def rescue_work(self) -> ssptool.engine.kernel.interface.RescueWork"));
}

}  // namespace ssptool::binding
