// An exported system for model exchange: one state vector; values are computed when an importer asks for them.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "../kernel/core/ode_system.hpp"

namespace ssptool::runtime {

// The state between two calls of an importer.
struct ContinuousState {
  double t = 0.0;
  std::vector<double> x;
  bool events = true;  // in event mode
};

// Setting time or states only stores them; the parts get them, and are evaluated, when values are requested. All
// functions throw IntegrationStopped.
class ContinuousSystem {
 public:
  // Updates discrete states and exchanges signals at a time [s] until nothing changes; all parts are in event mode.
  using Iterate = std::function<DiscreteUpdate(double t)>;

  ContinuousSystem(OdeSystem& ode, Iterate iterate) : ode_(ode), iterate_(std::move(iterate)), x_(ode.size()) {}

  // Starts in event mode at t [s], with initialized parts.
  void begin(double t);

  void set_time(double t);
  void set_states(std::span<const double> x);
  [[nodiscard]] double time() const noexcept { return t_; }
  [[nodiscard]] std::span<const double> states() const noexcept { return {x_.data(), ode_.states()}; }
  [[nodiscard]] std::vector<double> slopes();
  [[nodiscard]] std::vector<double> indicators();
  [[nodiscard]] std::vector<double> nominals();

  void enter_event_mode();
  // Does the complete event iteration, so that the importer needs no further one.
  [[nodiscard]] DiscreteUpdate update_discrete_states();
  void enter_continuous_time();
  [[nodiscard]] CompletedStep complete_step();

  // Makes all outputs consistent.
  void settle() { evaluate(Level::whole); }
  // Must be called after inputs or parameters were set.
  void changed() noexcept { level_ = Level::nothing; }

  [[nodiscard]] ContinuousState save() const { return {t_, x_, events_}; }
  // The states of the parts must have been set before.
  void restore(const ContinuousState&);

 private:
  // What is consistent with the present time, states and inputs.
  enum class Level : std::uint8_t { nothing, slopes, whole };

  void evaluate(Level);
  [[noreturn]] void avoided() const { throw IntegrationStopped(*ode_.last_failure); }

  OdeSystem& ode_;
  Iterate iterate_;
  double t_ = 0.0;
  std::vector<double> x_;
  bool events_ = true;
  Level level_ = Level::nothing;
};

}  // namespace ssptool::runtime
