// Registered loops: solved from arbitrary start values, judged, and prepared for the chord iteration of schedules.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "evaluation.hpp"
#include "loop_solvers.hpp"

namespace ssptool {

// The equations of a registered loop: a map from guesses of the torn slots to their values.
class Equations final : public LoopFunction {
 public:
  Equations(Loops&, Index number, const LoopCalls&);

  [[nodiscard]] std::vector<double> value(std::span<const double> x) override;
  [[nodiscard]] std::vector<double> product(std::span<const double> seed) override;

  // An instance has failed and cannot continue; both functions throw this.
  struct Broken {
    Outcome outcome;
  };

  void begin() noexcept;
  // The solution from this start, in which frozen slots are consistent.
  Solution settled(LoopMethod, const std::vector<double>& start);
  // The present values or, if the components cannot be evaluated there, the second ones.
  std::vector<double> start(std::optional<std::span<const double>> second);

  // The Jacobian at the last solution.
  [[nodiscard]] const std::optional<DenseMatrix>& matrix() const noexcept { return matrix_; }
  // The largest row sum of the Jacobian, in nominal values; 0 without a Jacobian.
  [[nodiscard]] double gain() const;
  [[nodiscard]] double rounding() const noexcept { return rounding_; }

 private:
  std::vector<double> usable(const Outcome&, std::vector<double>);
  Solution solved(LoopMethod, const std::vector<double>& start);
  std::pair<DenseMatrix, double> jacobian_at(std::span<const double> x);
  void judge(Solution&, double precision);
  bool flat(std::span<const double> x, std::span<const double> direction);

  Loops& loops_;
  Index number_;
  Domain domain_;
  LoopJacobians sources_;
  double rounding_;
  std::optional<DenseMatrix> matrix_;
  Outcome rejected_;  // the last refusal since `begin`
  bool contradicted_ = false;
};

// If the outcome is not ok, an instance cannot continue, and the solution is invalid.
struct Solved {
  Outcome outcome;
  Solution solution;
};

class LoopSolutions {
 public:
  explicit LoopSolutions(Loops& loops) : loops_(loops) {}

  Index add(const LoopCalls&);
  Solved solve(Index loop, LoopMethod, std::optional<std::span<const double>> second);
  void refresh_chord(Index loop);
  double allow_rounding(Index loop);

 private:
  Equations& at(Index loop);

  Loops& loops_;
  std::vector<std::unique_ptr<Equations>> all_;
};

struct Rescue {
  Index loop;
  Solution solution;
};

// Rescues inside steps and their iterations, and whether wrong derivatives were found.
struct RescueWork {
  std::int64_t solved = 0, iterations = 0;
  bool contradicted = false;
};

// Evaluates schedules; loops are solved by the chain of all methods where necessary.
class Rescues {
 public:
  Rescues(Schedules& schedules, LoopSolutions& solutions) : schedules_(schedules), solutions_(solutions) {}

  Outcome evaluate(Index schedule);
  // Continues an evaluation that has stopped at a loop, inside a step; its rescues are counted.
  Outcome go_on(Index schedule, const Outcome& unsolved);
  // Rescues of the last evaluation.
  [[nodiscard]] const std::vector<Rescue>& latest() const noexcept { return latest_; }
  [[nodiscard]] const RescueWork& work() const noexcept { return work_; }

 private:
  Outcome finished(Index schedule, Outcome);
  [[nodiscard]] bool rescued(Index loop) const noexcept;

  Schedules& schedules_;
  LoopSolutions& solutions_;
  std::vector<Rescue> latest_;
  RescueWork work_;
};

}  // namespace ssptool
