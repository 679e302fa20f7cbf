// A macro step that is repeated from its start until the values at its end agree, and alternatives if they do not.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "acceleration.hpp"
#include "convergence.hpp"
#include "loop_solutions.hpp"
#include "stepper.hpp"

namespace ssptool {

struct MacroStep {
  double t, h;
};

// Receives iterates of macro steps: the values of a group at the end of a step, the result for them, the change
// relative to the limit, and whether they agree.
class IterateObserver {
 public:
  virtual void see(Index group, std::int64_t number, std::span<const double> x, std::span<const double> found,
                   double excess, bool agrees) noexcept = 0;

 protected:
  ~IterateObserver() = default;
};

// Inputs over a step: as planned; all at their value at its end; or as planned after such a step.
enum class Course { planned, at_end, from_end };

// Start and end of a period in which inputs have their value at the end of each step.
struct DampedPhase {
  double from, to;
};

// Operations on the group of a repeated step. Unknowns are in the units of their signals.
class Attempts {
 public:
  Attempts(SlotValues& slot_values, const Wires& wires, Groups& groups, Inputs& inputs, Stepper& stepper,
           Schedules& schedules, Rescues& rescues, Access& access)
      : slot_values_(slot_values),
        wires_(wires),
        groups_(groups),
        inputs_(inputs),
        stepper_(stepper),
        schedules_(schedules),
        rescues_(rescues),
        access_(access) {}

  // Returns whether it was successful; if not, the outcome describes the failure.
  bool save(const IterationCalls&) noexcept;
  bool restore(const IterationCalls&) noexcept;
  bool attempt(const IterationCalls&, std::span<const double> x, const MacroStep&, Course) noexcept;

  void predict(const IterationCalls&, int order, double h, std::span<double> x) noexcept;
  void exchange(const IterationCalls&) noexcept;
  void find(const IterationCalls&, std::span<double> found) const noexcept;

  // Sets the receiver of iterates; null: none.
  void observe(IterateObserver* observer) noexcept { observer_ = observer; }
  [[nodiscard]] IterateObserver* observer() const noexcept { return observer_; }

  // Whether some input is not held at its value at the end of the step.
  [[nodiscard]] bool leaves_end(const IterationCalls&) const noexcept;

  // Whether the accepted points lead to the values at the end of a step: their continuation, which is off by no more
  // than about half of what the values change in a step, or by less than this part of their size.
  [[nodiscard]] bool runs_smoothly(const IterationCalls&, std::span<const double> continued,
                                   double negligible) const noexcept;

  // Whether components whose inputs can only be constant over a step integrate them inside of it, so that the mean of
  // both ends is of order 2; from the saved states, to which they return. None: they do not return.
  std::optional<bool> integrates(const IterationCalls&, const MacroStep&) noexcept;

  // Whether the last failure does not depend on the values of an iterate, so that no other iterate helps.
  [[nodiscard]] bool is_final() const noexcept { return final_; }
  [[nodiscard]] Outcome& outcome() noexcept { return access_.outcome; }

 private:
  // Unknowns after the first part of a step, and at its end.
  struct Response {
    std::vector<double> first, last;
  };

  bool checked(bool ok) noexcept;
  void hold(const IterationCalls&, const InputSlots&, double h) noexcept;
  std::optional<Response> response(const IterationCalls&, const MacroStep&, int parts,
                                   std::span<const double> start) noexcept;
  // With inputs changed by this part of their size.
  std::optional<Response> course(const IterationCalls&, const MacroStep&, int parts, std::span<const double> start,
                                 double change) noexcept;
  bool evaluate(Index schedule) noexcept;

  SlotValues& slot_values_;
  const Wires& wires_;
  Groups& groups_;
  Inputs& inputs_;
  Stepper& stepper_;
  Schedules& schedules_;
  Rescues& rescues_;
  Access& access_;
  IterateObserver* observer_ = nullptr;
  bool final_ = false;
};

// The repeated steps of one group.
class Repetition final : public RepeatedStep {
 public:
  Repetition(IterationCalls, Attempts&);
  // The agreement refers to members of this object.
  Repetition(const Repetition&) = delete;
  Repetition& operator=(const Repetition&) = delete;
  ~Repetition() override = default;

  // Sets what Newton's method may use.
  void know(GroupInterface interface) { interface_ = std::move(interface); }
  std::vector<double> repeated(std::span<const double> x) override;
  [[nodiscard]] StepDerivatives derivatives() const override;
  [[nodiscard]] Pattern pattern() const override;

  // The number of iterations; none if the step failed (see the outcome).
  std::optional<std::int64_t> step(const MacroStep&) noexcept;
  // Result of trial steps at the start of a step whose states are saved; none if they could not be completed.
  Trial trial(const MacroStep&) noexcept;

  [[nodiscard]] std::size_t unknowns() const noexcept { return x_.size(); }
  [[nodiscard]] IterationReport report() const;
  [[nodiscard]] IterationMemory memory() const;
  void go_on(const IterationMemory&);
  [[nodiscard]] std::span<const DampedPhase> damped_phases() const noexcept { return damped_phases_; }

  AcceptedSteps accepted;

 private:
  using Done = std::optional<std::int64_t>;
  enum class Ending { agreed, open, failed };

  bool try_held_inputs() noexcept;
  bool begin() noexcept;
  Done repeat(bool anew) noexcept;
  Ending iterate(Acceleration&, bool anew) noexcept;
  bool attempt(bool anew) noexcept;
  bool again(std::span<const double> x) noexcept;
  [[nodiscard]] bool may_damp() const noexcept;
  [[nodiscard]] bool needs_damping() noexcept;
  [[nodiscard]] Course next_course() const noexcept;
  void damp() noexcept;
  void end_phase() noexcept;
  void note_damped_step();
  void propose(Acceleration&, bool plain) noexcept;
  void probe_noise() noexcept;
  bool is_enough(std::int64_t iterate, bool plain) noexcept;
  [[nodiscard]] bool is_for_newton() const noexcept;
  Done agreed() noexcept;
  void judge_last() noexcept;
  Done settle() noexcept;
  Done retreat() noexcept;
  [[nodiscard]] std::int64_t damped() noexcept;
  [[nodiscard]] std::int64_t by_newton();
  Done otherwise(std::int64_t iterations) noexcept;
  void see_sizes(std::span<const double> values) noexcept;
  [[nodiscard]] bool escapes() const noexcept;
  Done failed() noexcept;

  IterationCalls calls_;
  const bool tries_;  // the first step determines how inputs are held
  Attempts& attempts_;
  PlainIterationSwitch switch_;
  Agreement agreement_, damped_agreement_;
  Acceleration acceleration_, newton_, damping_;
  GroupInterface interface_;
  std::vector<double> x_, found_;
  std::vector<double> guess_, continued_;      // for the end of a step: first guess, and extrapolation by a parabola
  std::vector<double> scaled_, scaled_found_;  // the unknowns and their results in nominal values
  std::vector<double> sizes_;                  // largest size of each unknown at starts of steps
  MacroStep present_{};
  std::int64_t iterations_ = 0;
  bool left_domain_ = false, escaped_ = false;
  Course course_ = Course::planned;
  bool by_newton_ = false;  // the last iterates are from Newton's method
  bool converged_ = true;   // without alternatives
  std::vector<DampedPhase> damped_phases_;
};

}  // namespace ssptool
