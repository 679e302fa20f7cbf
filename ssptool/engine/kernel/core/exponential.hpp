// The exponential of a matrix, and the response of components to inputs over a step.
#pragma once

#include <span>

#include "dense.hpp"

namespace ssptool {

// By scaling and squaring of the Padé approximant [3/3], whose argument is then at most 1/8. The result is exp(a + e)
// with ‖e‖ about 4e-11 ‖a‖ (Moler, Van Loan 2003, "Nineteen dubious ways to compute the exponential of a matrix,
// twenty-five years later", §3); nan for a matrix that is not finite.
DenseMatrix exponential(DenseMatrix a);

// Change of the states (n) of x' = a x + b u at the end of a step of h [s] per unit of each input at the end. An input
// of order 0 is held; one of order 1 is linear from its value at the start; one of order 2 is a parabola that also
// passes through the point one step earlier (Hochbruck, Ostermann 2010, "Exponential integrators", §2.1).
DenseMatrix step_response(const DenseMatrix& a, const DenseMatrix& b, double h, std::span<const int> orders);

}  // namespace ssptool
