#include "kernel.hpp"

namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

}  // namespace

NB_MODULE(_kernel, module) {
  module.attr("sanitized") = sanitized;
  ssptool::binding::bind_kernel(module);
  ssptool::binding::bind_dense(module);
  ssptool::binding::bind_events(module);
  ssptool::binding::bind_loop_solvers(module);
  ssptool::binding::bind_ode_solvers(module);
  ssptool::binding::bind_signs(module);
  ssptool::binding::bind_system(module);
}
