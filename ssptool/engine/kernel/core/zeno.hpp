// Events of one cause that follow each other without the time moving on: zeno.py as C++ types.
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

// Of an event.
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

// From a time to the next one that can be told apart from it.
double spacing(double t) noexcept;

// The largest distance of two times about t that count as equal, in a run with macro steps of this size.
double tolerance_of_times(double t, double step) noexcept;

// Both functions throw IntegrationStopped.
class ZenoDetector {
 public:
  explicit ZenoDetector(double step) : step_(step) {}

  // One more event: how long ago one of its causes was last seen, or inf.
  double note(double t, std::span<const Cause> causes);
  // An event of this cause follows so soon that it cannot be seen.
  void lose(const Cause&);

  [[nodiscard]] const std::map<Cause, EventHistory>& seen() const noexcept { return seen_; }
  void set_seen(std::map<Cause, EventHistory> seen) { seen_ = std::move(seen); }

 private:
  void judge(const Cause&, const EventHistory&, double close) const;

  double step_;
  std::map<Cause, EventHistory> seen_;
};

}  // namespace ssptool
