// Steps that are repeated until what goes into inputs is what comes out.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "evaluation.hpp"
#include "stepper.hpp"

namespace ssptool {

struct Iteration {
  IterationCalls calls;
  std::vector<double> x;

  // What came out against what went in: how many times too large the difference is, and the difference in nominal
  // values.
  [[nodiscard]] double excess(std::span<const double> values) const noexcept;
  [[nodiscard]] double difference(std::span<const double> values) const noexcept;
};

class Iterations {
 public:
  Iterations(SlotValues& slot_values, const Wires& wires, Groups& groups, Inputs& inputs, Stepper& stepper,
             Schedules& schedules, Access& access)
      : slot_values_(slot_values),
        wires_(wires),
        groups_(groups),
        inputs_(inputs),
        stepper_(stepper),
        schedules_(schedules),
        access_(access) {}

  Index add(IterationCalls);
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }
  Outcome iterate(Index iteration, double t, double h, bool first);
  std::span<double> guess(Index iteration) { return at(iteration).x; }

  bool converge(Index iteration, double t, double h) noexcept;

  // Of each step of the last run; of the first that failed as well.
  [[nodiscard]] std::span<const std::int64_t> counts() const noexcept { return counts_; }
  void begin(std::size_t steps) { counts_.assign(steps, 1); }
  void begin_step(std::size_t step) noexcept { step_ = step; }
  void end(const Outcome&);

 private:
  void check(const IterationCalls&) const;
  Iteration& at(Index iteration);
  bool iterate_once(Iteration&, double t, double h, bool first) noexcept;
  void predict(Iteration&, double h) noexcept;

  SlotValues& slot_values_;
  const Wires& wires_;
  Groups& groups_;
  Inputs& inputs_;
  Stepper& stepper_;
  Schedules& schedules_;
  Access& access_;
  std::vector<Iteration> all_;
  std::vector<std::int64_t> counts_;
  std::size_t step_ = 0;  // the present one
};

}  // namespace ssptool
