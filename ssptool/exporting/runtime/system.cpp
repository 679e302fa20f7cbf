#include "system.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace ssptool::runtime {

namespace {

// [s], before every time: a point there bends no polynomial.
constexpr double long_ago = -1e300;

// Fraction of a macro step within which two times are one.
constexpr double close = 1e-9;

// Macro steps that are done at once.
constexpr std::int64_t at_once = 256;

LoopMethod method_of(const std::string& name) {
  const std::map<std::string, LoopMethod> known{
      {"auto", LoopMethod::automatic},    {"newton", LoopMethod::newton},     {"aitken", LoopMethod::aitken},
      {"anderson", LoopMethod::anderson}, {"homotopy", LoopMethod::homotopy}, {"fixed-point", LoopMethod::fixed_point},
  };
  return known.at(name);
}

const char* word(ssptool::Status status) noexcept {
  switch (status) {
    case ssptool::Status::converged: return "converged";
    case ssptool::Status::max_iterations: return "iteration limit reached";
    case ssptool::Status::diverged: return "diverged";
    case ssptool::Status::stalled: return "no step reduces the residual";
    case ssptool::Status::singular: return "singular Jacobian";
    case ssptool::Status::inconsistent: return "its equations contradict each other";
    case ssptool::Status::undetermined: return "its equations do not determine its unknowns";
    case ssptool::Status::switching: return "its discrete signals do not settle";
    case ssptool::Status::nonfinite: break;
  }
  return "a component returned nan or inf, or rejected the values it was given";
}

std::string joined(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  return all;
}

double number(const Value& value) {
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return static_cast<double>(std::get<std::int64_t>(value));
}

}  // namespace

System::System(const std::filesystem::path& resources, Log& log, bool logging)
    : resources_(resources), plan_(read_plan(resources / "plan.json")), log_(log) {
  for (const PlannedPart& planned : plan_.parts) {
    parts_.push_back(load_part(planned, resources_, libraries_, log_));
    parts_.back()->instantiate(resources_ / planned.folder / "resources", logging);
  }
  experiment_.start = plan_.start;
  build_kernel();
}

System::~System() { release_states(); }

// Before the parts are freed, to which they belong.
void System::release_states() noexcept {
  if (kernel_ != nullptr) kernel_->stepper.release();
}

void System::build_kernel() {
  release_states();
  loops_at_start_.clear();
  loops_.clear();
  kernel_ = std::make_unique<Kernel>(plan_.slots, plan_.integers);
  for (const auto& part : parts_) {
    const Index index = kernel_->add(member_of(*part));
    if (plan_.goes_back) kernel_->members.instance(index).expect_set_states();
  }
  kernel_->connect(plan_.wires);
  std::vector<DrivenInput> driven;
  for (const Slot slot : plan_.driven) driven.push_back({slot, DrivenInput::Run::held});
  kernel_->time_tables({}, {}, std::move(driven));
  write(plan_.constants);
  initialization_ = prepared(plan_.initialization);
}

Member System::member_of(Part& part) {
  const PlannedPart& plan = part.plan();
  if (!plan.moving.empty()) part.environment = kernel_->members.make_environment();
  InstanceTable table{plan.fmi_major, part.functions(), part.component()};
  table.inputs = plan.inputs;
  table.outputs = plan.outputs;
  table.environment = part.environment;
  return kernel_->members.member_of(std::move(table));
}

// --- values of slots -------------------------------------------------------------------------------------------------

void System::write(const std::vector<SlotValue>& values) {
  for (const auto& [slot, value] : values) write(slot, value);
}

void System::write(Slot slot, const Value& value) {
  SlotValues& slots = kernel_->slot_values;
  if (const auto* text = std::get_if<std::string>(&value))
    slots.values[slot] = as_double(slots.contents.number(*text));
  else if (const auto* integer = std::get_if<std::int64_t>(&value); integer != nullptr && slots.holds_integer[slot])
    slots.values[slot] = as_double(*integer);
  else if (slots.holds_integer[slot])
    slots.values[slot] = as_double(static_cast<std::int64_t>(number(value)));
  else
    slots.values[slot] = number(value);
}

Value System::read(Slot slot) const {
  const SlotValues& slots = kernel_->slot_values;
  if (!slots.holds_integer[slot]) return slots.values[slot];
  const std::int64_t integer = as_integer(slots.values[slot]);
  if (plan_.types[slot] == "String") return slots.contents.at(integer);
  return integer;
}

// --- initialization --------------------------------------------------------------------------------------------------

