#include "model_exchange.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace ssptool::runtime {

namespace {

void check(const char* function, std::size_t count, std::size_t wanted, const char* what) {
  if (count != wanted)
    throw Refused(Status::error, std::string(function) + ": " + std::to_string(count) + " numbers for " +
                                     std::to_string(wanted) + " " + what);
}

template <class Get>
int get_vector(void* component, const char* function, unsigned states, std::span<double> place, const char* what,
               const Get& get) noexcept {
  return guarded(component, states, function, [&](Instance& instance) {
    instance.system.settle();
    const std::vector<double> found = get(instance.system.continuous());
    check(function, place.size(), found.size(), what);
    std::ranges::copy(found, place.begin());
  });
}

}  // namespace

int enter_event_mode(void* component, const char* function) noexcept {
  return guarded(component, continuous | stepping, function, [&](Instance& instance) {
    if (instance.state == stepping && !instance.system.uses_event_mode())
      throw Refused(Status::error, std::string(function) + " is not allowed, because eventModeUsed was false");
    instance.system.enter_event_mode();
    instance.state = event_mode;
  });
}

int update_discrete_states(void* component, const char* function, DiscreteUpdate& found) noexcept {
  found = {};
  return guarded(component, event_mode, function, [&](Instance& instance) {
    try {
      found = instance.system.update_discrete_states();
    } catch (const IntegrationStopped& stopped) {
      if (stopped.ending != Ending::terminated) throw;
      instance.importer->write(Status::warning, "logStatusWarning", stopped.what());
      found.terminate = true;
    }
  });
}

int leave_event_mode(void* component, const char* function, Kind kind) noexcept {
  return guarded(component, event_mode, function, [&](Instance& instance) {
    if (instance.kind != kind) throw Refused(Status::error, std::string(function) + " is not allowed in this state");
    instance.system.leave_event_mode();
    instance.state = kind == Kind::model_exchange ? continuous : stepping;
  });
}

int complete_step(void* component, const char* function, CompletedStep& found) noexcept {
  found = {};
  return guarded(component, continuous, function, [&](Instance& instance) {
    instance.system.settle();
    found = instance.system.continuous().complete_step();
  });
}

int set_time(void* component, const char* function, double t) noexcept {
  return guarded(component, exchanging, function, [&](Instance& instance) { instance.system.set_time(t); });
}

int set_states(void* component, const char* function, const double* states, std::size_t count) noexcept {
  return guarded(component, continuous, function, [&](Instance& instance) {
    check(function, count, instance.system.states(), "states");
    instance.system.continuous().set_states({states, count});
  });
}

int get_states(void* component, const char* function, double* place, std::size_t count) noexcept {
  return get_vector(component, function, exchanging | terminated, {place, count}, "states",
                    [](const ContinuousSystem& system) {
                      return std::vector<double>(system.states().begin(), system.states().end());
                    });
}

int get_slopes(void* component, const char* function, double* place, std::size_t count) noexcept {
  return get_vector(component, function, exchanging | terminated, {place, count}, "state derivatives",
                    [](ContinuousSystem& system) { return system.slopes(); });
}

int get_indicators(void* component, const char* function, double* place, std::size_t count) noexcept {
  return get_vector(component, function, exchanging | terminated, {place, count}, "event indicators",
                    [](ContinuousSystem& system) { return system.indicators(); });
}

int get_nominals(void* component, const char* function, double* place, std::size_t count) noexcept {
  return get_vector(component, function, exchanging | terminated, {place, count}, "states",
                    [](ContinuousSystem& system) { return system.nominals(); });
}

}  // namespace ssptool::runtime
