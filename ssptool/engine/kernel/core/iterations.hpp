// Iterated steps that are registered with a kernel.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "repetition.hpp"

namespace ssptool {

class Iterations {
 public:
  Iterations(SlotValues& slot_values, const Wires& wires, Groups& groups, Inputs& inputs, Stepper& stepper,
             Schedules& schedules, Rescues& rescues, Access& access)
      : slot_values_(slot_values),
        groups_(groups),
        schedules_(schedules),
        access_(access),
        attempts_(slot_values, wires, groups, inputs, stepper, schedules, rescues, access) {}

  Index add(IterationCalls);
  void observe(IterateObserver* observer) noexcept { attempts_.observe(observer); }
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }

  Outcome iterate(Index iteration, double t, double h);
  Trial trial(Index iteration, double t, double h);
  // As part of a program.
  bool converge(Index iteration, const MacroStep&) noexcept;
  [[nodiscard]] std::size_t unknowns(Index iteration) { return at(iteration).unknowns(); }
  [[nodiscard]] IterationReport report(Index iteration) { return at(iteration).report(); }
  [[nodiscard]] IterationMemory memory(Index iteration) { return at(iteration).memory(); }
  void set_memory(Index iteration, const IterationMemory&);
  void know(Index iteration, GroupInterface interface) { at(iteration).know(std::move(interface)); }
  // The last one.
  [[nodiscard]] RepeatedStep& step(Index iteration) { return at(iteration); }
  [[nodiscard]] AcceptedSteps accepted(Index iteration) { return at(iteration).accepted; }
  [[nodiscard]] std::span<const DampedPhase> damped_phases(Index iteration) { return at(iteration).damped_phases(); }
  void set_accepted(Index iteration, const AcceptedSteps& accepted) { at(iteration).accepted = accepted; }

  // Iterations of each step of the last run, including the first step that failed.
  [[nodiscard]] std::span<const std::int64_t> counts() const noexcept { return counts_; }
  void begin(std::size_t steps) { counts_.assign(steps, 1); }
  void begin_step(std::size_t step) noexcept { step_ = step; }
  // Counts iterations of one group, or of all groups, in the present step.
  void count(std::int64_t iterations) noexcept { counts_[step_] = std::max(counts_[step_], iterations); }
  void end(const Outcome&);

 private:
  void check(const IterationCalls&) const;
  Repetition& at(Index iteration);

  SlotValues& slot_values_;
  Groups& groups_;
  Schedules& schedules_;
  Access& access_;
  Attempts attempts_;
  std::vector<std::unique_ptr<Repetition>> all_;
  std::vector<std::int64_t> counts_;
  std::size_t step_ = 0;  // the present one
};

}  // namespace ssptool
