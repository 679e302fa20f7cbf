#include "event_mode.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <memory>
#include <stdexcept>

namespace ssptool {

namespace {

constexpr std::array words{"constant", "fixed", "tunable", "changing", "countdown", "triggered"};

std::vector<fmi::Reference> references_of(EventMode::Clocks clocks) {
  std::vector<fmi::Reference> found;
  for (const PlannedClock* clock : clocks) found.push_back(clock->reference);
  return found;
}

// A resolution of 0 is invalid.
Fraction fraction(std::uint64_t counter, std::uint64_t resolution) {
  return {counter, resolution == 0 ? 1 : resolution};
}

Fraction decimal(double seconds) { return Fraction(std::isfinite(seconds) ? seconds : 0.0); }

}  // namespace

IntervalVariability interval_variability(const std::string& word) {
  const auto* const found = std::ranges::find(words, word);
  if (found == words.end()) throw std::invalid_argument("there are no clocks of the interval variability " + word);
  return static_cast<IntervalVariability>(found - words.begin());
}

const char* word(IntervalVariability variability) noexcept { return words.at(static_cast<std::size_t>(variability)); }

std::vector<std::string> event_mode_functions() {
  return {"fmi3EnterEventMode",   "fmi3EnterStepMode",      "fmi3UpdateDiscreteStates", "fmi3SetClock",
          "fmi3GetClock",         "fmi3GetIntervalDecimal", "fmi3GetIntervalFraction",  "fmi3GetShiftDecimal",
          "fmi3GetShiftFraction", "fmi3SetIntervalDecimal", "fmi3SetIntervalFraction",  "fmi3SetShiftDecimal",
          "fmi3SetShiftFraction"};
}

DiscreteUpdate EventMode::update() const {
  using Update = int(fmi::Component, bool*, bool*, bool*, bool*, bool*, double*);
  DiscreteUpdate found;
  bool defined = false;
  double next_time = 0.0;
  do_call<Update>("fmi3UpdateDiscreteStates", &found.again, &found.terminate, &found.nominals_changed,
                  &found.states_changed, &defined, &next_time);
  if (defined) found.next_time = next_time;
  return found;
}

void EventMode::tick(Clocks clocks) const {
  using Set = int(fmi::Component, const fmi::Reference*, std::size_t, const bool*);
  const std::vector<fmi::Reference> references = references_of(clocks);
  const auto active = std::make_unique<bool[]>(clocks.size());
  std::fill_n(active.get(), clocks.size(), true);
  do_call<Set>("fmi3SetClock", references.data(), references.size(), static_cast<const bool*>(active.get()));
}

std::vector<bool> EventMode::ticking(Clocks clocks) const {
  using Get = int(fmi::Component, const fmi::Reference*, std::size_t, bool*);
  const std::vector<fmi::Reference> references = references_of(clocks);
  const auto active = std::make_unique<bool[]>(clocks.size());
  do_call<Get>("fmi3GetClock", references.data(), references.size(), active.get());
  return std::vector<bool>(active.get(), active.get() + clocks.size());
}

std::pair<Fraction, Qualifier> EventMode::interval(const PlannedClock& clock) const {
  int qualifier = 0;
  if (clock.supports_fraction) {
    using Get = int(fmi::Component, const fmi::Reference*, std::size_t, std::uint64_t*, std::uint64_t*, int*);
    std::uint64_t counter = 0, resolution = 0;
    do_call<Get>("fmi3GetIntervalFraction", &clock.reference, std::size_t{1}, &counter, &resolution, &qualifier);
    return {fraction(counter, resolution), static_cast<Qualifier>(qualifier)};
  }
  using Get = int(fmi::Component, const fmi::Reference*, std::size_t, double*, int*);
  double seconds = 0.0;
  do_call<Get>("fmi3GetIntervalDecimal", &clock.reference, std::size_t{1}, &seconds, &qualifier);
  return {decimal(seconds), static_cast<Qualifier>(qualifier)};
}

Fraction EventMode::shift(const PlannedClock& clock) const {
  if (clock.supports_fraction) {
    using Get = int(fmi::Component, const fmi::Reference*, std::size_t, std::uint64_t*, std::uint64_t*);
    std::uint64_t counter = 0, resolution = 0;
    do_call<Get>("fmi3GetShiftFraction", &clock.reference, std::size_t{1}, &counter, &resolution);
    return fraction(counter, resolution);
  }
  using Get = int(fmi::Component, const fmi::Reference*, std::size_t, double*);
  double seconds = 0.0;
  do_call<Get>("fmi3GetShiftDecimal", &clock.reference, std::size_t{1}, &seconds);
  return decimal(seconds);
}

void EventMode::tell(const PlannedClock& clock) const {
  if (clock.tells_interval && clock.interval)
    tell(clock, *clock.interval, "fmi3SetIntervalFraction", "fmi3SetIntervalDecimal");
  if (clock.tells_shift && clock.shift) tell(clock, *clock.shift, "fmi3SetShiftFraction", "fmi3SetShiftDecimal");
}

void EventMode::tell(const PlannedClock& clock, const Fraction& time, const char* by_fraction,
                     const char* by_decimal) const {
  if (clock.supports_fraction) {
    using Set = int(fmi::Component, const fmi::Reference*, std::size_t, const std::uint64_t*, const std::uint64_t*);
    const std::uint64_t counter = time.numerator().low(), resolution = time.denominator().low();
    do_call<Set>(by_fraction, &clock.reference, std::size_t{1}, &counter, &resolution);
    return;
  }
  using Set = int(fmi::Component, const fmi::Reference*, std::size_t, const double*);
  const double seconds = time.number();
  do_call<Set>(by_decimal, &clock.reference, std::size_t{1}, &seconds);
}

}  // namespace ssptool
