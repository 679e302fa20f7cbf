// Programs that are repeated for many macro steps, and their rows.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "iterations.hpp"
#include "time_grid.hpp"

namespace ssptool {

class Recorder {
 public:
  Recorder(SlotValues& slot_values, const Wires& wires, const Members& members, Access& access)
      : slot_values_(slot_values),
        wires_(wires),
        members_(members),
        access_(access),
        recorded_(slot_values.values.data(), {}) {}

  // Adds the member that was added last.
  void add(Index instance);
  void record_slots(const std::vector<Slot>&);
  // Fills a row of `width()` numbers.
  Outcome record(double t, std::span<double> row);
  bool write_row(double t, double* row) noexcept;

  // From now on, batches of steps end after a row in which one of these numbers is larger than its limit.
  void watch(std::vector<std::size_t> places, std::vector<double> limits);
  [[nodiscard]] bool exceeded() const noexcept { return exceeded_; }
  void forget_exceeded() noexcept { exceeded_ = false; }

  // Numbers in a row: the time and the recorded values.
  [[nodiscard]] std::size_t width() const noexcept { return 1 + recorded_.size(); }

 private:
  SlotValues& slot_values_;
  const Wires& wires_;
  const Members& members_;
  Access& access_;
  std::vector<Observed> observed_;
  Window recorded_;
  std::vector<std::size_t> watched_;  // places in a row
  std::vector<double> limits_;
  bool exceeded_ = false;
};

// Does a macro step from t by h [s], to a time that may differ from t + h by rounding, including consistent outputs; a
// good outcome contains the number of iterations.
using StepOfOthers = std::function<Outcome(double t, double h, double to)>;

class Programs {
 public:
  Programs(Groups& groups, const Members& members, const Wires& wires, DrivenInputs& driven, History& history,
           Inputs& inputs, Stepper& stepper, Schedules& schedules, Iterations& iterations, Recorder& recorder,
           Access& access)
      : groups_(groups),
        members_(members),
        wires_(wires),
        driven_(driven),
        history_(history),
        inputs_(inputs),
        stepper_(stepper),
        schedules_(schedules),
        iterations_(iterations),
        recorder_(recorder),
        access_(access) {}

  // `rows` has room for `steps` rows.
  Outcome run(std::span<const Instruction> program, double start, double h, std::int64_t first, std::span<double> rows,
              std::int64_t steps);
  // Sets the function that does steps which a program requests.
  void ask(StepOfOthers others) { others_ = std::move(others); }
  // A step of any size from t that reaches a time, with its row; it ends (Code::event) after an instruction in which an
  // instance has returned before the time `early`.
  Outcome once(std::span<const Instruction> program, double t, double h, double to, std::span<double> row,
               double early = -std::numeric_limits<double>::infinity());

 private:
  // An instruction, checked and looked up.
  struct Task {
    Op op;
    int order;
    Index argument;
    Group* group;  // if the argument is a group
    std::int64_t instruction;
    bool fast = false;  // ADVANCE: see Stepper::step_all_fast

    [[nodiscard]] bool steps() const noexcept { return op == Op::advance || op == Op::iterate; }
  };

  // Macro steps of equal size, and the place for their rows.
  struct Grid {
    const DecimalTimes& times;
    double h;
    std::int64_t first;
    double* rows;

    [[nodiscard]] double time(std::int64_t k) const noexcept { return times.time(first + k); }
  };

  std::vector<Task> tasks(std::span<const Instruction> program);
  [[nodiscard]] std::vector<Task> fast_path(const std::vector<Task>&) const;
  static bool covers(const std::vector<Task>&, const Group&);
  bool done_by_others(double t, double reached, double h);
  bool execute(const Task&, double t, double reached, double h, double* row);
  Outcome repeat(const std::vector<Task>&, const Grid&, std::int64_t begin, std::int64_t end);
  [[gnu::cold]] Outcome stopped(std::int64_t steps, const Task&) noexcept;
  [[nodiscard]] bool returned_before(double end) const noexcept;
  [[nodiscard]] bool event_wanted() const noexcept;

  Groups& groups_;
  const Members& members_;
  const Wires& wires_;
  DrivenInputs& driven_;
  History& history_;
  Inputs& inputs_;
  Stepper& stepper_;
  Schedules& schedules_;
  Iterations& iterations_;
  Recorder& recorder_;
  Access& access_;
  StepOfOthers others_;
  DecimalTimes times_;  // of the last run
};

}  // namespace ssptool
