// Rules that compute the next iterate of a step from earlier ones, in nominal values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "calls.hpp"
#include "interface_newton.hpp"
#include "proposals.hpp"

namespace ssptool {

// IQN-ILS: the differences of the last steps, the newest first.
class SecantIterates final : public Proposal {
 public:
  SecantIterates(const IterateRule&, std::size_t unknowns);

  // Starts a new step.
  void begin() noexcept;
  std::vector<double> next(std::span<const double> x, std::span<const double> found) override;

  // Whether plain iteration would diverge: the map from differences of x to differences of its results, on the space
  // that the differences of x span, has an eigenvalue of magnitude above 1.
  [[nodiscard]] bool repels() const;

  [[nodiscard]] SecantMemory memory() const;
  void go_on(const SecantMemory&);

 private:
  [[nodiscard]] std::size_t place(std::size_t column) const noexcept { return (newest_ + column) % room_; }
  [[nodiscard]] std::span<double> part(std::vector<double>& numbers, std::size_t column) const noexcept {
    return std::span(numbers).subspan(place(column) * size_, size_);
  }
  [[nodiscard]] std::vector<double> scales_of(std::size_t count) const;
  void learn(std::span<const double> found) noexcept;
  void add() noexcept;
  void forget_oldest() noexcept;

  std::size_t size_, steps_, room_;
  double limit_;
  std::vector<double> changes_, answers_;  // room for the maximum number of columns
  std::size_t newest_ = 0, kept_ = 0;      // place of the first column, and number of columns
  std::vector<std::int64_t> counts_;       // of the columns of each step, the newest first
  std::vector<SecantColumn> columns_;
  std::vector<double> residual_, last_residual_, last_found_;
  bool begun_ = false;
};

// An acceleration rule applied to one interface.
class Acceleration {
 public:
  Acceleration(const IterateRule&, std::size_t unknowns);

  // Starts a new step.
  void begin() noexcept;
  // Whether the result is used as the next iterate.
  [[nodiscard]] bool is_plain() const noexcept { return rule_.kind == RuleKind::relaxation && rule_.factor == 1.0; }
  std::vector<double> next(std::span<const double> x, std::span<const double> found, RepeatedStep&);

  // Whether plain iteration would diverge, as far as the rule knows.
  [[nodiscard]] bool repels() const;

  // Data that a rule keeps between steps; most rules restart in every step.
  void remember(IterationMemory&) const;
  void go_on(const IterationMemory&);

 private:
  IterateRule rule_;
  std::size_t unknowns_;
  std::optional<SecantIterates> secants_;
  std::optional<InterfaceNewton> newton_;
  std::unique_ptr<Proposal> forgetful_;  // for the present step, once it was used
};

}  // namespace ssptool
