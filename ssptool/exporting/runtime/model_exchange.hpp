// Functions of model exchange and event mode that are equal in all versions of FMI except for their names.
#pragma once

#include <span>

#include "instance.hpp"

namespace ssptool::runtime {

int enter_event_mode(void* component, const char* function) noexcept;
// `found` is always set.
int update_discrete_states(void* component, const char* function, DiscreteUpdate& found) noexcept;
// Changes to continuous-time mode, or to step mode.
int leave_event_mode(void* component, const char* function, Kind kind) noexcept;
int complete_step(void* component, const char* function, CompletedStep& found) noexcept;

int set_time(void* component, const char* function, double t) noexcept;
int set_states(void* component, const char* function, const double* states, std::size_t count) noexcept;

// Vectors with the sizes in the model description.
int get_states(void* component, const char* function, double* place, std::size_t count) noexcept;
int get_slopes(void* component, const char* function, double* place, std::size_t count) noexcept;
int get_indicators(void* component, const char* function, double* place, std::size_t count) noexcept;
int get_nominals(void* component, const char* function, double* place, std::size_t count) noexcept;

}  // namespace ssptool::runtime