void System::enter_initialization() {
  now_ = experiment_.start;
  for (const auto& part : parts_) {
    for (const VariableSet& start : part->plan().starts) part->set(start);
  }
  for (const auto& [reference, value] : given_) set_in_parts(plan_.variables[reference], value);
  for (const auto& part : parts_) part->enter_initialization(experiment_);
  phase_ = Phase::initialization;
  guess();
  changed_ = true;
}

// What the parts say of their inputs and of what loops are cut at; over it what the system says.
void System::guess() {
  SlotValues& slots = kernel_->slot_values;
  for (const auto& part : parts_)
    for (const VariableSet& asked : part->plan().guesses) {
      const std::vector<Value> found = part->get(asked);
      for (std::size_t i = 0; i < found.size(); ++i) write(asked.slots[i], found[i]);
    }
  for (Slot slot = 0; slot < slots.size(); ++slot)
    if (!slots.holds_integer[slot] && !std::isfinite(slots.values[slot])) slots.values[slot] = 0.0;
  // The start value of an output may be invalid for its part; that of the input that it feeds is valid.
  const std::set<Slot> cut(plan_.cut.begin(), plan_.cut.end());
  for (const Wire& wire : plan_.wires)
    if (cut.contains(wire.source) && !slots.holds_integer[wire.source] && wire.factor != 0.0)
      second_guesses_[wire.source] = (slots.values[wire.destination] - wire.offset) / wire.factor;
  write(plan_.guesses);
}

