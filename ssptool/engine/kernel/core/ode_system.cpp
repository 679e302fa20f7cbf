#include "ode_system.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ode_jacobian.hpp"
#include "special_numbers.hpp"

namespace ssptool {

OdeSystem::OdeSystem(Kernel& kernel, std::vector<ContinuousModel> models, std::vector<Index> instances,
                     Schedules schedules, std::vector<Slot> inputs, Explain explain, Rescue rescue)
    : kernel_(kernel),
      models_(std::move(models)),
      instances_(std::move(instances)),
      schedules_(schedules),
      inputs_(std::move(inputs)),
      explain_(std::move(explain)),
      rescue_(std::move(rescue)) {
  for (const Slot slot : inputs_) kernel_.slot_values.check(slot);
  for (ContinuousModel& model : models_) {
    require(model, model.ask_sizes(), 0.0);
    first_state_.push_back(size_);
    first_indicator_.push_back(indicators_);
    size_ += model.states();
    indicators_ += model.indicators();
  }
}

bool OdeSystem::reports_steps() const noexcept {
  return std::ranges::any_of(models_, [](const ContinuousModel& model) { return model.reports_steps(); });
}

std::pair<const ContinuousModel*, std::size_t> OdeSystem::own_indicator(std::size_t number) const noexcept {
  const auto after = std::ranges::upper_bound(first_indicator_, number);
  const auto place = static_cast<std::size_t>(after - first_indicator_.begin()) - 1;
  return {&models_[place], number - first_indicator_[place]};
}

// --- what an integrator calls ----------------------------------------------------------------------------------------

template <class Get>
bool OdeSystem::gather(double t, const std::vector<std::size_t>& firsts, double* place, const Get& get) {
  for (std::size_t i = 0; i < models_.size(); ++i) {
    const Failure failed = get(models_[i], place + firsts[i]);
    kernel_.members.leave_mode(instances_[i]);
    if (failed) return avoid(models_[i], failed, t);
  }
  return true;
}

bool OdeSystem::slopes(double t, const double* x, double* slopes) {
  return reach(t, x, false) && present_slopes(t, slopes);
}

bool OdeSystem::indicators(double t, const double* x, double* found) {
  return reach(t, x, false) && present_indicators(t, found);
}

bool OdeSystem::reach(double t, const double* x, bool whole) {
  std::vector<double>& values = kernel_.slot_values.values;
  kernel_.stepper.report(t);
  for (std::size_t i = 0; i < input_polynomials.value.size(); ++i) values[inputs_[i]] = input_polynomials.at(i, t);
  if (stimuli != nullptr) stimuli->write(t);
  for (std::size_t i = 0; i < models_.size(); ++i) {
    Failure failed = models_[i].set_time(t);
    if (!failed) failed = models_[i].set_states(x + first_state_[i]);
    kernel_.members.leave_mode(instances_[i]);
    if (failed) return avoid(models_[i], failed, t);
  }
  return evaluated(t, whole ? schedules_.whole : schedules_.slopes);
}

bool OdeSystem::present_slopes(double t, double* slopes) {
  const auto get = [](const ContinuousModel& model, double* place) { return model.get_slopes(place); };
  if (!gather(t, first_state_, slopes, get)) return false;
  if (size_ == 0) slopes[0] = 0.0;
  return finite(t, {slopes, size_}, true);
}

bool OdeSystem::present_indicators(double t, double* found) {
  const auto get = [](const ContinuousModel& model, double* place) { return model.get_indicators(place); };
  if (!gather(t, first_indicator_, found, get)) return false;
  std::replace(found, found + indicators_, 0.0, below_zero);
  return finite(t, {found, indicators_}, false);
}

bool OdeSystem::jacobian(double t, const double* x, double* columns) { return jacobian_of->fill(t, x, columns); }

bool OdeSystem::directional_derivative(std::size_t model, std::span<const fmi::Reference> unknowns,
                                       std::span<const fmi::Reference> knowns, std::span<const double> seed,
                                       std::span<double> found, double t) {
  const Failure failed = models_[model].directional_derivative(unknowns, knowns, seed, found);
  return !failed || avoid(models_[model], failed, t);
}

bool OdeSystem::evaluated(double t, Index schedule) {
  const Outcome outcome = rescue_ ? kernel_.schedules.evaluate(schedule) : kernel_.rescues.evaluate(schedule);
  if (outcome.ok()) return true;
  if (outcome.code == Code::loop && rescue_) {
    last_failure = rescue_(schedule, t);
    return !last_failure;
  }
  last_failure = explain_(outcome, t);
  if (outcome.code == Code::fmi && outcome.fmi_status != fmi::discard) stop();
  return false;
}

bool OdeSystem::finite(double t, std::span<const double> values, bool of_slopes) {
  const auto bad = std::ranges::find_if(values, [](double value) { return !std::isfinite(value); });
  if (bad == values.end()) return true;
  const auto number = static_cast<std::size_t>(bad - values.begin());
  const std::vector<std::size_t>& firsts = of_slopes ? first_state_ : first_indicator_;
  const auto after = std::ranges::upper_bound(firsts, number);
  const auto place = static_cast<std::size_t>(after - firsts.begin()) - 1;
  const ContinuousModel& model = models_[place];
  const std::string what =
      of_slopes ? model.slope(number - firsts[place]) : "event indicator " + std::to_string(number - firsts[place]);
  const char* const value = std::isnan(*bad) ? "nan" : *bad > 0 ? "inf" : "-inf";
  const char* const function = of_slopes ? model.slopes_function() : model.indicators_function();
  last_failure = IntegrationStopped(
      Ending::nonfinite, "component " + model.name() + ": " + what + " is " + value + " (from " + function + ")",
      "check parameters and start values: the solution may not exist from here", t, model.name());
  last_failure->function = function;
  return false;
}

// --- what goes through events with it --------------------------------------------------------------------------------

void OdeSystem::place(double t, const double* x) {
  if (!reach(t, x, true)) stop();
}

void OdeSystem::settle(double t) {
  if (!evaluated(t, schedules_.whole)) stop();
}

std::vector<double> OdeSystem::indicators_at(double t, const double* x) {
  std::vector<double> found(indicators_);
  if (indicators_ > 0 && !indicators(t, x, found.data())) stop();
  return found;
}

std::vector<double> OdeSystem::indicators_here(double t) {
  std::vector<double> found(indicators_);
  for (std::size_t i = 0; i < models_.size(); ++i)
    require(models_[i], models_[i].get_indicators(found.data() + first_indicator_[i]), t);
  return found;
}

void OdeSystem::read_states(double t, double* x) {
  if (size_ == 0) x[0] = 0.0;
  for (std::size_t i = 0; i < models_.size(); ++i) require(models_[i], models_[i].get_states(x + first_state_[i]), t);
}

void OdeSystem::read_nominals(double t, double* found) {
  std::fill_n(found, size(), 1.0);
  for (std::size_t i = 0; i < models_.size(); ++i)
    require(models_[i], models_[i].get_nominals(found + first_state_[i]), t);
  for (double& nominal : std::span(found, size())) {
    nominal = std::abs(nominal);
    if (!std::isfinite(nominal) || nominal == 0.0) nominal = 1.0;
  }
}

void OdeSystem::enter_event_mode(double t) {
  for (const ContinuousModel& model : models_) require(model, model.enter_event_mode(), t);
}

void OdeSystem::enter_continuous_time(double t) {
  for (const ContinuousModel& model : models_) require(model, model.enter_continuous_time(), t);
}

std::vector<DiscreteUpdate> OdeSystem::update_discrete_states(double t) {
  std::vector<DiscreteUpdate> found(models_.size());
  for (std::size_t i = 0; i < models_.size(); ++i) {
    require(models_[i], models_[i].update(found[i]), t);
    if (found[i].terminate) throw ended_by(models_[i].name(), t);
  }
  return found;
}

CompletedStep OdeSystem::complete_step(std::size_t model, double t) {
  CompletedStep found;
  require(models_[model], models_[model].complete_step(found), t);
  return found;
}

std::vector<fmi::State> OdeSystem::save_states(double t) {
  std::vector<fmi::State> found(models_.size());
  try {
    for (std::size_t i = 0; i < models_.size(); ++i)
      if (models_[i].saves_state()) require(models_[i], models_[i].save_state(found[i]), t);
  } catch (...) {
    release_states(found);
    throw;
  }
  return found;
}

void OdeSystem::restore_states(const std::vector<fmi::State>& states, double t) {
  for (std::size_t i = 0; i < models_.size(); ++i)
    if (states[i] != nullptr) require(models_[i], models_[i].restore_state(states[i]), t);
}

void OdeSystem::release_states(const std::vector<fmi::State>& states) const noexcept {
  for (std::size_t i = 0; i < models_.size(); ++i)
    if (states[i] != nullptr) models_[i].release_state(states[i]);
}

bool OdeSystem::avoid(const ContinuousModel& model, const Failure& failed, double t) {
  const auto number = static_cast<std::size_t>(&model - models_.data());
  last_failure = explain_({Code::fmi, static_cast<int>(instances_[number]), failed.function, failed.status}, t);
  if (failed.status != fmi::discard) stop();
  return false;
}

void OdeSystem::require(const ContinuousModel& model, const Failure& failed, double t) {
  kernel_.members.leave_mode(instances_[static_cast<std::size_t>(&model - models_.data())]);
  if (!failed) return;
  avoid(model, failed, t);
  stop();
}

void OdeSystem::stop() const { throw IntegrationStopped(*last_failure); }

}  // namespace ssptool
