// Initialization: from start values to consistent connected values at the start time.
#include <cmath>
#include <set>
#include <utility>

#include "system.hpp"

namespace ssptool::runtime {

namespace {

const char* word(SolutionStatus status) noexcept {
  switch (status) {
    case SolutionStatus::converged: return "converged";
    case SolutionStatus::max_iterations: return "iteration limit reached";
    case SolutionStatus::diverged: return "diverged";
    case SolutionStatus::stalled: return "no step reduces the residual";
    case SolutionStatus::singular: return "singular Jacobian";
    case SolutionStatus::inconsistent: return "its equations contradict each other";
    case SolutionStatus::undetermined: return "its equations do not determine its unknowns";
    case SolutionStatus::switching: return "its discrete signals do not settle";
    case SolutionStatus::nonfinite: break;
  }
  return "a component returned nan or inf, or rejected the values it was given";
}

}  // namespace

void System::enter_initialization() {
  now_ = experiment_.start;
  for (Index index = 0; index < parts_.size(); ++index) {
    Part& part = *parts_[index];
    if (!part.plan().has_mode()) continue;
    if (adopts_) part.configure();  // parts that are not adopted are configured elsewhere
    for (const VariableSet& start : part.plan().starts) part.set(start);
    kernel_->members.leave_mode(index);
  }
  ArraysBefore before;
  for (const auto& [reference, values] : given_) set_in_parts(plan_.variables[reference], values, &before);
  for (Index index = 0; index < parts_.size(); ++index) {
    if (parts_[index]->plan().has_mode()) parts_[index]->enter_initialization(experiment_);
    kernel_->members.leave_mode(index);
  }
  make_events();
  phase_ = Phase::initialization;
  propagate();
  begin_tables();
  guess();
  changed_ = true;
}

// First guesses of the parts for their inputs and for the signals at which loops are cut; guesses of the system
// override them.
void System::guess() {
  SlotValues& slots = kernel_->slot_values;
  for (Index index = 0; index < parts_.size(); ++index) {
    Part& part = *parts_[index];
    if (!part.plan().has_mode()) write(part.plan().stated);
    try {
      for (const VariableSet& asked : part.plan().guesses) {
        const std::vector<Value> found = part.get(asked);
        for (std::size_t i = 0; i < found.size(); ++i) write(asked.slots[i], found[i]);
      }
    } catch (const Refused& refused) {
      if (refused.status == Status::fatal || part.plan().stated.empty()) throw;
      write(part.plan().stated);
      refused_guesses_.push_back(refused.refusal);
    }
    kernel_->members.leave_mode(index);
  }
  for (Slot slot = 0; slot < slots.size(); ++slot)
    if (!slots.holds_integer[slot] && !std::isfinite(slots.values[slot])) slots.values[slot] = 0.0;
  if (plan_.at_events) write(plan_.at_events->starts);
  if (plan_.ode && plan_.ode->events) write(plan_.ode->events->starts);
  // The start value of an output may be invalid for its part; that of the input which it feeds is valid.
  const std::set<Slot> cut(plan_.cut.begin(), plan_.cut.end());
  for (const Wire& wire : plan_.wires)
    if (cut.contains(wire.source) && !slots.holds_integer[wire.source] && wire.factor != 0.0)
      second_guesses_[wire.source] = (slots.values[wire.destination] - wire.offset) / wire.factor;
  write(plan_.guesses);
}

std::vector<System::Step> System::prepared(const Schedule& schedule, Kernel& kernel) {
  std::vector<Step> steps;
  std::vector<CallOrLoop> calls;
  const auto end_calls = [&] {
    if (!calls.empty()) steps.push_back({false, kernel.schedules.add(std::exchange(calls, {}))});
  };
  for (const ScheduleStep& step : schedule) {
    if (const auto* call = std::get_if<Call>(&step)) {
      calls.push_back(*call);
      continue;
    }
    end_calls();
    steps.push_back({true, std::get<Index>(step)});
  }
  end_calls();
  return steps;
}

void System::walk(const std::vector<Step>& steps, LoopMethod method) {
  for (const Step& step : steps) {
    if (!step.is_loop) {
      check(kernel_->schedules.evaluate(step.number), now_);
      continue;
    }
    auto& known = loops_at_start_;
    if (!known.contains(step.number)) known[step.number] = kernel_->loop_solutions.add(plan_.loops[step.number].calls);
    solve(step.number, known[step.number], method, *kernel_);
  }
}

void System::visit(const Schedule& schedule, Kernel& kernel, std::vector<Index>& loops) {
  for (const Step& step : prepared(schedule, kernel)) {
    if (!step.is_loop) {
      check(kernel.schedules.evaluate(step.number), now_);
      continue;
    }
    const Index loop = kernel.loop_solutions.add(plan_.loops[step.number].calls);
    solve(step.number, loop, LoopMethod::automatic, kernel);
    // Uses the chord of its solution, and a tolerance that allows for rounding.
    kernel.loop_solutions.allow_rounding(loop);
    kernel.loop_solutions.refresh_chord(loop);
    loops[step.number] = loop;
  }
}

// Starts from the present values or, if the parts cannot be evaluated there, from a second set of values.
void System::solve(Index number, Index loop, LoopMethod method, Kernel& kernel) {
  const PlannedLoop& planned = plan_.loops[number];
  std::vector<double> second;
  for (const Slot slot : planned.calls.torn) {
    const auto known = second_guesses_.find(slot);
    second.push_back(known == second_guesses_.end() ? kernel.slot_values.values[slot] : known->second);
  }
  std::vector<Iterate> iterates;
  const Solved found = [&] {
    const Watching watching(kernel.loops, adopts_ ? &iterates : nullptr);
    return kernel.loop_solutions.solve(loop, method, std::span<const double>(second));
  }();
  if (iterate_log_ != nullptr) iterate_log_->write(now_, number, iterates);
  check(found.outcome, now_);
  if (found.solution.converged()) iterates.clear();
  if (adopts_) solved_.push_back({number, found.solution, std::move(iterates)});
  if (found.solution.converged()) return;
  std::string message = "the algebraic loop {" + joined(planned.names) + "} was not solved by " +
                        found.solution.solver + " in " + std::to_string(found.solution.iterations) +
                        " iterations: " + word(found.solution.status);
  for (std::size_t i = 0; i < planned.names.size() && i < found.solution.x.size(); ++i)
    message += "; " + planned.names[i] + " = " + std::to_string(found.solution.x[i]) + " (residual " +
               std::to_string(found.solution.residual[i]) + ")";
  throw Refused(Status::error, message + " at t = " + std::to_string(now_) + " s", {{}, {}, 0, {}, now_, number});
}

void System::make_consistent() {
  if (!adopts_) propagate();  // with adopted parts, nothing has been set since
  if (beginnings_.empty())
    walk(initialization_, plan_.init);
  else
    settle_without_mode();
  kernel_->wires.copy_outer();
}

void System::initialize() {
  enter_initialization();
  settle();
  pass_on_at_start();
  set_clocks();
  for (Index part = 0; part < parts_.size(); ++part) exit_initialization(part);
}

// After its calls, the floating-point environment is restored if the part changed it; the kernel counts such changes.
void System::exit_initialization(Index part) {
  parts_[part]->exit_initialization();
  kernel_->members.leave_mode(part);
}

void System::exit_initialization() {
  settle();
  pass_on_at_start();
  set_clocks();
  for (Index part = 0; part < parts_.size(); ++part) exit_initialization(part);
  first_point();
  couple();
  jumps_ = false;
  phase_ = kind_ == Kind::model_exchange ? Phase::exchange : Phase::stepping;
  if (ode_ != nullptr) begin_ode();
  if (steps_end_at_events()) use_.event_mode ? open_event() : first_event();
  react_of_ode();
}

// Evaluates outputs after initialization mode, including loops.
void System::first_point() {
  loops_.assign(plan_.loops.size(), none);
  for (const Schedule& schedule : plan_.first_point) visit(schedule, *kernel_, loops_);
  if (component_ == nullptr) return;
  build_kernel_of_ode();
  loops_of_ode_.assign(plan_.loops.size(), none);
  visit(plan_.ode->whole, *inside_, loops_of_ode_);
}

Index System::registered(const Schedule& schedule, Kernel& kernel, const std::vector<Index>& loops) {
  std::vector<CallOrLoop> steps;
  for (const ScheduleStep& step : schedule)
    if (const auto* call = std::get_if<Call>(&step))
      steps.emplace_back(*call);
    else
      steps.emplace_back(SolveLoop{loops[std::get<Index>(step)]});
  return kernel.schedules.add(steps);
}

// Registers what steps need, in the same order as in a run, because the plan refers to the resulting numbers.
void System::couple() {
  for (const auto& group : plan_.groups) kernel_->groups.add(group);
  std::vector<Index> schedules;
  for (const Schedule& schedule : plan_.schedules) schedules.push_back(registered(schedule, *kernel_, loops_));
  everything_ = schedules.at(plan_.everything);
  outputs_of_.assign(parts_.size(), none);
  for (Index part = 0; part < parts_.size(); ++part)
    if (const PlannedPart& plan = parts_[part]->plan(); (adopts_ || !plan.exchange) && !plan.outputs.slots.empty())
      outputs_of_[part] = kernel_->schedules.add({Call{part, {}, plan.outputs.slots}});
  for (IterationCalls calls : plan_.iterations) {
    calls.schedule = schedules.at(calls.schedule);
    kernel_->iterations.add(std::move(calls));
  }
  std::vector<Instruction> program = plan_.program;
  for (Instruction& one : program)
    if (one.op == Op::evaluate) one.argument = schedules.at(one.argument);
  steps_.emplace(*kernel_, std::move(program));
  std::vector<CallOrLoop> outputs;
  for (const ScheduleStep& step : plan_.first_point.front()) outputs.emplace_back(std::get<Call>(step));
  outputs_ = kernel_->schedules.add(outputs);
  if (component_ == nullptr) {  // an ODE next to other parts begins earlier
    kernel_->inputs.exchange(plan_.everyone);
    kernel_->history.accept(now_);
  }
  if (adopts_) phase_ = Phase::stepping;
  if (plan_.ode && !adopts_) make_ode();
}

}  // namespace ssptool::runtime
