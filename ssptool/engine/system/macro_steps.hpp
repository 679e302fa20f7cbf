// Macro steps that the kernel does for a system, and the times at which they end.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "../kernel/core/kernel.hpp"

namespace ssptool::runtime {

// A communication step: its start, end and size, which may differ from end − start by rounding.
struct CommunicationStep {
  double from, to, size;
};

// The times start + k · step [s].
struct TimeGrid {
  double start, step;
  DecimalTimes times;

  // Times that differ by no more than this are equal [s].
  [[nodiscard]] double moment() const noexcept { return 1e-9 * step; }
  [[nodiscard]] double time_of(std::int64_t point) const noexcept { return times.time(point); }
  // The last point of the grid that is not after t, within rounding.
  [[nodiscard]] std::int64_t passed(double t) const noexcept;
  // The point of the grid that equals t within rounding, otherwise t.
  [[nodiscard]] double on_grid(double t) const noexcept;
  // The last point that whole steps can reach: a time that differs from a grid point by rounding needs its own step.
  [[nodiscard]] std::int64_t whole_until(double limit) const noexcept;
  // The end of steps to `end` or to an earlier limit; a grid point that equals the limit within rounding replaces it.
  [[nodiscard]] double cut(double end, double limit) const noexcept;
  // Size and end of the step from t to the next point, or to an earlier limit. `own`: the communication step that the
  // importer has requested, whose stated size is used.
  [[nodiscard]] std::pair<double, double> next_step(double t, double limit,
                                                    const CommunicationStep* own) const noexcept;
};

// Executes the program of the plan once for each step.
class MacroSteps {
 public:
  MacroSteps(Kernel& kernel, std::vector<Instruction> program);

  // Whether the kernel repeats steps until their inputs are consistent.
  [[nodiscard]] bool iterate() const noexcept { return iterate_; }

  // Does `count` whole steps from grid point `first`; if a step fails, the outcome contains the number of completed
  // steps.
  Outcome whole(const TimeGrid&, std::int64_t first, std::int64_t count);
  // Does as many steps as there is room for rows.
  Outcome whole(const TimeGrid&, std::int64_t first, std::span<double> rows);
  // Continues a step that has stopped at a loop: evaluates the schedule of the loop with more robust methods, then does
  // the rest.
  Outcome rescued(Outcome outcome, double t, double h, double to) {
    return rescued(program_, outcome, t, h, to, room(1));
  }
  // The same with a row. An outcome that is not good contains the place of its instruction in the whole program.
  Outcome rescued(Outcome outcome, double t, double h, double to, std::span<double> row) {
    return rescued(program_, outcome, t, h, to, row);
  }
  // Evaluates a schedule at the present instant, with more robust methods for loops that need them.
  Outcome evaluate(Index schedule);
  // Statistics of loops that needed more robust methods.
  [[nodiscard]] const RescueWork& work() const noexcept { return work_; }
  // Whether an evaluation with more robust methods has failed, too.
  [[nodiscard]] bool rescue_failed() const noexcept { return rescue_failed_; }
  // Steps from t by h to a time that may differ from t + h by rounding.
  Outcome one(double t, double h, double to) { return done(program_, t, h, to); }
  // The same with a row; if a loop is not solved, the caller must call `rescued`.
  Outcome one(double t, double h, double to, std::span<double> row);
  // For `early`: no part may return early [s].
  static constexpr double never = -std::numeric_limits<double>::infinity();
  // The same, but neither accepted nor recorded. It ends with Code::event if a part returns before `early`; the parts
  // after it have not stepped then.
  Outcome attempt(double t, double h, double to, double early = never) { return done(attempt_, t, h, to, early); }
  // The first half of an attempt: until every part has delivered its outputs. The second half makes them consistent.
  Outcome deliver(double t, double h, double to) { return done(Program(attempt_).first(delivery_), t, h, to); }
  Outcome settle(double t, double h, double to) { return done(Program(attempt_).subspan(delivery_), t, h, to); }
  // Whether an attempt has stopped in iterations because a part cannot be evaluated there.
  [[nodiscard]] bool left_domain(const Outcome&) const;
  // The largest number of iterations of a group in the attempt.
  [[nodiscard]] std::int64_t iterations() const noexcept { return iterations_; }
  // Room for rows that are not used.
  std::span<double> room(std::int64_t rows);

 private:
  using Program = std::span<const Instruction>;

  Outcome done(Program, double t, double h, double to, double early = never);
  // `goes_on`: the first loop is not tried again, because the kernel has already counted it.
  Outcome rescued(Program, Outcome, double t, double h, double to, std::span<double> row, bool goes_on = false);
  Outcome once(Program, double t, double h, double to, std::span<double> row, double early = never);

  Kernel& kernel_;
  std::vector<Instruction> program_, attempt_;
  std::size_t delivery_ = 0;  // instructions of an attempt until outputs are delivered
  bool iterate_;
  std::vector<double> rows_;  // for unused rows
  RescueWork work_;
  std::int64_t iterations_ = 1;
  bool rescue_failed_ = false;
};

}  // namespace ssptool::runtime