std::vector<System::Step> System::prepared(const Schedule& schedule) {
  std::vector<Step> steps;
  std::vector<CallOrLoop> calls;
  const auto end_calls = [&] {
    if (!calls.empty()) steps.push_back({false, kernel_->schedules.add(std::exchange(calls, {}))});
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

void System::walk(const std::vector<Step>& steps, LoopMethod method, bool for_schedules) {
  for (const Step& step : steps) {
    if (!step.is_loop) {
      check(kernel_->schedules.evaluate(step.number), now_);
      continue;
    }
    auto& known = loops_at_start_;
    if (!for_schedules && !known.contains(step.number))
      known[step.number] = kernel_->loop_solutions.add(plan_.loops[step.number].calls);
    const Index loop = for_schedules ? kernel_->loop_solutions.add(plan_.loops[step.number].calls) : known[step.number];
    solve(step.number, loop, method);
    if (!for_schedules) continue;
    // With the chord of its solution, and a tolerance that rounding allows.
    kernel_->loop_solutions.allow_rounding(loop);
    kernel_->loop_solutions.refresh_chord(loop);
    loops_[step.number] = loop;
  }
}

// From the present values or, where the parts cannot be evaluated there, from second ones.
void System::solve(Index number, Index loop, LoopMethod method) {
  const PlannedLoop& planned = plan_.loops[number];
  std::vector<double> second;
  for (const Slot slot : planned.calls.torn) {
    const auto known = second_guesses_.find(slot);
    second.push_back(known == second_guesses_.end() ? kernel_->slot_values.values[slot] : known->second);
  }
  const Solved found = kernel_->loop_solutions.solve(loop, method, std::span<const double>(second));
  check(found.outcome, now_);
  if (found.solution.converged()) return;
  std::string message = "the algebraic loop {" + joined(planned.names) + "} was not solved by " +
                        found.solution.solver + " in " + std::to_string(found.solution.iterations) +
                        " iterations: " + word(found.solution.status);
  for (std::size_t i = 0; i < planned.names.size() && i < found.solution.x.size(); ++i)
    message += "; " + planned.names[i] + " = " + std::to_string(found.solution.x[i]) + " (residual " +
               std::to_string(found.solution.residual[i]) + ")";
  throw Refused(Status::error, message + " at t = " + std::to_string(now_) + " s");
}

void System::exit_initialization() {
  settle();
  for (const auto& part : parts_) part->exit_initialization();
  first_point();
  couple();
  phase_ = Phase::stepping;
}

// Outputs after initialization mode, loops included.
void System::first_point() {
  loops_.assign(plan_.loops.size(), none);
  for (const Schedule& schedule : plan_.first_point) walk(prepared(schedule), LoopMethod::automatic, true);
}

// What steps need is registered as a run does it: the numbers in the plan are those of this order.
void System::couple() {
  for (const auto& group : plan_.groups) kernel_->groups.add(group);
  std::vector<Index> schedules;
  for (const Schedule& schedule : plan_.schedules) {
    std::vector<CallOrLoop> steps;
    for (const ScheduleStep& step : schedule)
      if (const auto* call = std::get_if<Call>(&step))
        steps.emplace_back(*call);
      else
        steps.emplace_back(SolveLoop{loops_[std::get<Index>(step)]});
    schedules.push_back(kernel_->schedules.add(steps));
  }
  everything_ = schedules.at(plan_.everything);
  for (IterationCalls calls : plan_.iterations) {
    calls.schedule = schedules.at(calls.schedule);
    kernel_->iterations.add(std::move(calls));
  }
  program_ = plan_.program;
  for (Instruction& one : program_)
    if (one.op == Op::evaluate) one.argument = schedules.at(one.argument);
  kernel_->inputs.exchange(plan_.everyone);
  kernel_->history.accept(now_);
}

// --- steps -----------------------------------------------------------------------------------------------------------

void System::settle() {
  if (!std::exchange(changed_, false)) return;
  if (phase_ == Phase::initialization) {
    walk(initialization_, method_of(plan_.init), false);
    kernel_->wires.copy_outer();
  }
  if (phase_ == Phase::stepping) jump();
}

// What was set acts at this instant, and what was before bends no polynomial any more.
void System::jump() {
  kernel_->inputs.exchange(plan_.everyone);
  check(kernel_->rescues.evaluate(everything_), now_);
  kernel_->inputs.exchange(plan_.everyone);
  kernel_->history.accept(long_ago);
  kernel_->history.accept(now_);
}

double System::time_of(std::int64_t point) const noexcept {
  return experiment_.start + static_cast<double>(point) * plan_.step;
}

// The last point of the grid that is not after t, but for rounding.
std::int64_t System::passed(double t) const noexcept {
  const std::int64_t point = std::llround((t - experiment_.start) / plan_.step);
  return time_of(point) <= t + close * plan_.step ? point : point - 1;
}

// A point of the grid that is t but for rounding, or t.
double System::on_grid(double t) const noexcept {
  const double point = time_of(passed(t));
  return std::abs(point - t) <= close * plan_.step ? point : t;
}

bool System::is_at(double t) const noexcept {
  return std::abs(t - now_) <= std::max(close * plan_.step, 4 * std::abs(std::nextafter(t, HUGE_VAL) - t));
}

void System::step_to(double end) {
  settle();
  end = on_grid(end);
  while (now_ < end) {
    const std::int64_t point = passed(now_);
    const std::int64_t whole = now_ == time_of(point) ? passed(end) - point : 0;
    if (whole > 0)
      whole_steps(point, std::min(whole, at_once));
    else
      part_of_a_step(std::min(time_of(point + 1), end));
  }
}

void System::whole_steps(std::int64_t first, std::int64_t count) {
  rows_.resize(static_cast<std::size_t>(count));
  const Outcome outcome = kernel_->programs.run(program_, experiment_.start, plan_.step, first, rows_, count);
  const std::int64_t done = first + outcome.steps;
  now_ = time_of(done);
  if (outcome.ok()) return;
  check(with_rescues(outcome, now_, plan_.step, time_of(done + 1)), now_);
  now_ = time_of(done + 1);
}

void System::part_of_a_step(double to) {
  const double point[] = {now_, to - now_, to, 0.0};
  rows_.resize(1);
  check(with_rescues(kernel_->programs.run_through(program_, {}, point, rows_), now_, to - now_, to), now_);
  now_ = to;
}

// The step that has stopped at a loop: the schedule that has it, with better methods, and what comes after that.
Outcome System::with_rescues(Outcome outcome, double t, double h, double to) {
  const double point[] = {t, h, to, 0.0};
  std::span<const Instruction> program(program_);
  while (outcome.code == Code::loop) {
    program = program.subspan(static_cast<std::size_t>(outcome.instruction));
    if (program.front().op != Op::evaluate) return outcome;
    const Outcome rescued = kernel_->rescues.evaluate(program.front().argument);
    if (!rescued.ok()) return rescued;
    program = program.subspan(1);
    rows_.resize(1);
    outcome = kernel_->programs.run_through(program, {}, point, rows_);
  }
  return outcome;
}

// --- the end ---------------------------------------------------------------------------------------------------------

void System::terminate() {
  for (const auto& part : parts_) part->terminate();
}

void System::reset() {
  release_states();
  for (const auto& part : parts_) part->reset();
  given_.clear();
  second_guesses_.clear();
  experiment_ = {plan_.start, {}, {}};
  phase_ = Phase::instantiated;
  changed_ = false;
  build_kernel();
}

void System::log_from_now_on(bool on) {
  for (const auto& part : parts_) part->log_from_now_on(on);
}

// --- variables -------------------------------------------------------------------------------------------------------

const SystemVariable& System::variable(std::size_t reference) const {
  if (reference >= plan_.variables.size())
    throw Refused(Status::error, "there is no variable with the value reference " + std::to_string(reference));
  return plan_.variables[reference];
}

Value System::get(std::size_t reference) {
  const SystemVariable& variable = this->variable(reference);
  settle();
  if (variable.slot) return read(*variable.slot);
  const Target& target = variable.targets.at(0);
  Value found = parts_[target.part]->get(target.suffix, target.reference);
  if (auto* real = std::get_if<double>(&found); real != nullptr && target.factor != 0.0)
    *real = (*real - target.offset) / target.factor;
  return found;
}

void System::set(std::size_t reference, const Value& value) {
  const SystemVariable& variable = this->variable(reference);
  const bool may = variable.causality == "input" ||
                   (variable.causality == "parameter" && (variable.tunable || phase_ != Phase::stepping));
  if (!may)
    throw Refused(Status::error, variable.name + ", of causality " + variable.causality + ", cannot be set now");
  if (variable.slot) {
    const double before = kernel_->slot_values.values[*variable.slot];
    write(*variable.slot, value);
    changed_ |= as_integer(before) != as_integer(kernel_->slot_values.values[*variable.slot]);
    return;
  }
  if (phase_ == Phase::instantiated)
    given_.emplace_back(reference, value);
  else
    set_in_parts(variable, value);
  changed_ = true;
}

void System::set_in_parts(const SystemVariable& variable, const Value& value) {
  for (const Target& target : variable.targets) {
    Value converted = value;
    if (auto* real = std::get_if<double>(&converted)) *real = target.factor * *real + target.offset;
    parts_[target.part]->set(target.suffix, target.reference, converted);
  }
}

std::vector<double> System::directional(std::span<const fmi::Reference> unknowns,
                                        std::span<const fmi::Reference> knowns, std::span<const double> seed) {
  settle();
  std::vector<double> direction(plan_.slots);
  for (std::size_t i = 0; i < knowns.size(); ++i) {
    const SystemVariable& known = variable(knowns[i]);
    if (known.causality != "input" || !known.slot)
      throw Refused(Status::error, "derivatives by " + known.name + ", of causality " + known.causality +
                                       ", are not provided; by inputs they are");
    direction[*known.slot] += seed[i];
  }
  Tangents tangents(plan_, parts_, std::move(direction));
  tangents.follow(phase_ == Phase::initialization ? plan_.initialization : plan_.schedules.at(plan_.everything));
  tangents.arrive();
  std::vector<double> found;
  for (const fmi::Reference reference : unknowns) {
    const SystemVariable& unknown = variable(reference);
    if (!unknown.slot) throw Refused(Status::error, "derivatives of " + unknown.name + " are not provided");
    found.push_back(tangents.at(*unknown.slot));
  }
  return found;
}

// --- states ----------------------------------------------------------------------------------------------------------

std::unique_ptr<SystemState> System::save() {
  auto state = std::make_unique<SystemState>();
  state->phase = phase_;
  state->experiment = experiment_;
  state->now = now_;
  state->changed = changed_;
  state->given = given_;
  state->second_guesses = second_guesses_;
  const SlotValues& slots = kernel_->slot_values;
  state->slots = contents(slots.values);
  state->input_value = slots.input_value;
  state->input_rates = slots.input_rates;
  for (const History::Point& point : kernel_->history.all()) state->points.push_back({point.t, contents(point.values)});
  for (Index i = 0; i < kernel_->iterations.size(); ++i)
    state->iterations.push_back({kernel_->iterations.memory(i), kernel_->iterations.accepted(i)});
  for (const Index loop : loops_)
    if (phase_ == Phase::stepping && loop != none)
      state->loops.push_back({kernel_->loops.convergence(loop).rtol, kernel_->loops.chord(loop)});
  for (Index i = 0; i < parts_.size(); ++i) state->instances.push_back(kernel_->members.instance(i).memory());
  try {
    for (const auto& part : parts_) state->parts.push_back(part->save_state());
  } catch (...) {
    release(*state);
    throw;
  }
  return state;
}

void System::restore(const SystemState& state) {
  // What is registered with the kernel belongs to a phase.
  if (phase_ != state.phase) build_kernel();
  for (Index i = 0; i < parts_.size(); ++i) parts_[i]->restore_state(state.parts[i]);
  if (phase_ != state.phase && state.phase == Phase::stepping) {
    register_loops();
    couple();
  }
  phase_ = state.phase;
  experiment_ = state.experiment;
  now_ = state.now;
  changed_ = state.changed;
  given_ = state.given;
  second_guesses_ = state.second_guesses;
  SlotValues& slots = kernel_->slot_values;
  std::ranges::copy(values_of(state.slots), slots.values.begin());  // vectors stay where they are
  std::ranges::copy(state.input_value, slots.input_value.begin());
  std::ranges::copy(state.input_rates, slots.input_rates.begin());
  std::vector<History::Point> points;
  for (const SavedPoint& point : state.points) points.push_back({point.t, values_of(point.contents)});
  kernel_->history.go_on(points);
  for (Index i = 0; i < state.iterations.size(); ++i) {
    kernel_->iterations.set_memory(i, state.iterations[i].memory);
    kernel_->iterations.set_accepted(i, state.iterations[i].accepted);
  }
  for (Index i = 0; i < parts_.size(); ++i) kernel_->members.instance(i).go_on(state.instances[i]);
  auto saved = state.loops.begin();
  for (const Index loop : loops_) {
    if (state.phase != Phase::stepping || loop == none) continue;
    kernel_->loops.loosen(loop, saved->rtol);
    kernel_->loops.set_chord(loop, saved->chord);
    ++saved;
  }
}

// Those of schedules, as `first_point` does, without solving them.
void System::register_loops() {
  loops_.assign(plan_.loops.size(), none);
  for (const Schedule& schedule : plan_.first_point)
    for (const ScheduleStep& step : schedule)
      if (const auto* loop = std::get_if<Index>(&step))
        loops_[*loop] = kernel_->loop_solutions.add(plan_.loops[*loop].calls);
}

void System::release(const SystemState& state) noexcept {
  for (Index i = 0; i < state.parts.size(); ++i) parts_[i]->release_state(state.parts[i]);
}

std::string System::serialized(const SystemState& state) {
  std::vector<std::string> parts;
  for (Index i = 0; i < parts_.size(); ++i) parts.push_back(parts_[i]->serialized(state.parts[i]));
  return to_bytes(state, parts, plan_.token);
}

std::unique_ptr<SystemState> System::deserialized(const std::string& bytes) {
  std::vector<std::string> parts;
  auto state = std::make_unique<SystemState>(from_bytes(bytes, parts, plan_.token));
  try {
    for (Index i = 0; i < parts_.size(); ++i) state->parts.push_back(parts_[i]->deserialized(parts.at(i)));
  } catch (...) {
    release(*state);
    throw;
  }
  return state;
}

SlotContents System::contents(const std::vector<double>& values) const {
  SlotContents found{values, {}};
  for (Slot slot = 0; slot < values.size(); ++slot)
    if (plan_.types[slot] == "String") {
      found.values[slot] = as_double(static_cast<std::int64_t>(found.texts.size()));
      found.texts.push_back(kernel_->slot_values.contents.at(as_integer(values[slot])));
    }
  return found;
}

std::vector<double> System::values_of(const SlotContents& contents) {
  std::vector<double> values = contents.values;
  for (Slot slot = 0; slot < values.size(); ++slot)
    if (plan_.types[slot] == "String") {
      const auto place = static_cast<std::size_t>(as_integer(values[slot]));
      values[slot] = as_double(kernel_->slot_values.contents.number(contents.texts.at(place)));
    }
  return values;
}

// --- outcomes in words -----------------------------------------------------------------------------------------------

void System::check(const Outcome& outcome, double t) const {
  if (outcome.ok()) return;
  Status status = Status::error;
  if (outcome.code == Code::fmi && outcome.fmi_status == static_cast<int>(Status::fatal)) status = Status::fatal;
  if (outcome.code == Code::fmi && outcome.fmi_status == static_cast<int>(Status::discard)) status = Status::discard;
  throw Refused(status, explain(outcome, t));
}

std::string System::explain(const Outcome& outcome, double t) const {
  const std::string at = " at t = " + std::to_string(t) + " s";
  const auto name = [&] { return "component " + parts_[static_cast<std::size_t>(outcome.instance)]->plan().name; };
  const auto signal = [&] { return plan_.signals[static_cast<std::size_t>(outcome.slot)]; };
  switch (outcome.code) {
    case Code::fmi: return name() + ": " + outcome.function + " returned " + word(outcome.fmi_status) + at;
    case Code::nonfinite: return name() + ": " + signal() + " is not finite (from " + outcome.function + ")" + at;
    case Code::range:
      return name() + ": " + signal() + " does not fit the type of the input (" + outcome.function + ")" + at;
    case Code::loop: return "an algebraic loop was not solved" + at;
    case Code::coupling:
      return "the iteration of a macro step did not converge after " + std::to_string(outcome.iterations) +
             " iterations" + at;
    default: return "the step ended early" + at;
  }
}

}  // namespace ssptool::runtime
