// Solvers by their numbers in Python.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "../core/ode_solvers.hpp"

namespace ssptool::binding {

// `cvode` gives the address of a function of CVODE by its name, for a formula of that.
std::unique_ptr<OdeSolver> solver_from(int kind, OdeProblem&, OdeSize, double rtol, nanobind::handle cvode);

}  // namespace ssptool::binding
