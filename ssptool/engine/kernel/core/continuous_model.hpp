// One instance of model exchange: its states, derivatives, event indicators and discrete states, as an integrator asks
// for them from the end of initialization on (FMI 2.0.4, 3.2; FMI 3.0, 3).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "event_mode.hpp"
#include "instance.hpp"

namespace ssptool {

// What an instance says of a completed step of the integrator.
struct CompletedStep {
  bool event = false, terminate = false;
};

class ContinuousModel {
 public:
  struct Facts {
    std::string name;  // of the component
    int fmi_major = 2;
    std::size_t states = 0, indicators = 0;  // as they are stated; an FMU of FMI 3.0 is asked
    bool reports_steps = true;               // it is to be told of completed steps
    std::vector<std::string> slopes = {};    // names of the state derivatives, if each is known
    bool directional = false;                // it is to be asked for directional derivatives
    bool saves_state = false;
  };

  // Throws std::invalid_argument if a function is missing.
  ContinuousModel(Facts facts, const FunctionTable&, fmi::Component);

  [[nodiscard]] const std::string& name() const noexcept { return facts_.name; }
  [[nodiscard]] std::size_t states() const noexcept { return facts_.states; }
  [[nodiscard]] std::size_t indicators() const noexcept { return facts_.indicators; }
  [[nodiscard]] bool reports_steps() const noexcept { return facts_.reports_steps; }
  // Name of a state derivative, by its number.
  [[nodiscard]] std::string slope(std::size_t number) const;
  [[nodiscard]] const char* slopes_function() const noexcept { return names().slopes; }
  [[nodiscard]] const char* indicators_function() const noexcept { return names().indicators; }

  // Of an FMU of FMI 3.0, whose sizes depend on structural parameters.
  Failure ask_sizes() noexcept;

  // In continuous-time mode.
  Failure set_time(double t) const noexcept;
  Failure set_states(const double* states) const noexcept;
  Failure complete_step(CompletedStep&) const noexcept;
  Failure enter_event_mode() const noexcept;
  // In continuous-time mode and event mode. Vectors of no numbers are not asked for.
  Failure get_slopes(double*) const noexcept;
  Failure get_indicators(double*) const noexcept;
  Failure get_states(double*) const noexcept;
  Failure get_nominals(double*) const noexcept;
  // Of an instance that is asked for them.
  Failure directional_derivative(std::span<const fmi::Reference> unknowns, std::span<const fmi::Reference> knowns,
                                 std::span<const double> seed, std::span<double> found) const noexcept;
  // In event mode.
  Failure update(DiscreteUpdate&) const noexcept;
  Failure enter_continuous_time() const noexcept;

  // In any mode, of an instance that saves its state. A state stays the instance's until it is released.
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
  void *update_, *complete_, *directional_ = nullptr;  // of the type of their version
  SavedState::Take *save_ = nullptr, *release_ = nullptr;
  SavedState::Put* restore_ = nullptr;
  int (*count_states_)(fmi::Component, std::size_t*) = nullptr;
  int (*count_indicators_)(fmi::Component, std::size_t*) = nullptr;
};

}  // namespace ssptool
