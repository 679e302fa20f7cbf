// Steps of instances, and their saved states.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "inputs.hpp"
#include "members.hpp"
#include "workers.hpp"

namespace ssptool {

// Macro steps that an FMU has discarded and that were done in smaller ones: their number, the maximum number of parts,
// and the start of the first one [s].
struct DividedSteps {
  std::int64_t steps = 0, most = 0;
  double since = 0.0;
};

class Stepper {
 public:
  Stepper(SlotValues& slot_values, Members& members, Groups& groups, Access& access, Inputs& inputs,
          const History& history)
      : slot_values_(slot_values),
        members_(members),
        groups_(groups),
        access_(access),
        inputs_(inputs),
        history_(history) {}

  // Adds the member that was added last.
  void add(Index instance);

  // Sets where to write the start of each step [s] for other readers; null: nowhere.
  void report_time(double* place) noexcept { reported_time_ = place; }
  // Threads of an FMU may read it, too.
  void report(double t) const noexcept {
    if (reported_time_ != nullptr) std::atomic_ref(*reported_time_).store(t, std::memory_order_relaxed);
  }
  // Steps the instances of a group in parallel from now on, if their steps take long enough. Results do not depend on
  // it; if a step fails, later instances of the group may have been stepped as well.
  void use_threads(std::size_t count);
  // Steps that the FMU has discarded, which were then done in 2, 4, 8, … parts, at most 1024, from the state saved at
  // the start; without one, the FMU must report that it is still at the start. FMI 2.0.4 §4.2.2 (fmi2Discard).
  [[nodiscard]] const DividedSteps& divided(Index index) const { return parts_.at(index).divided; }
  [[nodiscard]] bool has_threads() const noexcept { return workers_ != nullptr; }

  // Sets inputs (and their rates where not zero), does a step from t to t + h, gets outputs. Rates that an FMI 2.0 FMU
  // got in earlier steps are reset to zero when its inputs are held.
  Outcome advance(Index group, double t, double h);
  // One complete FMU state per instance, the last one saved; values and history are not touched.
  Outcome save(Index group);
  Outcome restore(Index group);
  void release() noexcept;

  // The same for existing groups; returns whether it was successful.
  bool step_all(Group&, double t, double h) noexcept;
  bool save_all(const Group&) noexcept;
  bool restore_all(const Group&) noexcept;
  void check_saved(const Group&) const;

  // The usual macro steps: inputs are held, or extrapolated linearly from the last two points, and all instances step.
  // All operations for an instance are then done together, and its inputs are set directly from their slots. An
  // ordinary step before has ensured that second derivatives are zero. Without this path, a macro step
  // of 10 to 2000 tiny FMUs in a chain takes 1.9 to 2.1 times as long (benchmarks/chain.py), one of the oscillator with
  // extrapolated inputs 1.04 times (benchmarks/bench.py).
  void prepare_fast(const Group&, bool on_lines) noexcept;
  bool step_all_fast(const Group&, double t, double h) noexcept;

 private:
  struct alignas(cache_line) Step : QuickAccess {
    fmi::v2::DoStep* plain_step;  // of FMI 2.0, if nothing is special or driven; otherwise null
  };

  // Rarely used data of it.
  struct StepParts {
    Window value, first, second;  // of the inputs of type Float64
    Motion motion;
    Transfer outputs;
    std::vector<Typed> typed_inputs, typed_outputs;
    DividedSteps divided{};
    std::vector<double> moving{};  // value, first and second derivative of each input that varies over substeps

    // Copies inputs in scattered slots to the buffers of the motion.
    void gather() noexcept {
      if (value.scattered())
        for (Window* window : {&value, &first, &second}) window->read();
    }
  };

  // A line through the last two accepted points.
  struct Line {
    const double *now, *before;
    double h;
  };

  bool step(Index, double t, double h) noexcept;
  bool step_once(Index, double t, double h) noexcept;
  bool step_in_parts(Index, const Substeps&, double t, double h) noexcept;
  [[gnu::cold]] bool divide(Index, double t, double h) noexcept;
  Failure move_on(Index, double t, double h) const noexcept;
  bool prepare(Index) noexcept;
  bool collect(Index) noexcept;
  bool step_one_by_one(const Group&, double t, double h) noexcept;
  bool step_together(Group&, double t, double h) noexcept;
  bool step_measured(Group&, double t, double h) noexcept;
  bool step_in_parallel(Group&, double t, double h) noexcept;
  std::size_t step_apart(const Group&, double t, double h) noexcept;
  bool step_fast(Step&, Index, const Line&, double t, double h) noexcept;
  bool follow(Step&, const Line&) noexcept;
  bool step_otherwise(Index, double t, double h) noexcept;
  [[gnu::cold]] bool discarded(const Step&, Index, int status, double t, double h) noexcept;
  void set_inputs(const Step&, Index) noexcept;
  [[gnu::cold]] bool retreat(Step&, Index, const Failure&, double t, double h) noexcept;

  SlotValues& slot_values_;
  Members& members_;
  Groups& groups_;
  Access& access_;
  Inputs& inputs_;
  const History& history_;
  std::vector<Step> steps_;
  std::vector<StepParts> parts_;  // in the same order as the steps
  std::unique_ptr<Workers> workers_;
  double* reported_time_ = nullptr;
};

}  // namespace ssptool
