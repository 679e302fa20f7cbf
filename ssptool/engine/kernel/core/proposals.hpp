// The next point of a fixed-point iteration, computed from earlier ones, in nominal values.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "dense.hpp"

namespace ssptool {

// It may store earlier pairs.
class Proposal {
 public:
  Proposal() = default;
  Proposal(const Proposal&) = delete;
  Proposal& operator=(const Proposal&) = delete;
  virtual ~Proposal() = default;

  // The next x, given x and g(x).
  virtual std::vector<double> next(std::span<const double> x, std::span<const double> value) = 0;
};

// x ← x + ω (g(x) − x). Of a scalar loop with gain γ it converges for |1 − ω (1 − γ)| < 1 (Quarteroni, Sacco, Saleri
// 2007, "Numerical Mathematics", §6.3).
class Relaxation final : public Proposal {
 public:
  explicit Relaxation(double factor) : factor_(factor) {}
  std::vector<double> next(std::span<const double> x, std::span<const double> value) override;

 private:
  double factor_;
};

// x ← x + ω_k (g(x) − x), with ω_k from the last two residuals; exact in three evaluations for a scalar linear loop
// (Irons and Tuck 1969, "A version of the Aitken accelerator for computer iteration"; Küttler and Wall 2008,
// "Fixed-point fluid-structure interaction solvers with dynamic relaxation", eq. (44)).
class AitkenRelaxation final : public Proposal {
 public:
  static constexpr double default_factor = 0.5;

  explicit AitkenRelaxation(double first_factor = default_factor) : factor_(first_factor) {}
  std::vector<double> next(std::span<const double> x, std::span<const double> value) override;

 private:
  double factor_;
  std::optional<std::vector<double>> residual_;
};

// To where the residual would be smallest if it were linear in the last `window` steps: for a linear loop of m signals
// exact after m + 2 evaluations, if the window is not less than m (Walker and Ni 2011, "Anderson acceleration for
// fixed-point iterations", eq. (2.1) and §4; Anderson 1965, "Iterative procedures for nonlinear integral equations").
class AndersonMixing final : public Proposal {
 public:
  static constexpr std::size_t default_window = 8;
  static constexpr double default_mixing = 1.0;

  explicit AndersonMixing(std::size_t window = default_window, double mixing = default_mixing)
      : window_(window), mixing_(mixing) {}
  std::vector<double> next(std::span<const double> x, std::span<const double> value) override;

 private:
  struct Pair {
    std::vector<double> x, residual;
  };
  struct Column {
    std::vector<double> change, answer;
  };

  std::size_t window_;
  double mixing_;
  std::optional<Pair> last_;
  std::deque<Column> columns_;  // the newest first
};

}  // namespace ssptool
