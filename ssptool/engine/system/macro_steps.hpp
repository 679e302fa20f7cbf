// Macro steps of an exported system in its kernel, and the times at which they end.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "../kernel/core/kernel.hpp"

namespace ssptool::runtime {

// A communication step: where it begins and ends, and its size, which may differ from that by rounding.
struct CommunicationStep {
  double from, to, size;
};

// The times start + k · step [s].
struct TimeGrid {
  double start, step;
  DecimalTimes times;

  // Times that differ by no more are one [s].
  [[nodiscard]] double moment() const noexcept { return 1e-9 * step; }
  [[nodiscard]] double time_of(std::int64_t point) const noexcept { return times.time(point); }
  // The last point that is not after t, but for rounding.
  [[nodiscard]] std::int64_t passed(double t) const noexcept;
  // The point that is t but for rounding, or t.
  [[nodiscard]] double on_grid(double t) const noexcept;
  // The last point that whole steps may lead to: a time that rounding has put beside one gets a step of its own.
  [[nodiscard]] std::int64_t whole_until(double limit) const noexcept;
  // The end of steps that lead to `end` or to an earlier limit, for which a point at it, but for rounding, stands.
  [[nodiscard]] double cut(double end, double limit) const noexcept;
  // The size and the end of the step from t to the next point, or to an earlier limit. `own`: a step that an importer
  // has stated has the size that it says.
  [[nodiscard]] std::pair<double, double> next_step(double t, double limit,
                                                    const CommunicationStep* own) const noexcept;
};

// The program of the plan, done once for each step.
class MacroSteps {
 public:
  MacroSteps(Kernel& kernel, std::vector<Instruction> program);

  // The kernel repeats steps until their inputs agree.
  [[nodiscard]] bool iterate() const noexcept { return iterate_; }

  // `count` whole steps from this point on; the outcome says how many were done if one could not be.
  Outcome whole(const TimeGrid&, std::int64_t first, std::int64_t count);
  // As many as there is room for rows.
  Outcome whole(const TimeGrid&, std::int64_t first, std::span<double> rows);
  // After a step that has stopped at a loop: the schedule that has it, with better methods, and what comes after that.
  Outcome rescued(Outcome outcome, double t, double h, double to) {
    return rescued(program_, outcome, t, h, to, room(1));
  }
  // The same with a row. An outcome that is not good names its instruction in the whole program.
  Outcome rescued(Outcome outcome, double t, double h, double to, std::span<double> row) {
    return rescued(program_, outcome, t, h, to, row);
  }
  // A schedule at the present instant, with better methods for loops that need them.
  Outcome evaluate(Index schedule);
  // Of loops that needed better methods.
  [[nodiscard]] const RescueWork& work() const noexcept { return work_; }
  // An evaluation has failed that better methods were to rescue.
  [[nodiscard]] bool rescue_failed() const noexcept { return rescue_failed_; }
  // From t over h to a time which may differ from t + h by rounding.
  Outcome one(double t, double h, double to) { return done(program_, t, h, to); }
  // The same with a row; after a loop that was not solved, the rest is to be rescued.
  Outcome one(double t, double h, double to, std::span<double> row);
  // A time before which no part returns [s].
  static constexpr double never = -std::numeric_limits<double>::infinity();
  // The same, neither accepted nor recorded. It ends (Code::event) where a part returns before the time `early`: no
  // part behind that has stepped.
  Outcome attempt(double t, double h, double to, double early = never) { return done(attempt_, t, h, to, early); }
  // An attempt in two parts: until every part has delivered its outputs, and these made consistent.
  Outcome deliver(double t, double h, double to) { return done(Program(attempt_).first(delivery_), t, h, to); }
  Outcome settle(double t, double h, double to) { return done(Program(attempt_).subspan(delivery_), t, h, to); }
  // An attempt has stopped in iterations that have left the domain of a part.
  [[nodiscard]] bool left_domain(const Outcome&) const;
  // The most iterations of a group in it.
  [[nodiscard]] std::int64_t iterations() const noexcept { return iterations_; }
  // Room for rows that nobody reads.
  std::span<double> room(std::int64_t rows);

 private:
  using Program = std::span<const Instruction>;

  Outcome done(Program, double t, double h, double to, double early = never);
  // If it `goes_on`, the first loop is not tried once more; the kernel counts it then.
  Outcome rescued(Program, Outcome, double t, double h, double to, std::span<double> row, bool goes_on = false);
  Outcome once(Program, double t, double h, double to, std::span<double> row, double early = never);

  Kernel& kernel_;
  std::vector<Instruction> program_, attempt_;
  std::size_t delivery_ = 0;  // instructions of an attempt until outputs are delivered
  bool iterate_;
  std::vector<double> rows_;  // which nobody reads
  RescueWork work_;
  std::int64_t iterations_ = 1;
  bool rescue_failed_ = false;
};

}  // namespace ssptool::runtime
