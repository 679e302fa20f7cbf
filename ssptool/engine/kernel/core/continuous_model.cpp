#include "continuous_model.hpp"

#include <cmath>
#include <utility>

namespace ssptool {

namespace {

// fmi2EventInfo.
struct EventInfo {
  int again = 0, terminate = 0, nominals_changed = 0, states_changed = 0, next_time_defined = 0;
  double next_time = 0.0;
};

using Update2 = int(fmi::Component, EventInfo*);
using Update3 = int(fmi::Component, bool* again, bool* terminate, bool* nominals_changed, bool* states_changed,
                    bool* next_time_defined, double* next_time);
using Complete2 = int(fmi::Component, int no_set_state_prior_to_t, int* event, int* terminate);
using Complete3 = int(fmi::Component, bool no_set_state_prior_to_t, bool* event, bool* terminate);

using Directional2 = int(fmi::Component, const fmi::Reference*, std::size_t, const fmi::Reference*, std::size_t,
                         const double*, double*);
using Directional3 = int(fmi::Component, const fmi::Reference*, std::size_t, const fmi::Reference*, std::size_t,
                         const double*, std::size_t, double*, std::size_t);

template <class Function>
void* address(const FunctionTable& functions, const char* name) {
  return reinterpret_cast<void*>(functions.find<Function>(name));
}

}  // namespace

const ContinuousModel::Names& ContinuousModel::names() const noexcept {
  static constexpr Names of_fmi2{"fmi2SetTime",
                                 "fmi2SetContinuousStates",
                                 "fmi2GetContinuousStates",
                                 "fmi2GetDerivatives",
                                 "fmi2GetEventIndicators",
                                 "fmi2GetNominalsOfContinuousStates",
                                 "fmi2EnterEventMode",
                                 "fmi2NewDiscreteStates",
                                 "fmi2EnterContinuousTimeMode",
                                 "fmi2CompletedIntegratorStep",
                                 "fmi2GetDirectionalDerivative",
                                 "fmi2GetFMUstate",
                                 "fmi2SetFMUstate",
                                 "fmi2FreeFMUstate"};
  static constexpr Names of_fmi3{"fmi3SetTime",
                                 "fmi3SetContinuousStates",
                                 "fmi3GetContinuousStates",
                                 "fmi3GetContinuousStateDerivatives",
                                 "fmi3GetEventIndicators",
                                 "fmi3GetNominalsOfContinuousStates",
                                 "fmi3EnterEventMode",
                                 "fmi3UpdateDiscreteStates",
                                 "fmi3EnterContinuousTimeMode",
                                 "fmi3CompletedIntegratorStep",
                                 "fmi3GetDirectionalDerivative",
                                 "fmi3GetFMUState",
                                 "fmi3SetFMUState",
                                 "fmi3FreeFMUState"};
  return facts_.fmi_major < 3 ? of_fmi2 : of_fmi3;
}

ContinuousModel::ContinuousModel(Facts facts, const FunctionTable& functions, fmi::Component component)
    : facts_(std::move(facts)), component_(component) {
  const Names& name = names();
  set_time_ = functions.find<int(fmi::Component, double)>(name.set_time);
  set_states_ = functions.find<int(fmi::Component, const double*, std::size_t)>(name.set_states);
  get_states_ = functions.find<Vector>(name.get_states);
  get_slopes_ = functions.find<Vector>(name.slopes);
  get_indicators_ = functions.find<Vector>(name.indicators);
  get_nominals_ = functions.find<Vector>(name.nominals);
  enter_events_ = functions.find<Action>(name.enter_events);
  enter_time_ = functions.find<Action>(name.enter_time);
  const bool before_fmi3 = facts_.fmi_major < 3;
  update_ = before_fmi3 ? address<Update2>(functions, name.update) : address<Update3>(functions, name.update);
  complete_ = before_fmi3 ? address<Complete2>(functions, name.complete) : address<Complete3>(functions, name.complete);
  if (facts_.directional)
    directional_ = before_fmi3 ? address<Directional2>(functions, name.directional)
                               : address<Directional3>(functions, name.directional);
  if (facts_.saves_state) {
    save_ = functions.find<SavedState::Take>(name.save);
    restore_ = functions.find<SavedState::Put>(name.restore);
    release_ = functions.find<SavedState::Take>(name.release);
  }
  if (before_fmi3) return;
  count_states_ = functions.find<int(fmi::Component, std::size_t*)>("fmi3GetNumberOfContinuousStates");
  count_indicators_ = functions.find<int(fmi::Component, std::size_t*)>("fmi3GetNumberOfEventIndicators");
}

std::string ContinuousModel::slope(std::size_t number) const {
  const bool all_known = facts_.slopes.size() == facts_.states;  // an array has one name
  return all_known ? facts_.slopes[number] : "state derivative " + std::to_string(number);
}

Failure ContinuousModel::ask_sizes() noexcept {
  if (count_states_ == nullptr) return {};
  if (const Failure failed = checked("fmi3GetNumberOfContinuousStates", count_states_(component_, &facts_.states)))
    return failed;
  return checked("fmi3GetNumberOfEventIndicators", count_indicators_(component_, &facts_.indicators));
}

Failure ContinuousModel::set_time(double t) const noexcept {
  return checked(names().set_time, set_time_(component_, t));
}

Failure ContinuousModel::set_states(const double* states) const noexcept {
  if (facts_.states == 0) return {};
  return checked(names().set_states, set_states_(component_, states, facts_.states));
}

Failure ContinuousModel::vector(Vector* get, const char* name, double* place, std::size_t count) const noexcept {
  return count == 0 ? Failure{} : checked(name, get(component_, place, count));
}

Failure ContinuousModel::get_slopes(double* place) const noexcept {
  return vector(get_slopes_, names().slopes, place, facts_.states);
}

Failure ContinuousModel::get_indicators(double* place) const noexcept {
  return vector(get_indicators_, names().indicators, place, facts_.indicators);
}

Failure ContinuousModel::get_states(double* place) const noexcept {
  return vector(get_states_, names().get_states, place, facts_.states);
}

Failure ContinuousModel::get_nominals(double* place) const noexcept {
  return vector(get_nominals_, names().nominals, place, facts_.states);
}

Failure ContinuousModel::enter_event_mode() const noexcept {
  return checked(names().enter_events, enter_events_(component_));
}

Failure ContinuousModel::enter_continuous_time() const noexcept {
  return checked(names().enter_time, enter_time_(component_));
}

Failure ContinuousModel::directional_derivative(std::span<const fmi::Reference> unknowns,
                                                std::span<const fmi::Reference> knowns, std::span<const double> seed,
                                                std::span<double> found) const noexcept {
  const int status =
      facts_.fmi_major < 3
          ? reinterpret_cast<Directional2*>(directional_)(component_, unknowns.data(), unknowns.size(), knowns.data(),
                                                          knowns.size(), seed.data(), found.data())
          : reinterpret_cast<Directional3*>(directional_)(component_, unknowns.data(), unknowns.size(), knowns.data(),
                                                          knowns.size(), seed.data(), seed.size(), found.data(),
                                                          found.size());
  return checked(names().directional, status);
}

Failure ContinuousModel::update(DiscreteUpdate& found) const noexcept {
  if (facts_.fmi_major < 3) {
    EventInfo info;
    const int status = reinterpret_cast<Update2*>(update_)(component_, &info);
    found = {info.again != 0, info.terminate != 0, info.nominals_changed != 0, info.states_changed != 0,
             info.next_time_defined != 0 ? info.next_time : HUGE_VAL};
    return checked(names().update, status);
  }
  bool defined = false;
  double time = 0.0;
  found = {};
  const int status = reinterpret_cast<Update3*>(update_)(
      component_, &found.again, &found.terminate, &found.nominals_changed, &found.states_changed, &defined, &time);
  found.next_time = defined ? time : HUGE_VAL;
  return checked(names().update, status);
}

Failure ContinuousModel::complete_step(CompletedStep& found) const noexcept {
  found = {};
  if (!facts_.reports_steps) return {};
  if (facts_.fmi_major < 3) {
    int event = 0, terminate = 0;
    const int status = reinterpret_cast<Complete2*>(complete_)(component_, 1, &event, &terminate);
    found = {event != 0, terminate != 0};
    return checked(names().complete, status);
  }
  return checked(names().complete,
                 reinterpret_cast<Complete3*>(complete_)(component_, true, &found.event, &found.terminate));
}

Failure ContinuousModel::save_state(fmi::State& state) const noexcept {
  return checked(names().save, save_(component_, &state));
}

Failure ContinuousModel::restore_state(fmi::State state) const noexcept {
  return checked(names().restore, restore_(component_, state));
}

void ContinuousModel::release_state(fmi::State state) const noexcept { release_(component_, &state); }

}  // namespace ssptool
