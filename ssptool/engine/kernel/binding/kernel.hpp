// The kernel as a Python class: the GIL is released while components work.
#pragma once

#include <memory>

#include "iterations.hpp"

namespace ssptool::binding {

class NativeKernel {
 public:
  NativeKernel(std::size_t slots, nb::handle integers)
      : NativeKernel(std::make_shared<Kernel>(slots, indices<Slot>(integers))) {}
  // Of a system, which may have another one for its next run.
  explicit NativeKernel(std::shared_ptr<Kernel> core)
      : core_(std::move(core)),
        outcome_type_(vocabulary().attr("Outcome")),
        code_type_(vocabulary().attr("Code")),
        ok_(vocabulary().attr("OK")),
        call_type_(vocabulary().attr("Call")),
        evaluated_type_(vocabulary().attr("Evaluated")) {}

  NativeKernel(const NativeKernel&) = delete;
  NativeKernel& operator=(const NativeKernel&) = delete;
  ~NativeKernel() = default;

  Kernel& core() { return *core_; }

  void time_tables(nb::handle tables) {
    std::vector<std::vector<double>> axes;
    for (const nb::handle times : tables.attr("axes")) axes.push_back(doubles(times));
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
    core_->time_tables(std::move(axes), std::move(columns), std::move(inputs));
  }

  void override_wires(nb::handle wires) {
    std::vector<OverriddenWire> overridden;
    for (const nb::handle wire : wires)
      overridden.push_back({static_cast<Slot>(attribute<Number>(wire, "destination")),
                            override_from(wire.attr("at_source")), override_from(wire.attr("at_destination"))});
    core_->wires.override_wires(overridden);
  }

  Number schedule(nb::handle steps) {
    std::vector<CallOrLoop> calls;
    for (const nb::handle step : steps) {
      if (nb::isinstance(step, call_type_))
        calls.emplace_back(call_from(step));
      else
        calls.emplace_back(SolveLoop{static_cast<Index>(attribute<Number>(step, "loop"))});
    }
    return static_cast<Number>(core_->schedules.add(calls));
  }

  nb::object run(nb::handle program, double start, double h, Number first, const Rows& rows) {
    const auto instructions = program_from(program);
    const auto steps = static_cast<Number>(rows.shape(0));
    if (rows.shape(1) != core_->recorder.width())
      throw std::invalid_argument("rows has " + std::to_string(rows.shape(1)) + " columns, must have " +
                                  std::to_string(core_->recorder.width()));
    return unlocked([&](Kernel& core) {
      return core.programs.run(instructions, start, h, first, {rows.data(), rows.size()}, steps);
    });
  }

  using LoopOperation = Outcome (Loops::*)(Index, std::span<const double>, std::span<double>);

  // (Outcome, the vector that the operation returns)
  nb::object on_loop(LoopOperation operation, Number loop, const Vector& x) {
    std::vector<double> result(x.size());
    const nb::object outcome =
        unlocked([&](Kernel& core) { return (core.loops.*operation)(index(loop), {x.data(), x.size()}, result); });
    return nb::make_tuple(outcome, array(std::move(result)));
  }

  nb::object solve(Number loop, int method, const Vector& second, bool watched);
  nb::object evaluate_surely(Number schedule, bool watched);
  // (loop, solution) of each rescue of the last evaluation
  nb::tuple latest_rescues() const;

  template <class Operation>
  nb::object unlocked(Operation operation) {
    Outcome outcome;
    {
      Unlocked unlocked;
      outcome = operation(*core_);
    }
    return to_python(outcome);
  }

  nb::object to_python(const Outcome& outcome) const {
    if (outcome.ok() && outcome.steps == 0 && outcome.iterations == 0) return ok_;
    return outcome_type_(code_type_(static_cast<int>(outcome.code)), outcome.instance, outcome.function,
                         outcome.fmi_status, outcome.loop, outcome.slot, outcome.steps, outcome.instruction,
                         outcome.iterations);
  }

 private:
  static nb::module_ vocabulary() { return nb::module_::import_("ssptool.engine.kernel.interface"); }

  std::shared_ptr<Kernel> core_;
  nb::object outcome_type_, code_type_, ok_, call_type_, evaluated_type_;
};

void bind_kernel(nb::module_&);
void bind_ode_solvers(nb::module_&);
void bind_dense(nb::module_&);
void bind_events(nb::module_&);
void bind_loop_solvers(nb::module_&);
void bind_signs(nb::module_&);
void bind_system(nb::module_&);

LoopMethod method_from(int method);
nb::object solution_to_python(Solution, nb::object rejected);
nb::tuple iterates_to_python(std::vector<Iterate>);

}  // namespace ssptool::binding
