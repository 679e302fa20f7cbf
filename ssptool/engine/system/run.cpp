// Macro steps of a run: from communication point to communication point, each with its row.
#include <algorithm>

#include "system.hpp"

namespace ssptool::runtime {

Stretch System::run(double limit, std::span<double> rows) {
  Stretch found;
  const std::size_t width = kernel_->recorder.width();
  const double end = grid().cut(plan_.stop, limit);
  while (found.outcome.ok() && !finished() && now_ < limit - grid().moment()) {
    const std::span<double> left = rows.subspan(static_cast<std::size_t>(found.steps) * width);
    if (left.empty()) break;
    const std::int64_t point = grid().passed(now_);
    const std::int64_t whole = now_ == grid().time_of(point) ? grid().whole_until(end) - point : 0;
    if (whole > 0)
      whole_rows(found, point, left.first(std::min(left.size(), static_cast<std::size_t>(whole) * width)));
    else
      one_row(found, end, left.first(width));
  }
  return found;
}

void System::whole_rows(Stretch& found, std::int64_t first, std::span<double> rows) {
  found.outcome = steps_->whole(grid(), first, rows);
  const std::span<const std::int64_t> counts = kernel_->iterations.counts();
  const std::int64_t done = found.outcome.steps;
  found.iterations.insert(found.iterations.end(), counts.begin(), counts.begin() + done);
  found.steps += done;
  now_ = grid().time_of(first + done);
  if (found.outcome.ok()) return;
  found.from = now_;
  found.to = grid().time_of(first + done + 1);
  const std::size_t width = kernel_->recorder.width();
  if (found.outcome.code == Code::loop)
    rescue(found, plan_.step, rows.subspan(static_cast<std::size_t>(done) * width, width));
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

}  // namespace ssptool::runtime
