// Rules that make the next iterate of a step from those before: relaxation, Aitken, IQN-ILS. In nominal values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <variant>
#include <vector>

#include "calls.hpp"
#include "dense.hpp"

namespace ssptool {

// Each begins with every step, and then makes the next iterate of `x`, in place, from what was found for it.
class RelaxedIterates {
 public:
  explicit RelaxedIterates(double factor) : factor_(factor) {}

  void begin() noexcept {}
  void propose(std::span<double> x, std::span<const double> found) noexcept;

 private:
  double factor_;
};

class AitkenIterates {
 public:
  AitkenIterates(double first_factor, std::size_t unknowns)
      : first_factor_(first_factor), residual_(unknowns), change_(unknowns) {}

  void begin() noexcept { begun_ = false; }
  void propose(std::span<double> x, std::span<const double> found) noexcept;

 private:
  void adapt(std::span<const double> x, std::span<const double> found) noexcept;

  double first_factor_, factor_ = 0.0;
  bool begun_ = false;
  std::vector<double> residual_, change_;
};

// The differences of the last steps, the newest first.
class SecantIterates {
 public:
  SecantIterates(const IterateRule&, std::size_t unknowns);

  void begin() noexcept;
  void propose(std::span<double> x, std::span<const double> found) noexcept;

  [[nodiscard]] SecantMemory memory() const;
  void go_on(const SecantMemory&);

 private:
  [[nodiscard]] std::size_t place(std::size_t column) const noexcept { return (newest_ + column) % room_; }
  [[nodiscard]] std::span<double> part(std::vector<double>& numbers, std::size_t column) const noexcept {
    return std::span(numbers).subspan(place(column) * size_, size_);
  }
  void learn(std::span<const double> found) noexcept;
  void add() noexcept;
  void forget_oldest() noexcept;

  std::size_t size_, steps_, room_;
  double limit_;
  std::vector<double> changes_, answers_;  // room for as many columns as are kept at most
  std::size_t newest_ = 0, kept_ = 0;      // the place of the first column, and how many there are
  std::vector<std::int64_t> counts_;       // of the columns of each step, the newest first
  std::vector<SecantColumn> columns_;
  std::vector<double> residual_, last_residual_, last_found_;
  bool begun_ = false;
};

using IterateRules = std::variant<RelaxedIterates, AitkenIterates, SecantIterates>;

IterateRules iterates_by(const IterateRule&, std::size_t unknowns);

}  // namespace ssptool
