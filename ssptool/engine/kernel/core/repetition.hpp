// A macro step that is repeated from its start until the values at its end agree; retreats where they do not.
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

// Sees the iterates of macro steps: what a group had at the end of a step, what was found for it, the change over what
// is allowed, and whether they agree.
class IterateObserver {
 public:
  virtual void see(Index group, std::int64_t number, std::span<const double> x, std::span<const double> found,
                   double excess, bool agrees) noexcept = 0;

 protected:
  ~IterateObserver() = default;
};

// Inputs over a step: as planned, all at their value at its end, or as planned behind such a step.
enum class Course { planned, at_end, from_end };

// Time from which on, and to which, inputs had their value at the end of each step.
struct DampedPhase {
  double from, to;
};

// What is done to the group of a step that is repeated. Unknowns are in the units of their signals.
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

  // Whether all went well; if not, the outcome says what happened.
  bool save(const IterationCalls&) noexcept;
  bool restore(const IterationCalls&) noexcept;
  bool attempt(const IterationCalls&, std::span<const double> x, const MacroStep&, Course) noexcept;

  void predict(const IterationCalls&, int order, double h, std::span<double> x) noexcept;
  void exchange(const IterationCalls&) noexcept;
  void find(const IterationCalls&, std::span<double> found) const noexcept;

  // Who sees iterates from now on; null: nobody.
  void observe(IterateObserver* observer) noexcept { observer_ = observer; }
  [[nodiscard]] IterateObserver* observer() const noexcept { return observer_; }

  // Whether some input runs over a step in another way than at its end.
  [[nodiscard]] bool leaves_end(const IterationCalls&) const noexcept;

  // Whether the accepted points lead to the values at the end of a step: their continuation, which is off by no more
  // than about half of what the values change in a step, or by less than this part of their size.
  [[nodiscard]] bool runs_smoothly(const IterationCalls&, std::span<const double> continued,
                                   double negligible) const noexcept;

  // Whether components whose inputs can only be constant over a step integrate them inside of it, so that the mean of
  // both ends is of order 2; from the saved states, to which they return. None: they do not return.
  std::optional<bool> integrates(const IterationCalls&, const MacroStep&) noexcept;

  // The last trouble is not one of the values at an iterate, so that no other iterate helps.
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
  // Inputs changed by this part of their size.
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

// The steps of one group.
class Repetition final : public RepeatedStep {
 public:
  Repetition(IterationCalls, Attempts&);
  // The agreement is about numbers in here.
  Repetition(const Repetition&) = delete;
  Repetition& operator=(const Repetition&) = delete;
  ~Repetition() override = default;

  // What Newton's method may use from now on.
  void know(GroupInterface interface) { interface_ = std::move(interface); }
  std::vector<double> repeated(std::span<const double> x) override;
  [[nodiscard]] StepDerivatives derivatives() const override;
  [[nodiscard]] Pattern pattern() const override;

  // The number of iterations; none if the step failed, as the outcome says.
  std::optional<std::int64_t> step(const MacroStep&) noexcept;
  // What trial steps at the start of a step say, of which states are saved; none where they did not come to an end.
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
  const bool tries_;  // the first step finds out how inputs are held
  Attempts& attempts_;
  PlainIterationSwitch switch_;
  Agreement agreement_, damped_agreement_;
  Acceleration acceleration_, newton_, damping_;
  GroupInterface interface_;
  std::vector<double> x_, found_;
  std::vector<double> guess_, continued_;      // of the end of a step: for its first iterate, and by a parabola
  std::vector<double> scaled_, scaled_found_;  // the same in nominal values
  std::vector<double> sizes_;                  // the largest that each unknown was at the start of a step
  MacroStep present_{};
  std::int64_t iterations_ = 0;
  bool left_domain_ = false, escaped_ = false;
  Course course_ = Course::planned;
  bool by_newton_ = false;  // the last iterates were Newton's
  bool converged_ = true;   // no retreat was needed
  std::vector<DampedPhase> damped_phases_;
};

}  // namespace ssptool
