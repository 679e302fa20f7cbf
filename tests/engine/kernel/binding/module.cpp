#include "methods.hpp"

NB_MODULE(_methods, module)
{
    using namespace ssptool::binding;
    module.attr("sanitized") = sanitized;
    auto kernel = bind_kernel(module);
    bind_methods(kernel);
    bind_clocks(module);
    bind_dense(module);
    bind_loop_solvers(module);
    bind_ode_solvers(module);
    bind_system(module);
    bind_probe(module);
}
