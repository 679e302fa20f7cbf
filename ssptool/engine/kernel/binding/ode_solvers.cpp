#include "ode_solvers.hpp"

#include <stdexcept>

#include "cvode.hpp"

namespace ssptool::binding {

namespace nb = nanobind;

std::unique_ptr<OdeSolver> solver_from(int kind, OdeProblem& problem, OdeSize size, double rtol, nb::handle cvode) {
  switch (kind) {
    case 0: return make_solver(SolverKind::dormand_prince, problem, size, rtol);
    case 1: return make_solver(SolverKind::rosenbrock, problem, size, rtol);
    case 2: return make_cvode(MultistepFormula::adams, problem, size, rtol, cvode);
    case 3: return make_cvode(MultistepFormula::bdf, problem, size, rtol, cvode);
    default: throw std::invalid_argument("unknown solver");
  }
}

}  // namespace ssptool::binding
