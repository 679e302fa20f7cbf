// An exported system as model exchange has it: one state vector, evaluated where an importer asks for something.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "../kernel/core/ode_system.hpp"

namespace ssptool::runtime {

// Between two calls of an importer.
struct ContinuousState {
  double t = 0.0;
  std::vector<double> x;
  bool events = true;  // in event mode
};

// Times and states are only noted; the parts are led there, and evaluated, when values are asked for. All functions
// throw IntegrationStopped.
class ContinuousSystem {
 public:
  // Updates discrete states and exchanges signals at a time [s] until nothing changes, with all parts in event mode.
  using Iterate = std::function<DiscreteUpdate(double t)>;

  ContinuousSystem(OdeSystem& ode, Iterate iterate) : ode_(ode), iterate_(std::move(iterate)), x_(ode.size()) {}

  // In event mode at t [s], from initialized parts.
  void begin(double t);

  void set_time(double t);
  void set_states(std::span<const double> x);
  [[nodiscard]] double time() const noexcept { return t_; }
  [[nodiscard]] std::span<const double> states() const noexcept { return {x_.data(), ode_.states()}; }
  [[nodiscard]] std::vector<double> slopes();
  [[nodiscard]] std::vector<double> indicators();
  [[nodiscard]] std::vector<double> nominals();

  void enter_event_mode();
  // The whole event iteration, so that none is needed after it.
  [[nodiscard]] DiscreteUpdate update_discrete_states();
  void enter_continuous_time();
  [[nodiscard]] CompletedStep complete_step();

  // All outputs are consistent after this.
  void settle() { evaluate(Level::whole); }
  // Inputs or parameters were set.
  void changed() noexcept { level_ = Level::nothing; }

  [[nodiscard]] ContinuousState save() const { return {t_, x_, events_}; }
  // The states of the parts are set already.
  void restore(const ContinuousState&);

 private:
  // What is consistent with time, states and inputs.
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
