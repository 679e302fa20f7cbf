// Solvers by their numbers in Python.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "../core/ode_solvers.hpp"

namespace ssptool::binding {

// For a formula of CVODE, `cvode` returns the address of a function by its name.
std::unique_ptr<OdeSolver> solver_from(int kind, OdeProblem&, OdeSize, double rtol, nanobind::handle cvode);

}  // namespace ssptool::binding
