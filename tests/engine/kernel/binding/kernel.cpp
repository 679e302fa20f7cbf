// All that a kernel can do, beside what the product asks of one: for kernels that tests fill by themselves.
#include <nanobind/stl/vector.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "methods.hpp"

namespace ssptool::binding
{

using namespace nb::literals;

namespace
{

using Self = NativeKernel;

void state_tables(Self &self, nb::handle tables)
{
    std::vector<std::vector<double>> axes;
    for (const nb::handle times : tables.attr("axes"))
        axes.push_back(doubles(times));
    std::vector<TableColumn> columns;
    for (const nb::handle column : tables.attr("columns"))
        columns.push_back({.slot = static_cast<Slot>(attribute<Number>(column, "slot")),
                           .axis = static_cast<std::size_t>(attribute<Number>(column, "axis")),
                           .values = doubles(column.attr("values")),
                           .linear = attribute<bool>(column, "linear")});
    std::vector<DrivenInput> inputs;
    for (const nb::handle input : tables.attr("inputs"))
        inputs.push_back({static_cast<Slot>(attribute<Number>(input, "slot")),
                          static_cast<DrivenInput::Run>(attribute<int>(input, "running"))});
    self.core().time_tables(std::move(axes), std::move(columns), std::move(inputs));
}

void override_wires(Self &self, nb::handle wires)
{
    std::vector<OverriddenWire> overridden;
    for (const nb::handle wire : wires)
        overridden.push_back({static_cast<Slot>(attribute<Number>(wire, "destination")),
                              override_from(wire.attr("at_source")), override_from(wire.attr("at_destination"))});
    self.core().wires.override_wires(overridden);
}

nb::object run(Self &self, nb::handle program, double start, double h, Number first, const Rows &rows)
{
    const auto instructions = program_from(program);
    const auto steps = static_cast<Number>(rows.shape(0));
    if (rows.shape(1) != self.core().recorder.width())
        throw std::invalid_argument("rows has " + std::to_string(rows.shape(1)) + " columns, must have " +
                                    std::to_string(self.core().recorder.width()));
    return self.unlocked([&](Kernel &core) {
        return core.programs.run(instructions, start, h, first, {rows.data(), rows.size()}, steps);
    });
}

// (Outcome, the vector that the operation returns)
template <class Operation> nb::object on_loop(Self &self, Operation operation, Number loop, const Vector &x)
{
    std::vector<double> result(x.size());
    const nb::object outcome =
        self.unlocked([&](Kernel &core) { return (core.loops.*operation)(index(loop), span_of(x), result); });
    return nb::make_tuple(outcome, array(std::move(result)));
}

nb::object solve(Self &self, Number loop, int method, const Vector &second, bool watched)
{
    const LoopMethod chosen = method_from(method);
    std::vector<Iterate> iterates;
    Solved solved;
    {
        const Unlocked unlocked;
        const Watching watching(self.core().loops, watched ? &iterates : nullptr);
        solved = self.core().loop_solutions.solve(index(loop), chosen, span_of(second));
    }
    const nb::object rejected = self.to_python(solved.solution.rejected);
    return words("Solved")(self.to_python(solved.outcome), solution_to_python(std::move(solved.solution), rejected),
                           iterates_to_python(std::move(iterates)));
}

nb::object evaluate_surely(Self &self, Number schedule, bool watched)
{
    std::vector<Iterate> iterates;
    Outcome outcome;
    {
        const Unlocked unlocked;
        const Watching watching(self.core().loops, watched ? &iterates : nullptr);
        outcome = self.core().rescues.evaluate(index(schedule));
    }
    return words("Evaluated")(self.to_python(outcome), self.latest_rescues(), iterates_to_python(std::move(iterates)));
}

nb::object chord(Self &self, Number loop)
{
    const std::size_t size = self.core().loops.torn_values(index(loop)).size();
    DenseMatrix matrix(size, size);
    matrix.elements = self.core().loops.chord(index(loop));
    return array(std::move(matrix));
}

void limit_inputs(Self &self, Number instance, int order)
{
    Following *const found = self.core().members.following(index(instance));
    if (found == nullptr)
        throw std::out_of_range("instance " + std::to_string(instance) + " does not exist");
    found->order = order;
}

void bind_registration(nb::class_<Self> &kernel)
{
    kernel
        .def(
            "__init__",
            [](Self *self, std::size_t slots, nb::handle integers) {
                new (self) Self(std::make_shared<Kernel>(slots, indices<Slot>(integers)));
            },
            "slots"_a, "integers"_a = nb::tuple())
        .def("environment",
             [](Self &self) { return reinterpret_cast<std::uintptr_t>(self.core().members.make_environment()); })
        .def("intermediate_update_address",
             [](const Self &) { return reinterpret_cast<std::uintptr_t>(&ssptool_intermediate_update); })
        .def("add", [](Self &self, nb::handle table) { return self.core().add(member_from(table, self.core())); })
        .def(
            "connect",
            [](Self &self, nb::handle sources, nb::handle destinations, nb::handle factors, nb::handle offsets,
               nb::handle tables, nb::handle discrete, nb::handle ranges) {
                self.core().connect(wires_from(sources, destinations, factors, offsets, tables, discrete, ranges));
            },
            "sources"_a, "destinations"_a, "factors"_a, "offsets"_a, "tables"_a = nb::dict(),
            "discrete"_a = nb::tuple(), "ranges"_a = nb::dict())
        .def("demand", [](Self &self, Number slot, bool nonnegative,
                          int digits) { self.core().slot_values.demand(index(slot), {nonnegative, digits}); })
        .def("group",
             [](Self &self, nb::handle instances) { return self.core().groups.add(indices<Index>(instances)); })
        .def("loop", [](Self &self, nb::handle loop) { return self.core().loop_solutions.add(loop_from(loop)); })
        .def("iteration",
             [](Self &self, nb::handle calls) { return self.core().iterations.add(iteration_from(calls)); })
        .def("record_slots",
             [](Self &self, nb::handle slots) { self.core().recorder.record_slots(indices<Slot>(slots)); })
        .def("limit_inputs", &limit_inputs);
}

void bind_stimuli(nb::class_<Self> &kernel)
{
    kernel.def("time_tables", &state_tables)
        .def("override_column",
             [](Self &self, Number column, nb::handle value) {
                 self.core().driven.override_column(index(column), override_from(value));
             })
        .def("follow",
             [](Self &self, nb::handle polynomials) { self.core().driven.follow(polynomials_from(polynomials)); })
        .def("between", operation(&Kernel::driven, &DrivenInputs::between))
        .def("drive", operation(&Kernel::driven, &DrivenInputs::drive))
        .def("override_wires", &override_wires);
}

void bind_steps(nb::class_<Self> &kernel)
{
    kernel.def("accept", operation(&Kernel::history, &History::accept))
        .def("accept_after_event", operation(&Kernel::history, &History::accept_after_event))
        .def("discard_point", operation(&Kernel::history, &History::discard_point))
        .def(
            "release", [](Self &self) { self.core().stepper.release(); }, nb::call_guard<Unlocked>())
        .def("run", &run, "program"_a, "start"_a, "h"_a, "first"_a, "rows"_a.noconvert())
        .def("iterate", operation(&Kernel::iterations, &Iterations::iterate))
        .def("iterations",
             [](Self &self) {
                 const auto counts = self.core().iterations.counts(); // the next run changes them
                 return array(std::vector<std::int64_t>(counts.begin(), counts.end()));
             })
        .def("iteration_memory",
             [](Self &self, Number iteration) {
                 Iterations &iterations = self.core().iterations;
                 return to_python(iterations.memory(index(iteration)), iterations.unknowns(index(iteration)));
             })
        .def("set_iteration_memory",
             [](Self &self, Number iteration, nb::handle memory) {
                 Iterations &iterations = self.core().iterations;
                 iterations.set_memory(index(iteration), memory_from(memory, iterations.unknowns(index(iteration))));
             })
        .def("set_accepted_steps",
             [](Self &self, Number iteration, nb::handle accepted) {
                 self.core().iterations.set_accepted(index(iteration), accepted_from(accepted));
             })
        .def("step_derivatives",
             [](Self &self, Number iteration) {
                 StepDerivatives found = self.core().iterations.step(index(iteration)).derivatives();
                 return nb::make_tuple(array(std::move(found.matrix)), nb::tuple(nb::cast(found.known)));
             })
        .def("repeat_step", [](Self &self, Number iteration, const Vector &x) {
            Iterations &iterations = self.core().iterations;
            check_size(x.size(), iterations.unknowns(index(iteration)), "the list of unknowns");
            return array(iterations.step(index(iteration)).repeated(span_of(x)));
        });
}

void bind_loops(nb::class_<Self> &kernel)
{
    kernel
        .def("residual",
             [](Self &self, Number loop, const Vector &x) { return on_loop(self, &Loops::residual, loop, x); })
        .def("jacobian_product", [](Self &self, Number loop,
                                    const Vector &seed) { return on_loop(self, &Loops::jacobian_product, loop, seed); })
        .def("update_frozen", operation(&Kernel::loops, &Loops::update_frozen))
        .def("set_chord",
             [](Self &self, Number loop, const Matrix &matrix) {
                 self.core().loops.set_chord(index(loop), {matrix.data(), matrix.size()});
             })
        .def("chord", &chord)
        .def("solve", &solve, "loop"_a, "method"_a, "second"_a, "watched"_a = false)
        .def("refresh_chord", operation(&Kernel::loop_solutions, &LoopSolutions::refresh_chord))
        .def("allow_rounding", operation(&Kernel::loop_solutions, &LoopSolutions::allow_rounding))
        .def("evaluate_surely", &evaluate_surely, "schedule"_a, "watched"_a = false);
}

} // namespace

nb::object words(const char *name)
{
    return nb::module_::import_("tests.engine.kernel.methods").attr(name);
}

void bind_methods(nb::class_<NativeKernel> &kernel)
{
    bind_registration(kernel);
    bind_stimuli(kernel);
    bind_steps(kernel);
    bind_loops(kernel);
}

} // namespace ssptool::binding
