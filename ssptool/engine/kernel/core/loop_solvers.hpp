// Solvers of algebraic loops x = g(x): fixed-point methods, Newton's method, homotopy, and chains of them. They know
// nothing of instances. Newton: Dennis and Schnabel 1996, "Numerical Methods for Unconstrained Optimization and
// Nonlinear Equations", §6.3. Homotopy: Allgower and Georg 2003, "Introduction to Numerical Continuation Methods", ch.
// 2, 3 and 6; Chow, Mallet-Paret, Yorke 1978, "Finding zeroes of maps: homotopy methods that are constructive with
// probability one".
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "jacobians.hpp"
#include "proposals.hpp"
#include "solutions.hpp"

namespace ssptool {

// Called with every iterate: solver, number of the iterate, x, g(x) − x; may be empty.
using Watch = std::function<void(std::string_view solver, std::int64_t number, std::span<const double> x,
                                 std::span<const double> residual)>;

class LoopSolver {
 public:
  LoopSolver() = default;
  LoopSolver(const LoopSolver&) = delete;
  LoopSolver& operator=(const LoopSolver&) = delete;
  virtual ~LoopSolver() = default;

  // Iterates from x0 until it has converged or cannot converge.
  [[nodiscard]] virtual Solution solve(LoopFunction& g, const std::vector<double>& x0, const Domain&,
                                       const Watch&) const = 0;
};

// Evaluates, judges and proposes until converged, diverged, not finite, or out of iterations. From a point at which g
// cannot be evaluated, it goes halfway back towards the last valid point.
class ProposalSolver final : public LoopSolver {
 public:
  using Begin = std::unique_ptr<Proposal> (*)(double relaxation);

  ProposalSolver(std::string name, Begin begin, double relaxation, const Convergence& convergence,
                 std::int64_t max_iterations)
      : name_(std::move(name)),
        begin_(begin),
        relaxation_(relaxation),
        convergence_(convergence),
        max_iterations_(max_iterations) {}

  [[nodiscard]] Solution solve(LoopFunction& g, const std::vector<double>& x0, const Domain&,
                               const Watch&) const override;

 private:
  std::string name_;
  Begin begin_;
  double relaxation_;
  Convergence convergence_;
  std::int64_t max_iterations_;
};

// Solves (dg/dx − 1) p = x − g(x), and goes to x + α p with the largest α = 1, ½, ¼ … that reduces the residual.
class Newton final : public LoopSolver {
 public:
  static constexpr std::int64_t default_iterations = 50;

  Newton(const LoopJacobian& jacobian, const Convergence& convergence, std::int64_t max_iterations = default_iterations)
      : jacobian_(jacobian), convergence_(convergence), max_iterations_(max_iterations) {}

  [[nodiscard]] Solution solve(LoopFunction& g, const std::vector<double>& x0, const Domain&,
                               const Watch&) const override;

 private:
  struct Point {
    std::vector<double> x, value;
  };
  [[nodiscard]] std::optional<SolutionStatus> judge(std::span<const double> x, std::span<const double> residual,
                                                    const Domain&) const;
  [[nodiscard]] std::optional<std::vector<double>> step(LoopFunction& g, const Point&, const Domain&) const;
  static std::optional<Point> search(LoopFunction& g, const Point&, std::span<const double> step, const Domain&);

  const LoopJacobian& jacobian_;
  Convergence convergence_;
  std::int64_t max_iterations_;
};

// Follows x = (1 − λ) x0 + λ g(x) by arc length, from λ = 0 (no coupling, solution x0) to λ = 1.
class Homotopy final : public LoopSolver {
 public:
  Homotopy(const LoopJacobian& jacobian, const Convergence& convergence)
      : jacobian_(jacobian), convergence_(convergence) {}

  [[nodiscard]] Solution solve(LoopFunction& g, const std::vector<double>& x0, const Domain&,
                               const Watch&) const override;

 private:
  const LoopJacobian& jacobian_;
  Convergence convergence_;
};

// Each solver starts at the best point of the previous ones; the first that converges gives the result. The solver
// `fresh` starts from the start values instead, because it should find solutions that descent from there does not.
class Chain final : public LoopSolver {
 public:
  using Solvers = std::vector<std::unique_ptr<LoopSolver>>;

  explicit Chain(Solvers solvers, std::unique_ptr<LoopSolver> fresh = nullptr)
      : solvers_(std::move(solvers)), fresh_(std::move(fresh)) {}

  [[nodiscard]] Solution solve(LoopFunction& g, const std::vector<double>& x0, const Domain&,
                               const Watch&) const override;

 private:
  Solvers solvers_;
  std::unique_ptr<LoopSolver> fresh_;
};

using LoopJacobians = std::vector<std::unique_ptr<LoopJacobian>>;

struct SolverOptions {
  Convergence convergence{};
  double relaxation = 1.0;
  std::int64_t max_iterations = 0;  // 0: the default of each method
};

// The solver of a method; it refers to the Jacobians, and tries them in order.
std::unique_ptr<LoopSolver> solver_for(LoopMethod, const LoopJacobians&, const SolverOptions&);

// Largest |residual| / nominal; 0 for an empty loop, nan if a residual is nan.
double scaled_norm(std::span<const double> residual, std::span<const double> nominal) noexcept;

}  // namespace ssptool
