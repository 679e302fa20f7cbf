#include "continuous.hpp"

#include <algorithm>

namespace ssptool::runtime {

void ContinuousSystem::begin(double t) {
  t_ = t;
  events_ = true;
  level_ = Level::nothing;
  ode_.read_states(t, x_.data());
}

void ContinuousSystem::restore(const ContinuousState& state) {
  t_ = state.t;
  x_ = state.x;
  events_ = state.events;
  level_ = Level::nothing;
}

// --- continuous time -------------------------------------------------------------------------------------------------

void ContinuousSystem::set_time(double t) {
  t_ = t;
  level_ = Level::nothing;
}

void ContinuousSystem::set_states(std::span<const double> x) {
  std::ranges::copy(x, x_.begin());
  level_ = Level::nothing;
}

void ContinuousSystem::evaluate(Level level) {
  if (level_ >= level) return;
  if (events_)
    ode_.settle(t_);  // in event mode, the parts have their own states
  else if (!ode_.reach(t_, x_.data(), level == Level::whole))
    avoided();
  level_ = events_ ? Level::whole : level;
}

std::vector<double> ContinuousSystem::slopes() {
  std::vector<double> found(ode_.size());
  evaluate(Level::slopes);
  if (!ode_.present_slopes(t_, found.data())) avoided();
  found.resize(ode_.states());
  return found;
}

std::vector<double> ContinuousSystem::indicators() {
  std::vector<double> found(ode_.indicator_count());
  evaluate(Level::slopes);
  if (!ode_.present_indicators(t_, found.data())) avoided();
  return found;
}

std::vector<double> ContinuousSystem::nominals() {
  std::vector<double> found(ode_.size());
  ode_.read_nominals(t_, found.data());
  found.resize(ode_.states());
  return found;
}

CompletedStep ContinuousSystem::complete_step() {
  settle();
  CompletedStep all;
  for (std::size_t model = 0; model < ode_.models().size(); ++model) {
    const CompletedStep one = ode_.complete_step(model, t_);
    all.event |= one.event;
    all.terminate |= one.terminate;
  }
  return all;
}

// --- events ----------------------------------------------------------------------------------------------------------

void ContinuousSystem::enter_event_mode() {
  settle();
  ode_.enter_event_mode(t_);
  events_ = true;
}

DiscreteUpdate ContinuousSystem::update_discrete_states() {
  const DiscreteUpdate found = iterate_(t_);
  ode_.read_states(t_, x_.data());
  level_ = Level::nothing;
  return found;
}

void ContinuousSystem::enter_continuous_time() {
  ode_.enter_continuous_time(t_);
  events_ = false;
  level_ = Level::nothing;
}

}  // namespace ssptool::runtime
