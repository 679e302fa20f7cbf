// Solutions of algebraic loops: solutions.py in C++.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "calls.hpp"

namespace ssptool {

enum class LoopMethod { automatic, newton, aitken, anderson, fixed_point, homotopy };

enum class SolutionStatus {
  converged,
  max_iterations,
  diverged,
  stalled,
  singular,
  inconsistent,
  undetermined,
  switching,
  nonfinite
};

struct Convergence {
  double rtol = 1e-12, atol = 0.0;

  [[nodiscard]] bool reached(std::span<const double> difference, std::span<const double> x,
                             std::span<const double> nominal) const noexcept;
};

// The best point, and the way to it.
struct Solution {
  std::vector<double> x;
  SolutionStatus status = SolutionStatus::nonfinite;
  std::int64_t iterations = 0;
  double residual_norm = 0.0;
  std::vector<double> residual;
  std::vector<double> history;
  std::string solver;
  std::vector<double> direction{};
  std::vector<std::vector<std::int64_t>> switched{};
  Outcome rejected{};
  bool contradicted = false;

  [[nodiscard]] bool converged() const noexcept { return status == SolutionStatus::converged; }
};

struct Iterate {
  Index loop;
  std::string solver;
  std::int64_t number;
  std::vector<double> x, residual;
};

}  // namespace ssptool
