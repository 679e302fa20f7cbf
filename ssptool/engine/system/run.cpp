// Macro steps of a run: from communication point to communication point, each with its row.
#include <algorithm>

#include "system.hpp"

namespace ssptool::runtime {

bool System::finished() const {
  return now_ >= plan_.stop - grid().moment() && !(steps_end_at_events() && event_due());
}

void System::run(Stretch& found, double limit, std::span<double> rows) {
  const double end = grid().cut(plan_.stop, limit);
  while (found.outcome.ok() && !finished()) {
    const std::span<double> left = rows_left(found, rows);
    found.from = found.to = now_;
    if (left.empty()) return;
    if (steps_end_at_events() && event_due())
      row_of_event(found, left);
    else if (now_ >= limit - grid().moment())
      return;
    else if (steps_end_at_events())
      step_until(found, grid().cut(std::min(next_event(), plan_.stop), limit), left);
    else
      step_on_the_grid(found, end, left);
  }
}

std::span<double> System::rows_left(const Stretch& found, std::span<double> rows) const {
  return rows.subspan(static_cast<std::size_t>(found.steps) * kernel_->recorder.width());
}

void System::step_on_the_grid(Stretch& found, double end, std::span<double> rows) {
  const std::size_t width = kernel_->recorder.width();
  const std::int64_t point = grid().passed(now_);
  const std::int64_t whole = now_ == grid().time_of(point) ? grid().whole_until(end) - point : 0;
  if (whole > 0)
    whole_rows(found, point, rows.first(std::min(rows.size(), static_cast<std::size_t>(whole) * width)));
  else
    one_row(found, end, rows.first(width));
}

void System::whole_rows(Stretch& found, std::int64_t first, std::span<double> rows) {
  const std::int64_t before = found.steps;
  kernel_alone(found, first, rows);
  const std::size_t done = static_cast<std::size_t>(found.steps - before), width = kernel_->recorder.width();
  if (found.outcome.code == Code::loop) rescue(found, plan_.step, rows.subspan(done * width, width));
}

// Whole steps as far as the kernel does them without help.
void System::kernel_alone(Stretch& found, std::int64_t first, std::span<double> rows) {
  found.outcome = steps_->whole(grid(), first, rows);
  const std::span<const std::int64_t> counts = kernel_->iterations.counts();
  const std::int64_t done = found.outcome.steps;
  found.iterations.insert(found.iterations.end(), counts.begin(), counts.begin() + done);
  found.steps += done;
  now_ = grid().time_of(first + done);
  if (found.outcome.ok()) return;
  found.from = now_;
  found.to = grid().time_of(first + done + 1);
}

void System::one_row(Stretch& found, double limit, std::span<double> row) {
  const auto [h, to] = grid().next_step(now_, limit, nullptr);
  found.from = now_;
  found.to = to;
  found.outcome = steps_->one(now_, h, to, row);
  rescue(found, h, row);
}

// The rest of a step if it has stopped at a loop.
void System::rescue(Stretch& found, double h, std::span<double> row) {
  const std::int64_t before = kernel_->iterations.counts().back();
  found.outcome = steps_->rescued(found.outcome, found.from, h, found.to, row);
  found.rescuing = steps_->rescue_failed();
  if (!found.outcome.ok()) return;
  const std::span<const std::int64_t> after = kernel_->iterations.counts();
  found.iterations.push_back(std::max(before, after.empty() ? 1 : after.front()));
  ++found.steps;
  now_ = found.to;
}

void System::row_of_event(Stretch& found, std::span<double> rows) {
  handle_event();
  ++found.events;
  add_row(found, rows);
}

// Of the present instant; the first thing that cannot be observed is told.
void System::add_row(Stretch& found, std::span<double> rows) {
  const Outcome outcome = kernel_->recorder.record(now_, rows.first(kernel_->recorder.width()));
  if (!outcome.ok() && !found.unobserved) found.unobserved.emplace(outcome, now_);
  ++found.steps;
}

}  // namespace ssptool::runtime
