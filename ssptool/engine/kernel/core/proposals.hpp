// The next point of a fixed-point iteration from the last ones, in nominal values. Sources are named in proposals.py.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "dense.hpp"

namespace ssptool {

// It may remember the pairs it has seen.
class Proposal {
 public:
  Proposal() = default;
  Proposal(const Proposal&) = delete;
  Proposal& operator=(const Proposal&) = delete;
  virtual ~Proposal() = default;

  // The next x after x and g(x).
  virtual std::vector<double> next(std::span<const double> x, std::span<const double> value) = 0;
};

// x ← x + ω (g(x) − x)
class Relaxation final : public Proposal {
 public:
  explicit Relaxation(double factor) : factor_(factor) {}
  std::vector<double> next(std::span<const double> x, std::span<const double> value) override;

 private:
  double factor_;
};

// x ← x + ω_k (g(x) − x), with ω_k from the last two residuals.
class AitkenRelaxation final : public Proposal {
 public:
  static constexpr double default_factor = 0.5;

  explicit AitkenRelaxation(double first_factor = default_factor) : factor_(first_factor) {}
  std::vector<double> next(std::span<const double> x, std::span<const double> value) override;

 private:
  double factor_;
  std::optional<std::vector<double>> residual_;
};

// To where the residual would be smallest if it were linear in the last steps.
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
