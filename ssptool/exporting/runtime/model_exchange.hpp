// Functions of model exchange and event mode that are the same in all versions of FMI but for their names.
#pragma once

#include <span>

#include "instance.hpp"

namespace ssptool::runtime {

int enter_event_mode(void* component, const char* function) noexcept;
// `found` is set in any case.
int update_discrete_states(void* component, const char* function, DiscreteUpdate& found) noexcept;
// To continuous-time mode, or to step mode.
int leave_event_mode(void* component, const char* function, Kind kind) noexcept;
int complete_step(void* component, const char* function, CompletedStep& found) noexcept;

int set_time(void* component, const char* function, double t) noexcept;
int set_states(void* component, const char* function, const double* states, std::size_t count) noexcept;

// Vectors of as many numbers as the model description says.
int get_states(void* component, const char* function, double* place, std::size_t count) noexcept;
int get_slopes(void* component, const char* function, double* place, std::size_t count) noexcept;
int get_indicators(void* component, const char* function, double* place, std::size_t count) noexcept;
int get_nominals(void* component, const char* function, double* place, std::size_t count) noexcept;

}  // namespace ssptool::runtime
