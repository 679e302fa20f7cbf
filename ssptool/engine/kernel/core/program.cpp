// Programs that are repeated for many macro steps, and the rows that they leave.
#include <algorithm>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>

#include "checks.hpp"
#include "kernel.hpp"

namespace ssptool {

namespace {

// [s], before every time: see interface.py.
constexpr double long_ago = -1e300;

// Of a macro step: so much before its end an instance is not there yet.
constexpr double close = 1e-9;

}  // namespace

// Throws if the program is wrong; what does nothing, such as holding the inputs of no instance, is left out.
std::vector<Kernel::Task> Kernel::tasks(std::span<const Instruction> program) {
  std::vector<Task> tasks;
  std::size_t records = 0;
  for (const Instruction& instruction : program) {
    const auto [op, argument, order] = instruction;
    Task task{op, order, argument, nullptr, &instruction - program.data()};
    if (op == Op::extrapolate || op == Op::interpolate) check_order(order, max_order);
    if (op == Op::record)
      ++records;
    else if (op == Op::evaluate)
      check_index(argument, sweeps_.size(), "sweep");
    else if (op == Op::iterate)
      check_index(argument, iterations_.size(), "iteration");
    else if (op != Op::accept && op != Op::drive && op != Op::forget)
      task.group = &checked_group(argument);
    // A row that is recorded at once with the acceptance of all that is in it.
    if (op == Op::record && records_everything_ && observed_.empty() && !tasks.empty() && tasks.back().op == Op::accept)
      tasks.back().straight = true;
    else if (task.group == nullptr || !task.group->instances.empty())
      tasks.push_back(task);
  }
  if (records > 1) throw std::invalid_argument("a program may record one row per macro step");
  return tasks;
}

inline bool Kernel::execute(const Task& task, double t, double reached, double h, double* row) {
  switch (task.op) {
    case Op::exchange: wires_.copy(task.group->wires, values_.data()); break;
    case Op::hold: hold(task.group->inputs); break;
    case Op::extrapolate: extrapolate(task.group->inputs, task.order); break;
    case Op::interpolate: interpolate(task.group->inputs, task.order, h); break;
    case Op::advance: return task.straight ? step_all_straight(*task.group, t, h) : step_all(*task.group, t, h);
    case Op::evaluate: return visit_all(task.argument);
    case Op::iterate: return converge(iterations_[task.argument], t, h);
    case Op::save: return save_all(*task.group);
    case Op::accept:
      if (task.straight)
        keep(reached, row);
      else
        accept(reached);
      break;
    case Op::drive: drive(reached, h); break;
    case Op::forget: accept(long_ago); break;
    case Op::record: return record(reached, row);
  }
  return true;
}

bool Kernel::record(double t, double* row) noexcept {
  for (Observed& one : observed_)
    if (!observe(one)) [[unlikely]]
      return false;
  if (!observed_.empty()) wires_.copy(outer_wires_, values_.data());
  *row = t;
  if (const std::span<const double> values = recorded_.read(); !values.empty())
    std::memcpy(row + 1, values.data(), values.size_bytes());
  return true;
}

Outcome Kernel::record(double t, std::span<double> row) {
  check_size(row.size(), 1 + recorded_.size(), "the row");
  return result(record(t, row.data()));
}

void Kernel::record_slots(const std::vector<Slot>& slots) {
  for (const Slot slot : slots) check_slot(slot);
  recorded_ = Window(values_.data(), slots);
  records_everything_ = !recorded_.scattered() && slots.size() == values_.size() && (slots.empty() || slots[0] == 0);
}

Outcome Kernel::run(std::span<const Instruction> program, double start, double h, std::int64_t first,
                    std::span<double> rows, std::int64_t steps) {
  const std::vector<Task> tasks = this->tasks(program);
  check_size(rows.size(), static_cast<std::size_t>(steps) * (1 + recorded_.size()), "the array of rows");
  counts_.assign(static_cast<std::size_t>(steps), 1);
  const Grid grid{start, h, first, rows.data()};
  Outcome outcome = repeat(tasks, grid, 0, std::min<std::int64_t>(steps, 1));
  if (outcome.ok() && steps > 1 && !event_wanted()) outcome = repeat(straight(tasks), grid, 1, steps);
  finish(outcome);
  return outcome;
}

// Rows belong to who asked for them; a step that failed is counted.
void Kernel::finish(const Outcome& outcome) {
  leave_rows();
  const auto begun = static_cast<std::size_t>(outcome.steps) + (outcome.ok() ? 0 : 1);
  if (begun < counts_.size()) counts_.resize(begun);
}

Outcome Kernel::repeat(const std::vector<Task>& tasks, const Grid& grid, std::int64_t begin, std::int64_t end) {
  const std::size_t width = 1 + recorded_.size();
  const bool reporting = !reports_.empty();
  double reached = grid.time(begin);
  for (std::int64_t k = begin; k < end; ++k) {
    const double t = std::exchange(reached, grid.time(k + 1));
    double* const row = grid.rows + static_cast<std::size_t>(k) * width;
    step_ = static_cast<std::size_t>(k);
    for (StepReport* report : reports_) report->reached = std::numeric_limits<double>::quiet_NaN();
    for (const Task& task : tasks) {
      const bool ok = execute(task, t, reached, grid.h, row);
      if (reporting && (task.op == Op::advance || task.op == Op::iterate) &&
          returned_before(reached - close * grid.h))  // what else went wrong in a step that was too long does not count
        return {.code = Code::event, .steps = k, .instruction = task.instruction};
      if (!ok) [[unlikely]]
        return stopped(k, task);
    }
    if (reporting && event_wanted()) return {.steps = k + 1};
  }
  return {.steps = end};
}

Outcome Kernel::stopped(std::int64_t steps, const Task& task) noexcept {
  outcome_.steps = steps;
  outcome_.instruction = task.instruction;
  return outcome_;
}

Outcome Kernel::run_through(std::span<const Instruction> step, std::span<const Instruction> jump,
                            std::span<const double> points, std::span<double> rows) {
  const std::vector<Task> steps = tasks(step), jumps = tasks(jump);
  const std::size_t width = 1 + recorded_.size(), count = points.size() / 4;
  check_size(rows.size(), count * width, "the array of rows");
  counts_.assign(count, 1);
  Outcome outcome{.steps = static_cast<std::int64_t>(count)};
  for (std::size_t k = 0; k < count && outcome.ok(); ++k) {
    const double t = points[4 * k], h = points[4 * k + 1], to = points[4 * k + 2];
    const bool jumping = h == 0.0;
    step_ = k;
    if (jumping) {
      courses_.between(to, points[4 * k + 3]);
      courses_.write(to, values_.data());
    }
    for (const Task& task : jumping ? jumps : steps)
      if (!execute(task, t, jumping ? t : to, h, rows.data() + k * width)) [[unlikely]] {
        outcome = stopped(static_cast<std::int64_t>(k), task);
        break;
      }
  }
  finish(outcome);
  return outcome;
}

bool Kernel::returned_before(double end) const noexcept {
  return std::any_of(reports_.begin(), reports_.end(), [end](const auto* report) { return report->reached < end; });
}

bool Kernel::event_wanted() const noexcept {
  return std::any_of(reports_.begin(), reports_.end(), [](const auto* report) { return report->event != 0.0; });
}

}  // namespace ssptool
