// The solver CVODE of SUNDIALS, called by the addresses of its functions: FMPy contains the libraries, and Python has
// loaded them. Exported FMUs do not use it.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "../core/ode_solvers.hpp"

namespace ssptool::binding {

// Linear multistep formulas, with CVODE's numbers.
enum class MultistepFormula { adams = 1, bdf = 2 };

// `address_of` returns the address of a function by its name.
std::unique_ptr<OdeSolver> make_cvode(MultistepFormula, OdeProblem&, OdeSize, double rtol, nanobind::handle address_of);

}  // namespace ssptool::binding
