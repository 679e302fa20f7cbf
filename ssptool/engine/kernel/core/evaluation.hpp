// Evaluation of instances at one instant, without a step: calls, algebraic loops, and schedules of both.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "members.hpp"
#include "solutions.hpp"

namespace ssptool {

// Range of places among all calls of a kernel.
struct CallRange {
  Small first, end;
};

class Calls {
 public:
  Calls(SlotValues& slot_values, Wires& wires, Members& members, Access& access)
      : slot_values_(slot_values), wires_(wires), members_(members), access_(access), tangents_(slot_values.size()) {}

  // Throws if a call is invalid.
  CallRange resolve(const std::vector<Call>&);
  bool perform(CallRange) noexcept;

  // One number per slot.
  [[nodiscard]] std::vector<double>& tangents() noexcept { return tangents_; }
  // Computes the tangents of the outputs from those of the inputs.
  bool propagate(CallRange) noexcept;

 private:
  struct alignas(cache_line) QuickCall : QuickAccess {
    Small instance;
    Wires::Set wires;
  };

  // A complete call.
  struct ResolvedCall {
    Transfer inputs, outputs;  // of type Float64
    std::vector<Typed> typed_inputs, typed_outputs;
    Window input_tangents, output_tangents;
  };

  void resolve(const Call&);
  bool perform(ResolvedCall&) noexcept;
  bool propagate(ResolvedCall&) noexcept;

  SlotValues& slot_values_;
  Wires& wires_;
  Members& members_;
  Access& access_;
  std::vector<QuickCall> quick_;
  std::vector<ResolvedCall> resolved_;  // in the same order as the fast ones
  std::vector<double> tangents_;
};

// The chord iteration, and what other methods need.
class Loops {
 public:
  Loops(SlotValues& slot_values, Calls& calls, Access& access)
      : slot_values_(slot_values), calls_(calls), access_(access) {}

  Index add(const LoopCalls&);
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }
  bool solve(Index loop) noexcept { return solve(all_[loop]); }

  Outcome residual(Index loop, std::span<const double> x, std::span<double> g);
  Outcome jacobian_product(Index loop, std::span<const double> seed, std::span<double> product);
  bool update_frozen(Index loop) { return update_frozen_of(at(loop)) != none; }
  void set_chord(Index loop, std::span<const double> matrix);
  [[nodiscard]] const std::vector<double>& chord(Index loop) { return at(loop).chord; }

  [[nodiscard]] std::vector<double> torn_values(Index loop);
  [[nodiscard]] std::vector<std::int64_t> frozen_values(Index loop);
  [[nodiscard]] Convergence convergence(Index loop) { return {at(loop).rtol, at(loop).atol}; }
  // Sets its relative tolerance to at least this value.
  double loosen(Index loop, double rtol);

  // Collects iterates from now on; null: stops.
  void watch(std::vector<Iterate>* iterates) noexcept { iterates_ = iterates; }
  void note(Index loop, std::string_view solver, std::int64_t number, std::span<const double> x,
            std::span<const double> residual);

  // Number of solutions computed by schedules, and the evaluations of bodies for them.
  [[nodiscard]] std::int64_t solved() const noexcept { return solved_; }
  [[nodiscard]] std::int64_t iterations() const noexcept { return iterations_; }

 private:
  struct Torn {
    Slot slot;
    double nominal;
    double x = 0.0, residual = 0.0;
    double first = 0.0;  // the x at which the present solution started
  };

  // An integer that is kept constant during an iteration; `found` is its value after the last evaluation.
  struct Frozen {
    Slot slot;
    double found = 0.0;
  };

  struct Loop {
    std::vector<Torn> torn;
    std::vector<Frozen> frozen;
    CallRange body;
    double rtol, atol;
    std::int64_t max_iterations;
    std::vector<double> chord;
    Slot open;  // the first torn slot that has not converged, or frozen one that changes
  };

  void check(const LoopCalls&) const;
  Loop& at(Index loop);
  bool evaluate_body(Loop&) noexcept;
  std::size_t update_frozen_of(Loop&) noexcept;
  bool solve(Loop&) noexcept;
  bool converged(Loop&) noexcept;
  static void correct(Loop&) noexcept;
  [[gnu::cold]] bool unsolved(const Loop&) noexcept;
  [[gnu::cold]] void note_chord(const Loop&, std::int64_t iteration);
  [[nodiscard]] int number(const Loop& loop) const noexcept { return static_cast<int>(&loop - all_.data()); }

  SlotValues& slot_values_;
  Calls& calls_;
  Access& access_;
  std::vector<Loop> all_;
  std::int64_t solved_ = 0, iterations_ = 0;
  std::vector<Iterate>* iterates_ = nullptr;
};

// Collects iterates of loops during its lifetime; null: does nothing.
class Watching {
 public:
  Watching(Loops& loops, std::vector<Iterate>* iterates) noexcept : loops_(loops) { loops_.watch(iterates); }
  Watching(const Watching&) = delete;
  Watching& operator=(const Watching&) = delete;
  ~Watching() { loops_.watch(nullptr); }

 private:
  Loops& loops_;
};

// Makes outputs consistent at one instant by calls and loops, in order.
class Schedules {
 public:
  Schedules(Calls& calls, Loops& loops, const Access& access) : calls_(calls), loops_(loops), access_(access) {}

  Index add(const std::vector<CallOrLoop>&);
  [[nodiscard]] std::size_t size() const noexcept { return all_.size(); }
  Outcome evaluate(Index schedule);
  bool visit_all(Index schedule) noexcept;

 private:
  // Calls, followed by a loop if there is one.
  struct Part {
    CallRange calls;
    Index loop;
  };

  Calls& calls_;
  Loops& loops_;
  const Access& access_;
  std::vector<std::vector<Part>> all_;
};

}  // namespace ssptool
