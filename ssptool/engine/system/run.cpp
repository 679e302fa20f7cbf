// Macro steps of a run from one communication point to the next, each with its row.
#include <algorithm>
#include <memory>
#include <utility>

#include "system.hpp"

namespace ssptool::runtime {

namespace {

// A function that drives an input returned no value.
struct Unsampled {};

}  // namespace

void System::know(const std::vector<PlannedInterface>& interfaces) {
  for (Index i = 0; i < interfaces.size(); ++i) {
    const auto derivatives = std::make_shared<InterfaceDerivatives>(interfaces[i], parts_);
    kernel_->iterations.know(i, {interfaces[i].pattern, [derivatives](double h, int order, double held) {
                                   return derivatives->over(h, order, held);
                                 }});
  }
}

bool System::finished() const {
  if (now_ < plan_.stop - grid().moment() || now_ >= end_of_segment()) return false;
  return steps_end_at_events() ? !event_due() : !time_event_of_ode();
}

void System::run(Stretch& found, double limit, std::span<double> rows) {
  go_along(found, rows, [&](std::span<double> left) { return !finished() && go_on(found, limit, left); });
}

void System::go_along(Stretch& found, std::span<double> rows, const GoOn& go_on) {
  const Watching watching(kernel_->loops, iterate_log_ != nullptr ? &iterates_ : nullptr);
  kernel_->iterations.observe(iterate_log_);
  kernel_->recorder.forget_exceeded();
  while (found.outcome.ok() && !found.unsampled && !kernel_->recorder.exceeded()) {
    const std::span<double> left = rows_left(found, rows);
    found.from = found.to = now_;
    if (left.empty()) return;
    try {
      if (!go_on(left)) return;
    } catch (const Unsampled&) {
      found.unsampled = true;
    } catch (...) {
      log_iterates(found.to);
      throw;
    }
    log_iterates(found.to);
  }
}

// Returns whether there was anything to do before the limit.
bool System::go_on(Stretch& found, double limit, std::span<double> rows) {
  const double end = std::min(plan_.stop, next_stop());
  if (steps_end_at_events() && event_due())
    row_of_event(found, rows);
  else if (now_ >= end_of_segment() || (time_event_of_ode() && jump_due()))
    row_of_jump(found, rows);
  else if (time_event_of_ode())
    row_of_ode(found, rows);
  else if (now_ >= limit - grid().moment())
    return false;
  else if (steps_end_at_events())
    step_until(found, grid().cut(std::min(next_event(), end), limit), rows);
  else
    step_on_the_grid(found, grid().cut(end, limit), rows);
  return true;
}

std::span<double> System::rows_left(const Stretch& found, std::span<double> rows) const {
  return rows.subspan(static_cast<std::size_t>(found.steps) * kernel_->recorder.width());
}

void System::step_on_the_grid(Stretch& found, double end, std::span<double> rows) {
  const std::size_t width = kernel_->recorder.width();
  const std::int64_t point = grid().passed(now_);
  const bool together = !sample_ && iterate_log_ == nullptr && now_ == grid().time_of(point);
  const std::int64_t whole = together ? whole_until(end) - point : 0;
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

// Whole steps, as long as the kernel can do them alone.
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

void System::log_iterates(double t) { log_iterates(iterates_, loops_, t); }

void System::log_iterates(std::vector<Iterate>& iterates, const std::vector<Index>& loops, double t) const {
  for (const Iterate& one : iterates)
    iterate_log_->write(t, static_cast<Index>(std::ranges::find(loops, one.loop) - loops.begin()), {&one, 1});
  iterates.clear();
}

void System::watched(const std::function<void()>& act) {
  const Watching watching(kernel_->loops, iterate_log_ != nullptr ? &iterates_ : nullptr);
  try {
    act();
  } catch (...) {
    log_iterates(now_);
    throw;
  }
  log_iterates(now_);
}

// Functions must be sampled for the end of a step before the step.
bool System::sampled(Stretch& found, double t) const {
  found.unsampled = sample_ && !sample_(t, begin_of_segment(), end_of_segment());
  return !found.unsampled;
}

void System::one_row(Stretch& found, double limit, std::span<double> row) {
  const auto [h, to] = grid().next_step(now_, limit, nullptr);
  found.from = now_;
  found.to = to;
  if (iterate_log_ != nullptr) iterate_log_->at(to);
  if (!sampled(found, to)) return;
  found.outcome = steps_->one(now_, h, to, row);
  rescue(found, h, row);
}

// A row for the right side of the instant that has been reached.
void System::row_of_jump(Stretch& found, std::span<double> rows) {
  jump_from_outside();
  jumps_ = true;
  jump();
  add_row(found, rows);
}

// An ODE with its own events is in event mode during the jump.
void System::jump_from_outside() {
  Outcome outcome;
  const auto enter = [&] { outcome = enter_segment(); };
  ode_apart() ? component_->intervene(enter) : enter();
  check(outcome, now_);
}

// Activates tables and scenario of the next segment, sets its parameters, and evaluates the consequences.
Outcome System::enter_segment() {
  go_to_segment(segment_ + 1);
  if (sample_ && !sample_(begin_of_segment(), begin_of_segment(), end_of_segment())) throw Unsampled();
  kernel_->driven.write(begin_of_segment());
  if (stimuli_ != nullptr) set_parameters();
  for (const Index part : std::exchange(retuned_, {})) {
    if (outputs_of_[part] == none) continue;
    if (const Outcome outcome = kernel_->schedules.evaluate(outputs_of_[part]); !outcome.ok()) return outcome;
  }
  return {};
}

void System::set_parameters() {
  std::vector<Index> changed;
  for (const ParameterSetting& one : stimuli_->settings(segment_)) {
    const Index part = one.parameter.part;
    set_in_part(one.parameter, {one.value}, nullptr);
    kernel_->members.leave_mode(part);
    if (std::ranges::find(changed, part) == changed.end()) changed.push_back(part);
  }
  if (!plan_.parameter_wires.empty()) propagate(changed);
}

// Does the rest of a step that has stopped at a loop.
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
  if (!handle_event()) return;
  ++found.events;
  add_row(found, rows);
}

void System::row_of_ode(Stretch& found, std::span<double> rows) {
  handle_event_of_ode();
  ++found.events;
  add_row(found, rows);
}

// A row of the present instant; reports the first variable that cannot be observed.
void System::add_row(Stretch& found, std::span<double> rows) {
  const Outcome outcome = kernel_->recorder.record(now_, rows.first(kernel_->recorder.width()));
  if (!outcome.ok() && !found.unobserved) found.unobserved.emplace(outcome, now_);
  ++found.steps;
}

}  // namespace ssptool::runtime
