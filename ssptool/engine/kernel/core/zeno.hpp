// Events of one cause at nearly the same time: zeno.py in C++.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "stopped.hpp"

namespace ssptool {

// The cause of an event.
struct Cause {
  std::string component, what;

  auto operator<=>(const Cause&) const = default;
  [[nodiscard]] std::string text() const { return what + " of " + component; }
};

// The number of events of one cause, and the times of the latest ones.
struct EventHistory {
  std::int64_t total = 0;
  std::vector<double> times{};
};

// The distance from a time to the next one that can be distinguished.
double spacing(double t) noexcept;

// The largest difference of times about t that are considered equal, in a run with macro steps of this size.
double tolerance_of_times(double t, double step) noexcept;

// Both functions throw IntegrationStopped.
class ZenoDetector {
 public:
  explicit ZenoDetector(double step) : step_(step) {}

  // Adds an event; returns the time since one of its causes was last seen, or inf.
  double note(double t, std::span<const Cause> causes);
  // Reports an event of this cause that follows too soon to be resolved.
  void lose(const Cause&);

  [[nodiscard]] const std::map<Cause, EventHistory>& seen() const noexcept { return seen_; }
  void set_seen(std::map<Cause, EventHistory> seen) { seen_ = std::move(seen); }

 private:
  void judge(const Cause&, const EventHistory&, double close) const;

  double step_;
  std::map<Cause, EventHistory> seen_;
};

}  // namespace ssptool
