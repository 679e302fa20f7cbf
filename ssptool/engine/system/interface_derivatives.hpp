// Jacobian of a group's interface over a macro step, from partial derivatives of its FMUs. Only runs have it.
//
// Sicklinger, Belsky, Engelmann, Elmqvist, Olsson, Wüchner, Bletzinger 2014, "Interface Jacobian-based co-simulation"
// (D alone); Schweizer, Lu 2015, "Predictor/corrector co-simulation approaches for solver coupling with algebraic
// constraints" (what integration over a step adds).
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "../kernel/core/interface_newton.hpp"
#include "part.hpp"

namespace ssptool::runtime {

// A request for derivatives of `unknowns` by `knowns`, along columns, rows or both.
struct AskedDerivatives {
  std::vector<fmi::Reference> unknowns, knowns;
  bool forward, adjoint;
};

// A component of a group: places of its inputs among the unknowns of the group, and of its outputs among the outputs
// that are wired within the group; dependency pattern of [x', y] on [x, u]; inputs that vary over the step (the others
// are held).
struct PlannedInterfaceMember {
  Index part;
  std::size_t states;
  std::vector<std::size_t> columns, rows;
  Pattern pattern;
  std::vector<bool> moves;
  std::optional<AskedDerivatives> asked;  // none: it provides no derivatives
};

// Interface of a group: pattern of dependencies between its unknowns, and the matrix of its wires.
struct PlannedInterface {
  Pattern pattern;
  DenseMatrix wires;  // unknowns by outputs
  std::vector<PlannedInterfaceMember> members;
};

// ∂unknowns/∂knowns of one component, at the point where it is.
//
// A seed on the knowns gives a combination of columns (directional derivatives), one on the unknowns a combination of
// rows (adjoint derivatives). Columns that share no row of the pattern are asked for together, and rows likewise; the
// way that takes fewer calls is taken. An FMU that has refused once is not asked again (FMI 2.0.4 §2.1.9; FMI 3.0
// §2.2.11; Curtis, Powell, Reid 1974, "On the estimation of sparse Jacobian matrices").
class PartialDerivatives {
 public:
  PartialDerivatives(const Part&, const AskedDerivatives&, const Pattern&);

  // None if the FMU refuses, or if a result is not finite.
  std::optional<DenseMatrix> matrix();

 private:
  [[nodiscard]] int ask(const std::vector<double>& seed, std::vector<double>& answer) const;

  const Part& part_;
  const AskedDerivatives& asked_;
  const Pattern& pattern_;
  bool by_rows_;
  std::vector<std::vector<std::size_t>> groups_;  // of columns, or of rows
  void* function_;                                // its type depends on the FMI version
  bool refused_ = false;
};

// dS/dx, where S maps the inputs x at the end of a step to the values that result for them.
//
// Over the step, each component is linearized at its end: x' = A x + B u, y = C x + D u. An input that is linear from
// its value at the start of the step changes the states at the end by h φ2(h A) B per unit of its value at the end; one
// that is held changes them by h φ1(h A) B, or half as much if it has the mean of both ends; one on the parabola that
// also passes through the accepted point one step earlier, by h (φ3(h A) + φ2(h A)/2) B. With G = C h φ B and u = W y,
//
//     dS/dx = W (1 − D W)⁻¹ G,
//
// because outputs at the end of the step are made consistent. This is exact if components are linear and solve their
// equations exactly. Otherwise it is as good as the linearization; this affects the number of iterations, but not their
// solution.
class InterfaceDerivatives {
 public:
  // All arguments must outlive this object.
  InterfaceDerivatives(const PlannedInterface&, const std::vector<std::unique_ptr<Part>>&);

  // For a step of h [s] that has reached its end; inputs are polynomials of this order (0: constant). Constant inputs
  // change by the part `held` of the change of their value at the end.
  [[nodiscard]] StepDerivatives over(double h, int order, double held);

 private:
  struct Response;
  void add(std::size_t member, double h, int order, double held, Response&);

  const PlannedInterface& plan_;
  std::vector<std::optional<PartialDerivatives>> partial_;  // by member
};

}  // namespace ssptool::runtime
