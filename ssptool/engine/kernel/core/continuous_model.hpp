// One model exchange instance: its states, derivatives, event indicators and discrete states, for an integrator after
// initialization (FMI 2.0.4, 3.2; FMI 3.0, 3).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "event_mode.hpp"
#include "instance.hpp"

namespace ssptool {

// Answer of an instance to a completed step of the integrator.
struct CompletedStep {
  bool event = false, terminate = false;
};

class ContinuousModel {
 public:
  struct Facts {
    std::string name;  // of the component
    int fmi_major = 2;
    std::size_t states = 0, indicators = 0;  // as declared; an FMU of FMI 3.0 is asked
    bool reports_steps = true;               // completed steps must be reported to it
    std::vector<std::string> slopes = {};    // names of the state derivatives, if all are known
    bool directional = false;                // directional derivatives are available
    bool saves_state = false;
  };

  // Throws std::invalid_argument if a function is missing.
  ContinuousModel(Facts facts, const FunctionTable&, fmi::Component);

  [[nodiscard]] const std::string& name() const noexcept { return facts_.name; }
  [[nodiscard]] std::size_t states() const noexcept { return facts_.states; }
  [[nodiscard]] std::size_t indicators() const noexcept { return facts_.indicators; }
  [[nodiscard]] bool reports_steps() const noexcept { return facts_.reports_steps; }
  // Name of a state derivative.
  [[nodiscard]] std::string slope(std::size_t number) const;
  [[nodiscard]] const char* slopes_function() const noexcept { return names().slopes; }
  [[nodiscard]] const char* indicators_function() const noexcept { return names().indicators; }

  // For FMI 3.0, where sizes depend on structural parameters.
  Failure ask_sizes() noexcept;

  // For continuous-time mode.
  Failure set_time(double t) const noexcept;
  Failure set_states(const double* states) const noexcept;
  Failure complete_step(CompletedStep&) const noexcept;
  Failure enter_event_mode() const noexcept;
  // For continuous-time mode and event mode. Empty vectors are not requested.
  Failure get_slopes(double*) const noexcept;
  Failure get_indicators(double*) const noexcept;
  Failure get_states(double*) const noexcept;
  Failure get_nominals(double*) const noexcept;
  // Only if directional derivatives are available.
  Failure directional_derivative(std::span<const fmi::Reference> unknowns, std::span<const fmi::Reference> knowns,
                                 std::span<const double> seed, std::span<double> found) const noexcept;
  // For event mode.
  Failure update(DiscreteUpdate&) const noexcept;
  Failure enter_continuous_time() const noexcept;

  // For all modes, if the instance can save its state. The instance owns a state until it is released.
  [[nodiscard]] bool saves_state() const noexcept { return facts_.saves_state; }
  Failure save_state(fmi::State&) const noexcept;
  Failure restore_state(fmi::State) const noexcept;
  void release_state(fmi::State) const noexcept;

 private:
  struct Names {
    const char *set_time, *set_states, *get_states, *slopes, *indicators, *nominals, *enter_events, *update,
        *enter_time, *complete, *directional, *save, *restore, *release;
  };
  using Action = int(fmi::Component);
  using Vector = int(fmi::Component, double*, std::size_t);

  [[nodiscard]] const Names& names() const noexcept;
  Failure vector(Vector* get, const char* name, double* place, std::size_t count) const noexcept;

  Facts facts_;
  fmi::Component component_;
  int (*set_time_)(fmi::Component, double);
  int (*set_states_)(fmi::Component, const double*, std::size_t);
  Vector *get_states_, *get_slopes_, *get_indicators_, *get_nominals_;
  Action *enter_events_, *enter_time_;
  void *update_, *complete_, *directional_ = nullptr;  // their types depend on the version
  SavedState::Take *save_ = nullptr, *release_ = nullptr;
  SavedState::Put* restore_ = nullptr;
  int (*count_states_)(fmi::Component, std::size_t*) = nullptr;
  int (*count_indicators_)(fmi::Component, std::size_t*) = nullptr;
};

}  // namespace ssptool
