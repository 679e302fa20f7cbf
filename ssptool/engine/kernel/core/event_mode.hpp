// Event mode of one instance of FMI 3.0, and its clocks: EventMode of ssptool/fmu/model_exchange.py in C++.
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fractions.hpp"
#include "instance.hpp"
#include "stopped.hpp"

namespace ssptool {

enum class IntervalVariability { constant, fixed, tunable, changing, countdown, triggered };

// Throws for a word that is not defined in FMI.
IntervalVariability interval_variability(const std::string& word);
const char* word(IntervalVariability) noexcept;

// A variable of type Clock; see FmuClock of ssptool/fmu/description.py.
struct PlannedClock {
  std::string name;
  fmi::Reference reference = 0;
  IntervalVariability variability = IntervalVariability::triggered;
  std::optional<Fraction> interval{}, shift{};
  bool supports_fraction = false;
  bool tells_interval = false, tells_shift = false;  // values of the system that must be set in the FMU
};

// Qualifier of an interval (FMI 3.0, fmi3IntervalQualifier).
enum class Qualifier { not_yet_known = 0, unchanged = 1, changed = 2 };

struct DiscreteUpdate {
  bool again = false, terminate = false, nominals_changed = false, states_changed = false;
  double next_time = std::numeric_limits<double>::infinity();
};

// The functions that an instance in event mode must have.
std::vector<std::string> event_mode_functions();

// Calls in event mode. All throw CallRefused for a status worse than a warning. Functions are looked up when they are
// called, so an instance without event mode does not need them.
class EventMode {
 public:
  using Clocks = std::span<const PlannedClock* const>;

  EventMode(std::string name, FunctionTable functions, fmi::Component component)
      : name_(std::move(name)), functions_(std::move(functions)), component_(component) {}

  [[nodiscard]] const std::string& name() const noexcept { return name_; }

  void enter() const { call("fmi3EnterEventMode"); }
  // Changes to step mode.
  void leave() const { call("fmi3EnterStepMode"); }
  // One event iteration.
  [[nodiscard]] DiscreteUpdate update() const;

  // Activates input clocks.
  void tick(Clocks) const;
  // Which of these output clocks are active; an FMU reports each activation only once.
  [[nodiscard]] std::vector<bool> ticking(Clocks) const;
  // The time until the next tick [s].
  [[nodiscard]] std::pair<Fraction, Qualifier> interval(const PlannedClock&) const;
  // The time of the first tick after the start [s].
  [[nodiscard]] Fraction shift(const PlannedClock&) const;
  // Sets the values that the system has chosen, in initialization mode or event mode.
  void tell(const PlannedClock&) const;

 private:
  template <class Function, class... Arguments>
  void do_call(const char* function, Arguments... arguments) const {
    const int status = functions_.find<Function>(function)(component_, arguments...);
    if (status > fmi::warning) throw CallRefused(name_, function, status);
  }
  void call(const char* function) const { do_call<int(fmi::Component)>(function); }
  void tell(const PlannedClock&, const Fraction&, const char* fraction, const char* decimal) const;

  std::string name_;
  FunctionTable functions_;
  fmi::Component component_;
};

}  // namespace ssptool
