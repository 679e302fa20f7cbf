#include "kernel.hpp"

NB_MODULE(_kernel, module) {
  using namespace ssptool::binding;
  module.attr("sanitized") = sanitized;
  bind_kernel(module);
  bind_signs(module);
  bind_system(module);
  bind_probe(module);
}
