#include "rows_beside.hpp"

#include <algorithm>
#include <cmath>
#include <exception>
#include <utility>

#include "system.hpp"

namespace ssptool::runtime {

namespace {

// Fraction of a macro step within which two times are equal.
constexpr double close = 1e-9;

bool finished_steps(const System& system, const VaryingSteps* varying) {
  return varying != nullptr ? system.finished(*varying) : system.finished();
}

void append(Stretch& found, Stretch& more) {
  found.events += more.events;
  found.alone += more.alone;
  found.rejected += more.rejected;
  found.iterations.insert(found.iterations.end(), more.iterations.begin(), more.iterations.end());
  found.outcome = more.outcome;
  found.from = more.from;
  found.to = more.to;
  found.rescuing = more.rescuing;
  found.unsampled = more.unsampled;
  if (!found.unobserved) found.unobserved = more.unobserved;
}

}  // namespace

RowsBeside::RowsBeside(System& system, OdeOfRun& ode, const RowColumns& columns, bool done)
    : system_(system),
      ode_(ode),
      columns_(system.plan().recorded.size(), From::both),
      last_(system.kernel()->recorder.width()),
      done_(done) {
  const Plan& plan = system.plan();
  for (const std::size_t column : columns.of_points) columns_.at(column) = From::point;
  for (std::size_t column = 0; column < columns_.size(); ++column)
    if (std::ranges::find(plan.integers, plan.recorded[column]) != plan.integers.end()) columns_[column] = From::before;
  for (const std::size_t column : columns.of_ode) columns_.at(column) = From::ode;
  last_.front() = system.time();
  see();
}

void RowsBeside::see() { (void)system_.kernel()->recorder.record(last_.front(), last_); }

bool RowsBeside::finished(const VaryingSteps* varying) {
  return done_ && !waiting(varying) && !system_.component().event_pending();
}

void RowsBeside::run(Stretch& found, VaryingSteps* varying, double limit, std::span<double> rows) {
  points_.clear();
  events_.clear();
  hand_out(found, rows);
  if (failed_) return;
  failed_ = true;  // stays true if an exception is thrown
  bool goes_on = true;
  system_.kernel()->recorder.forget_exceeded();
  const Recorder& recorder = system_.kernel()->recorder;
  while (goes_on && !recorder.exceeded() && !room(found, rows).empty() && !finished(varying)) {
    if (!(varying != nullptr && varying->waiting()) && system_.component().event_pending())
      react(found, rows);
    else
      goes_on = step(found, varying, limit, rows);
  }
  failed_ = !found.outcome.ok() || found.unsampled || (varying != nullptr && varying->no_size());
}

std::span<double> RowsBeside::room(const Stretch& found, std::span<double> rows) const {
  return rows.subspan(static_cast<std::size_t>(found.steps) * last_.size());
}

void RowsBeside::hand_out(Stretch& found, std::span<double> rows) {
  while (!rows_.empty() && !room(found, rows).empty()) {
    Waiting first = std::move(rows_.front());
    rows_.pop_front();
    std::ranges::copy(first.row, room(found, rows).begin());
    points_.push_back(first.is_point);
    ++found.steps;
  }
}

// Handles an event of the ODE at the present communication point, after changes of signals of other parts that it
// receives at events only.
void RowsBeside::react(Stretch& found, std::span<double> rows) {
  const double t = found.from = found.to = last_.front();
  for (int i = 0; i < max_event_iterations; ++i) {
    system_.react(ode_);
    if (system_.component().event_pending()) continue;
    const Outcome outcome = system_.kernel()->recorder.record(t, last_);
    if (!outcome.ok() && !found.unobserved) found.unobserved.emplace(outcome, t);
    return put(found, rows, last_, true);
  }
  throw endless(t, {}, {});
}

// Rows are written to their final place if there are no events, so that each step is visible at once. Returns whether
// more steps may follow.
bool RowsBeside::step(Stretch& found, VaryingSteps* varying, double limit, std::span<double> rows) {
  std::span<double> left = room(found, rows);
  if (system_.component().takes_event_signals()) left = left.first(last_.size());
  Stretch done;
  std::exception_ptr stopped;
  try {
    varying != nullptr ? system_.run(*varying, done, limit, left) : system_.run(done, limit, left);
  } catch (...) {
    stopped = std::current_exception();
  }
  done_ = finished_steps(system_, varying);
  append(found, done);
  weave(found, rows, static_cast<std::size_t>(done.steps));
  if (stopped) std::rethrow_exception(stopped);
  if (!found.outcome.ok() || found.unsampled || (varying != nullptr && varying->no_size())) return false;
  return done.steps > 0 || done_;
}

// Inserts rows of events between `count` new rows of steps.
void RowsBeside::weave(Stretch& found, std::span<double> rows, std::size_t count) {
  if (count == 0) return;
  const std::size_t width = last_.size();
  const std::span<double> made = room(found, rows).first(count * width);
  if (system_.component().rows().empty()) {
    points_.insert(points_.end(), count, true);
    found.steps += static_cast<std::int64_t>(count);
    last_.assign(made.end() - static_cast<std::ptrdiff_t>(width), made.end());
    return;
  }
  const std::vector<double> steps(made.begin(), made.end());
  for (std::size_t first = 0; first < steps.size(); first += width) {
    const std::span<const double> row = std::span(steps).subspan(first, width);
    add_events(found, rows, row);
    last_.assign(row.begin(), row.end());
    put(found, rows, last_, true);
  }
}

// Adds the events since the last communication point.
void RowsBeside::add_events(Stretch& found, std::span<double> rows, std::span<const double> after) {
  const double end = after.front() + close * (after.front() - last_.front());
  while (const auto event = system_.component().take_row(end)) put(found, rows, at_event(event->row, after), false);
}

// Steps end at sums of sizes, which may differ from the kernel's times of communication points by rounding.
std::vector<double> RowsBeside::at_event(std::span<const double> row, std::span<const double> after) {
  const std::span<const double> before = last_;
  const double t = row.front(), h = after.front() - before.front(), part = (t - before.front()) / h;
  std::span<const double> point;
  for (const std::span<const double> one : {after, before})
    if (point.empty() && std::abs(one.front() - t) <= close * h) point = one;
  std::vector<double> found(row.size());
  found.front() = point.empty() ? t : point.front();
  for (std::size_t i = 1; i < row.size(); ++i) {
    switch (columns_[i - 1]) {
      case From::ode: found[i] = row[i]; break;
      case From::point: found[i] = point.empty() ? before[i] : point[i]; break;
      case From::before: found[i] = before[i]; break;
      case From::both: found[i] = before[i] + part * (after[i] - before[i]);
    }
  }
  events_.push_back({found.front(), !point.empty()});
  return found;
}

void RowsBeside::put(Stretch& found, std::span<double> rows, std::vector<double> row, bool is_point) {
  const std::span<double> left = room(found, rows);
  if (left.empty()) {
    rows_.push_back({std::move(row), is_point});
    return;
  }
  std::ranges::copy(row, left.begin());
  points_.push_back(is_point);
  ++found.steps;
}

}  // namespace ssptool::runtime
