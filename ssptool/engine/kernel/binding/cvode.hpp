// CVODE of SUNDIALS as one more solver, by the addresses of its functions: FMPy brings the libraries, and Python has
// loaded them. Exported FMUs do without.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

#include "../core/ode_solvers.hpp"

namespace ssptool::binding {

// Of linear multistep formulas: CVODE has these numbers for them.
enum class MultistepFormula { adams = 1, bdf = 2 };

// `address_of` gives the address of a function by its name.
std::unique_ptr<OdeSolver> make_cvode(MultistepFormula, OdeProblem&, OdeSize, double rtol, nanobind::handle address_of);

}  // namespace ssptool::binding
