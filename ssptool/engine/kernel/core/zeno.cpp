#include "zeno.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "digits.hpp"

namespace ssptool {

namespace {

// Number of events of one cause within a fraction of a macro step that count as no progress, and this fraction.
constexpr std::size_t chatter_events = 10;
constexpr double chatter_time = 1e-4;

// Except if the later half of the intervals takes less than this part of the earlier half.
constexpr double shrinking = 0.9;

// This number of consecutive intervals between events, each shorter than the one before, is considered endless.
constexpr std::size_t accumulating = 5;

constexpr double close_times = 1e-9;

std::vector<double> intervals_of(const EventHistory& seen) {
  std::vector<double> found;
  for (std::size_t i = 1; i < seen.times.size(); ++i) found.push_back(seen.times[i] - seen.times[i - 1]);
  return found;
}

double span_of(const EventHistory& seen) { return seen.times.back() - seen.times.front(); }

double sum(std::span<const double> numbers) {
  double total = 0.0;
  for (const double number : numbers) total += number;
  return total;
}

bool shrink(std::span<const double> intervals) {
  for (std::size_t i = 1; i < intervals.size(); ++i)
    if (!(intervals[i] < intervals[i - 1])) return false;
  return true;
}

std::string times_of(const EventHistory& seen) {
  const std::vector<double> intervals = intervals_of(seen);
  return "with up to " + seconds(*std::ranges::max_element(intervals), 3) + " between them, and " +
         seconds(intervals.back(), 3) + " between the last two";
}

IntegrationStopped chatters(const Cause& cause, const EventHistory& seen) {
  return {
      Ending::events,
      "component " + cause.component + " chatters: " + std::to_string(seen.times.size()) + " events by " +
          cause.text() + " within " + seconds(span_of(seen), 3) + ", " + times_of(seen),
      "give its switching a hysteresis or a minimum time between switches; if it is meant to switch so often, use a "
      "smaller step size",
      seen.times.back(), cause.component};
}

IntegrationStopped accumulates(const Cause& cause, const EventHistory& seen) {
  return {Ending::events,
          "events of component " + cause.component + " accumulate: the last " + std::to_string(seen.times.size()) +
              " of " + std::to_string(seen.total) + " by " + cause.text() + " are within " + seconds(span_of(seen), 3) +
              ", " + times_of(seen) + "; the model does not define what follows",
          "let the model come to rest below a minimum speed, size or time, or stop before t = " +
              seconds(std::floor(seen.times.front() * 1e6) / 1e6, 15),
          seen.times.back(), cause.component};
}

}  // namespace

double spacing(double t) noexcept {
  const double size = std::abs(t);
  return std::nextafter(size, std::numeric_limits<double>::infinity()) - size;
}

double tolerance_of_times(double t, double step) noexcept { return std::max(close_times * step, spacing(t)); }

double ZenoDetector::note(double t, std::span<const Cause> causes) {
  double recurrence = std::numeric_limits<double>::infinity();
  for (const Cause& cause : causes) {
    EventHistory& seen = seen_[cause];
    if (!seen.times.empty()) recurrence = std::min(recurrence, t - seen.times.back());
    ++seen.total;
    seen.times.push_back(t);
    if (seen.times.size() > chatter_events) seen.times.erase(seen.times.begin());
    judge(cause, seen, tolerance_of_times(t, step_));
  }
  return recurrence;
}

void ZenoDetector::lose(const Cause& cause) {
  const EventHistory& seen = seen_[cause];
  const std::vector<double> intervals = intervals_of(seen);
  if (intervals.empty()) return;
  double longest = 0.0;
  if (intervals.size() > 1) longest = *std::max_element(intervals.begin(), intervals.end() - 1);
  if (intervals.back() <= std::min(chatter_time * step_, longest)) throw accumulates(cause, seen);
}

void ZenoDetector::judge(const Cause& cause, const EventHistory& seen, double close) const {
  const std::vector<double> intervals = intervals_of(seen);
  if (seen.times.size() == chatter_events && span_of(seen) <= chatter_time * step_) {
    const std::span<const double> all(intervals);
    const std::size_t part = all.size() / 2;
    const bool patient = span_of(seen) > close && sum(all.last(part)) < shrinking * sum(all.first(part));
    if (!patient) throw chatters(cause, seen);
  }
  if (intervals.size() < accumulating) return;
  const std::span<const double> latest = std::span(intervals).last(accumulating);
  if (shrink(latest) && 0.0 < latest.back() && latest.back() <= close) throw accumulates(cause, seen);
}

}  // namespace ssptool
