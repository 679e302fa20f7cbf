#include "programs.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>

namespace ssptool {

namespace {

// Relative to a macro step: an instance that is this far from its end has not reached it.
constexpr double close = 1e-9;

}  // namespace

void Recorder::add(Index index) {
  const Member& member = members_[index];
  if (member.observed.slots.empty()) return;
  observed_.push_back({.inputs = access_.transfer(index, of_type(member.inputs, Type::float64)),
                       .floats = access_.transfer(index, of_type(member.observed, Type::float64)),
                       .typed_inputs = by_type(member.inputs),
                       .typed = by_type(member.observed)});
}

void Recorder::record_slots(const std::vector<Slot>& slots) {
  for (const Slot slot : slots) slot_values_.check(slot);
  recorded_ = Window(slot_values_.values.data(), slots);
}

Outcome Recorder::record(double t, std::span<double> row) {
  check_size(row.size(), width(), "the row");
  return access_.result(write_row(t, row.data()));
}

bool Recorder::write_row(double t, double* row) noexcept {
  for (Observed& one : observed_)
    if (!access_.observe(one)) [[unlikely]]
      return false;
  if (!observed_.empty()) wires_.copy_outer();
  *row = t;
  if (const std::span<const double> values = recorded_.read(); !values.empty())
    std::memcpy(row + 1, values.data(), values.size_bytes());
  for (std::size_t i = 0; i < watched_.size(); ++i) exceeded_ = exceeded_ || std::abs(row[watched_[i]]) > limits_[i];
  return true;
}

void Recorder::watch(std::vector<std::size_t> places, std::vector<double> limits) {
  check_size(limits.size(), places.size(), "the array of limits");
  for (const std::size_t place : places) check_index(place, width(), "number in a row");
  watched_ = std::move(places);
  limits_ = std::move(limits);
}

// Throws if the program is wrong. Instructions without effect, such as holding the inputs of no instance, are left out.
std::vector<Programs::Task> Programs::tasks(std::span<const Instruction> program) {
  std::vector<Task> tasks;
  std::size_t records = 0;
  for (const Instruction& instruction : program) {
    const auto [op, argument, order] = instruction;
    Task task{op, order, argument, nullptr, &instruction - program.data()};
    const bool may_be_constant = op == Op::interpolate || op == Op::mid_step;
    if (op == Op::extrapolate || (may_be_constant && order != 0)) check_order(order);
    if (op == Op::record)
      ++records;
    else if (op == Op::evaluate)
      check_index(argument, schedules_.size(), "schedule");
    else if (op == Op::iterate)
      check_index(argument, iterations_.size(), "iteration");
    else if (op != Op::accept && op != Op::drive && op != Op::ask)
      task.group = &groups_.at(argument);
    if (task.group == nullptr || !task.group->instances.empty()) tasks.push_back(task);
  }
  if (records > 1) throw std::invalid_argument("a program may record one row per macro step");
  return tasks;
}

bool Programs::done_by_others(double t, double reached, double h) {
  if (!others_)
    throw std::invalid_argument("the program calls for steps in Python, and no function for them was given");
  const Outcome outcome = others_(t, h, reached);
  if (outcome.ok())
    iterations_.count(outcome.iterations);
  else
    access_.outcome = outcome;
  return outcome.ok();
}

inline bool Programs::execute(const Task& task, double t, double reached, double h, double* row) {
  switch (task.op) {
    case Op::exchange: wires_.copy(task.group->wires); break;
    case Op::hold: inputs_.hold_slots(task.group->inputs); break;
    case Op::extrapolate: inputs_.extrapolate_slots(task.group->inputs, task.order); break;
    case Op::interpolate: inputs_.interpolate_slots(task.group->inputs, task.order, h); break;
    case Op::mid_step: inputs_.mid_step_slots(task.group->inputs, task.order, h); break;
    case Op::advance:
      return task.fast ? stepper_.step_all_fast(*task.group, t, h) : stepper_.step_all(*task.group, t, h);
    case Op::evaluate: return schedules_.visit_all(task.argument);
    case Op::iterate: return iterations_.converge(task.argument, {t, h});
    case Op::save: return stepper_.save_all(*task.group);
    case Op::accept: history_.accept(reached); break;
    case Op::drive: driven_.drive(reached, h); break;
    case Op::ask: return done_by_others(t, reached, h);
    case Op::record: return recorder_.write_row(reached, row);
  }
  return true;
}

// For all macro steps except the first one, which ensures that second derivatives are zero and that there are two
// points for a line.
std::vector<Programs::Task> Programs::fast_path(const std::vector<Task>& tasks) const {
  const bool bends = std::any_of(tasks.begin(), tasks.end(),
                                 [](const Task& one) { return one.op == Op::iterate || one.op == Op::ask; });
  if (bends || stepper_.has_threads()) return tasks;
  std::vector<Task> found;
  std::vector<Task> before;  // the preceding ones that determine how inputs vary
  for (const Task& task : tasks) {
    if (task.op == Op::hold || (task.op == Op::extrapolate && task.order == 1 && history_.size() > 1)) {
      before.push_back(task);
      continue;
    }
    const bool together = task.op == Op::advance && covers(before, *task.group);
    if (together)
      for (const Task& one : before) stepper_.prepare_fast(*one.group, one.op == Op::extrapolate);
    else
      found.insert(found.end(), before.begin(), before.end());
    before.clear();
    found.push_back(task);
    found.back().fast |= together;
  }
  found.insert(found.end(), before.begin(), before.end());
  return found;
}

// Whether they do so for exactly the instances of the group.
bool Programs::covers(const std::vector<Task>& tasks, const Group& group) {
  std::vector<Small> covered, stepped = group.instances;
  for (const Task& task : tasks)
    covered.insert(covered.end(), task.group->instances.begin(), task.group->instances.end());
  std::sort(covered.begin(), covered.end());
  std::sort(stepped.begin(), stepped.end());
  return covered == stepped;
}

Outcome Programs::run(std::span<const Instruction> program, double start, double h, std::int64_t first,
                      std::span<double> rows, std::int64_t steps) {
  const std::vector<Task> tasks = this->tasks(program);
  check_size(rows.size(), static_cast<std::size_t>(steps) * recorder_.width(), "the array of rows");
  iterations_.begin(static_cast<std::size_t>(steps));
  if (!times_.are(start, h)) times_ = {start, h};
  const Grid grid{times_, h, first, rows.data()};
  Outcome outcome = repeat(tasks, grid, 0, std::min<std::int64_t>(steps, 1));
  if (outcome.ok() && steps > 1 && !event_wanted() && !recorder_.exceeded())
    outcome = repeat(fast_path(tasks), grid, 1, steps);
  iterations_.end(outcome);
  return outcome;
}

Outcome Programs::repeat(const std::vector<Task>& tasks, const Grid& grid, std::int64_t begin, std::int64_t end) {
  const std::size_t width = recorder_.width();
  const bool reporting = !members_.reports().empty();
  double reached = grid.time(begin);
  for (std::int64_t k = begin; k < end; ++k) {
    const double t = std::exchange(reached, grid.time(k + 1));
    double* const row = grid.rows + static_cast<std::size_t>(k) * width;
    iterations_.begin_step(static_cast<std::size_t>(k));
    for (StepReport* report : members_.reports()) report->reached = std::numeric_limits<double>::quiet_NaN();
    for (const Task& task : tasks) {
      const bool ok = execute(task, t, reached, grid.h, row);
      // Other failures of a step that was too long are ignored.
      if (reporting && task.steps() && returned_before(reached - close * grid.h))
        return {.code = Code::event, .steps = k, .instruction = task.instruction};
      if (!ok) [[unlikely]]
        return stopped(k, task);
    }
    if ((reporting && event_wanted()) || recorder_.exceeded()) return {.steps = k + 1};
  }
  return {.steps = end};
}

Outcome Programs::stopped(std::int64_t steps, const Task& task) noexcept {
  access_.outcome.steps = steps;
  access_.outcome.instruction = task.instruction;
  return access_.outcome;
}

Outcome Programs::once(std::span<const Instruction> program, double t, double h, double to, std::span<double> row,
                       double early) {
  const std::vector<Task> tasks = this->tasks(program);
  check_size(row.size(), recorder_.width(), "the row");
  iterations_.begin(1);
  iterations_.begin_step(0);
  Outcome outcome{.steps = 1};
  for (const Task& task : tasks) {
    const bool ok = execute(task, t, to, h, row.data());
    if (task.steps() && returned_before(early)) {
      outcome = {.code = Code::event, .instruction = task.instruction};
      break;
    }
    if (!ok) [[unlikely]] {
      outcome = stopped(0, task);
      break;
    }
  }
  iterations_.end(outcome);
  return outcome;
}

bool Programs::returned_before(double end) const noexcept {
  return std::any_of(members_.reports().begin(), members_.reports().end(),
                     [end](const auto* report) { return report->reached < end; });
}

bool Programs::event_wanted() const noexcept {
  return std::any_of(members_.reports().begin(), members_.reports().end(),
                     [](const auto* report) { return report->event != 0.0; });
}

}  // namespace ssptool
