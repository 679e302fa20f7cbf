#include "step_formulas.hpp"

#include <algorithm>

#include "dense.hpp"
#include "special_numbers.hpp"

namespace ssptool {

bool OdeProblem::indicators(double, const double*, double*) { return false; }

bool OdeProblem::jacobian(double, const double*, double*) { return false; }

bool OdeEvaluation::slopes(double elapsed, std::span<const double> x, std::span<double> dx) {
  ++effort.evaluations;
  return problem_.slopes(absolute(elapsed), x.data(), dx.data()) && finite(dx);
}

bool OdeEvaluation::indicators(double elapsed, std::span<const double> x, std::span<double> z) {
  if (z.empty()) return true;
  ++effort.root_evaluations;
  if (!problem_.indicators(absolute(elapsed), x.data(), z.data()) || !finite(z)) return false;
  std::replace(z.begin(), z.end(), 0.0, below_zero);
  return true;
}

bool OdeEvaluation::jacobian(double elapsed, std::span<const double> x, std::span<double> columns) {
  return problem_.jacobian(absolute(elapsed), x.data(), columns.data()) && finite(columns);
}

}  // namespace ssptool
