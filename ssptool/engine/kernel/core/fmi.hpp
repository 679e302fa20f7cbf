// The functions of FMI co-simulation that the kernel calls, as C types.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ssptool::fmi {

using Reference = std::uint32_t;
using Component = void*;
using State = void*;

// The largest status of a call that was successful.
inline constexpr int warning = 1;
// Status for values at which the FMU cannot be evaluated; it can continue afterwards.
inline constexpr int discard = 2;
inline constexpr int error = 3;

namespace v1 {
// fmiBoolean is a char. The other functions that the kernel calls are those of FMI 2.0 with different names.
using DoStep = int(Component, double t, double h, bool new_step);
}  // namespace v1

namespace v2 {
using SetReal = int(Component, const Reference*, std::size_t, const double*);
using GetReal = int(Component, const Reference*, std::size_t, double*);
using SetRealInputDerivatives = int(Component, const Reference*, std::size_t, const int* orders, const double*);
using DoStep = int(Component, double t, double h, int no_set_state_prior_to_t);
inline constexpr const char* do_step = "fmi2DoStep";
using GetBooleanStatus = int(Component, int kind, int*);
using GetRealStatus = int(Component, int kind, double*);
enum StatusKind { last_successful_time = 2, terminated = 3 };
using GetState = int(Component, State*);
using SetState = int(Component, State);
using FreeState = int(Component, State*);
using GetDirectionalDerivative = int(Component, const Reference* unknowns, std::size_t, const Reference* knowns,
                                     std::size_t, const double* seed, double* sensitivity);
}  // namespace v2

namespace v3 {
inline constexpr const char* do_step = "fmi3DoStep";
using SetFloat64 = int(Component, const Reference*, std::size_t, const double*, std::size_t);
using GetFloat64 = int(Component, const Reference*, std::size_t, double*, std::size_t);
using SetBinary = int(Component, const Reference*, std::size_t, const std::size_t* sizes, const void* values,
                      std::size_t);
using GetBinary = int(Component, const Reference*, std::size_t, std::size_t* sizes, void* values, std::size_t);
using DoStep = int(Component, double t, double h, bool no_set_state_prior_to_t, bool* event_handling_needed,
                   bool* terminate_simulation, bool* early_return, double* last_successful_time);
using GetState = int(Component, State*);
using SetState = int(Component, State);
using FreeState = int(Component, State*);
using GetDirectionalDerivative = int(Component, const Reference* unknowns, std::size_t, const Reference* knowns,
                                     std::size_t, const double* seed, std::size_t, double* sensitivity, std::size_t);
using IntermediateUpdate = void(void* environment, double time, bool set_requested, bool get_allowed,
                                bool step_finished, bool can_return_early, bool* early_return_requested,
                                double* early_return_time);
}  // namespace v3

}  // namespace ssptool::fmi
