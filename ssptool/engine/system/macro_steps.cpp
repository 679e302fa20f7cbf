#include "macro_steps.hpp"

#include <algorithm>
#include <iterator>

namespace ssptool::runtime {

namespace {

// Instructions between the saving of states and the acceptance of the reached point.
bool is_of_attempt(const Instruction& one) {
  return one.op != Op::save && one.op != Op::accept && one.op != Op::record;
}

}  // namespace

std::int64_t TimeGrid::passed(double t) const noexcept {
  const std::int64_t point = std::llround((t - start) / step);
  return time_of(point) <= t + moment() ? point : point - 1;
}

double TimeGrid::on_grid(double t) const noexcept {
  const double point = time_of(passed(t));
  return std::abs(point - t) <= moment() ? point : t;
}

std::int64_t TimeGrid::whole_until(double limit) const noexcept {
  const std::int64_t last = passed(limit);
  return on_grid(limit) == limit || std::abs(time_of(last) - limit) > moment() ? last : last - 1;
}

double TimeGrid::cut(double end, double limit) const noexcept {
  if (std::isinf(limit)) return end;
  limit = on_grid(limit);
  return limit < end - moment() ? limit : end;
}

// A whole step has exactly the same size as all others, and not the difference of two rounded times.
std::pair<double, double> TimeGrid::next_step(double t, double limit, const CommunicationStep* own) const noexcept {
  const std::int64_t number = passed(t);
  const double point = time_of(number + 1);
  bool whole = t == time_of(number);
  if (point <= limit - moment()) return {whole ? step : point - t, point};
  whole = whole && point == limit;
  if (own != nullptr && t == own->from && limit == own->to && !whole) return {own->size, limit};
  return {whole ? step : limit - t, limit};
}

MacroSteps::MacroSteps(Kernel& kernel, std::vector<Instruction> program)
    : kernel_(kernel),
      program_(std::move(program)),
      iterate_(std::ranges::any_of(program_, [](const Instruction& one) { return one.op == Op::iterate; })) {
  std::ranges::copy_if(program_, std::back_inserter(attempt_), is_of_attempt);
  const auto last = std::ranges::find(attempt_.rbegin(), attempt_.rend(), Op::evaluate, &Instruction::op);
  delivery_ = attempt_.size() - std::min<std::size_t>(last - attempt_.rbegin() + 1, attempt_.size());
}

Outcome MacroSteps::whole(const TimeGrid& grid, std::int64_t first, std::int64_t count) {
  return whole(grid, first, room(count));
}

Outcome MacroSteps::whole(const TimeGrid& grid, std::int64_t first, std::span<double> rows) {
  const auto count = static_cast<std::int64_t>(rows.size() / kernel_.recorder.width());
  return kernel_.programs.run(program_, grid.start, grid.step, first, rows, count);
}

std::span<double> MacroSteps::room(std::int64_t rows) {
  const std::size_t size = static_cast<std::size_t>(rows) * kernel_.recorder.width();
  if (rows_.size() < size) rows_.resize(size);
  return {rows_.data(), size};
}

Outcome MacroSteps::once(Program program, double t, double h, double to, std::span<double> row, double early) {
  const Outcome outcome = kernel_.programs.once(program, t, h, to, row, early);
  iterations_ = std::max(iterations_, kernel_.iterations.counts().front());
  return outcome;
}

Outcome MacroSteps::one(double t, double h, double to, std::span<double> row) {
  iterations_ = 1;
  return once(program_, t, h, to, row);
}

bool MacroSteps::left_domain(const Outcome& outcome) const {
  if (outcome.instruction < 0) return false;
  const Instruction& one = attempt_.at(static_cast<std::size_t>(outcome.instruction));
  return one.op == Op::iterate && kernel_.iterations.report(one.argument).left_domain;
}

Outcome MacroSteps::done(Program program, double t, double h, double to, double early) {
  iterations_ = 1;
  const std::span<double> row = room(1);
  return rescued(program, once(program, t, h, to, row, early), t, h, to, row, true);
}

Outcome MacroSteps::rescued(Program program, Outcome outcome, double t, double h, double to, std::span<double> row,
                            bool goes_on) {
  rescue_failed_ = false;
  while (outcome.code == Code::loop) {
    const auto place = static_cast<std::size_t>(outcome.instruction);
    if (program[place].op != Op::evaluate) return outcome;
    const Index schedule = program[place].argument;
    Outcome evaluated = goes_on ? kernel_.rescues.go_on(schedule, outcome) : evaluate(schedule);
    if (rescue_failed_ = !evaluated.ok(); rescue_failed_) {
      evaluated.instruction = outcome.instruction;
      return evaluated;
    }
    outcome = once(program.subspan(place + 1), t, h, to, row);
    outcome.instruction += static_cast<std::int64_t>(place) + 1;
  }
  return outcome;
}

Outcome MacroSteps::evaluate(Index schedule) {
  const Outcome outcome = kernel_.rescues.evaluate(schedule);
  for (const Rescue& one : kernel_.rescues.latest()) {
    ++work_.solved;
    work_.iterations += one.solution.iterations;
    work_.contradicted = work_.contradicted || one.solution.contradicted;
  }
  return outcome;
}

}  // namespace ssptool::runtime
