#include "macro_steps.hpp"

#include <algorithm>
#include <iterator>

namespace ssptool::runtime {

namespace {

// Instructions between the states that are saved and the point that is accepted.
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

// A whole step has the very size of all others, not the difference of two rounded times.
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
}

Outcome MacroSteps::whole(const TimeGrid& grid, std::int64_t first, std::int64_t count) {
  rows_.resize(static_cast<std::size_t>(count) * kernel_.recorder.width());
  return kernel_.programs.run(program_, grid.start, grid.step, first, rows_, count);
}

Outcome MacroSteps::done(Program program, double t, double h, double to) {
  const double point[] = {t, h, to, 0.0};
  rows_.resize(kernel_.recorder.width());
  return rescued(program, kernel_.programs.run_through(program, {}, point, rows_), t, h, to);
}

Outcome MacroSteps::rescued(Program program, Outcome outcome, double t, double h, double to) {
  const double point[] = {t, h, to, 0.0};
  while (outcome.code == Code::loop) {
    program = program.subspan(static_cast<std::size_t>(outcome.instruction));
    if (program.front().op != Op::evaluate) return outcome;
    const Outcome evaluated = kernel_.rescues.evaluate(program.front().argument);
    if (!evaluated.ok()) return evaluated;
    program = program.subspan(1);
    rows_.resize(kernel_.recorder.width());
    outcome = kernel_.programs.run_through(program, {}, point, rows_);
  }
  return outcome;
}

}  // namespace ssptool::runtime
