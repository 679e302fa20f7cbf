// Steps whose inputs have their value at the end, where those that run over the step would make the coupling ring.
//
// With interpolated inputs a step is the trapezoidal rule (components of first order), or Newmark's method with β = 1/6
// (of second order); with means of both ends it is the midpoint rule. Stiff parts then alternate from step to step,
// or grow, and an impact of less than a step creates energy. With inputs at the end of the step, components of first
// order make a step of the implicit Euler method, so that stiff parts are gone after it. A mass takes over x − x0 the
// work of the force at x: where the force has a convex potential, as that of springs, contacts and backlash, this is at
// most what the potential loses, so that a step of any size creates no energy. That is of order 1, and so for
// single steps only: those in which the values do not continue the accepted points, and the coupling is stiff.
//
// Rannacher 1984, "Finite element solution of diffusion problems with irregular data" (damped steps where data are
// not smooth); Hairer, Wanner 1996, "Solving ordinary differential equations II", §IV.3 (L-stability).
#include <algorithm>
#include <cmath>

#include "repetition.hpp"

namespace ssptool {

namespace {

constexpr double fading = 0.9;            // of one departure to the next, in the other direction
constexpr double smooth = 0.8;            // largest departure of a smooth value, relative to its changes
constexpr double least_departure = 1e-4;  // relative to the size of a value
constexpr double margin_of_noise = 10.0;  // of a departure
constexpr std::int64_t longest = 256;     // steps
constexpr double same_time = 1e-6;        // of times, relative to the size of a step
constexpr std::int64_t soon = 4;          // as many times the length of a phase after it

}  // namespace

bool Attempts::runs_smoothly(const IterationCalls& calls, std::span<const double> continued,
                             double negligible) const noexcept {
  const Trends trends = inputs_.trends();
  if (!trends.known()) return true;
  for (std::size_t i = 0; i < continued.size(); ++i) {
    const Slot slot = calls.unknowns[i];
    const double value = slot_values_.values[slot], now = trends.now(slot), departure = value - continued[i];
    const double size = std::max({std::abs(value), std::abs(now), calls.nominal[i]});
    const double change = std::max(std::abs(value - now), trends.latest(slot));
    if (std::abs(departure) <= std::max(smooth * change, negligible * size)) continue;
    const double before = trends.departure(slot);
    if (!(departure * before < 0.0 && std::abs(departure) <= fading * std::abs(before))) return false;
  }
  return true;
}

bool Attempts::leaves_end(const IterationCalls& calls) const noexcept {
  const std::vector<Small>&following = groups_[calls.following].inputs.floats,
        &held = groups_[calls.held].inputs.floats;
  if (calls.order != 0 && !following.empty()) return true;
  if (calls.held_inputs != HeldInputs::mid_step) return calls.held_inputs == HeldInputs::mean && !held.empty();
  const Trends trends = inputs_.trends();
  return std::ranges::any_of(held, [&](Slot slot) { return !trends.rings(slot); });
}

bool Repetition::may_damp() const noexcept {
  return calls_.damps && course_ != Course::at_end && attempts_.leaves_end(calls_);
}

// Whether the coupling is too stiff for the step size and its signals are not smooth: they ring, or a stiff part has
// been excited, for example at the start or by an impact.
bool Repetition::needs_damping() noexcept {
  if (!converged_ || !may_damp()) return false;
  // In noise, secants contain no information.
  if (!by_newton_ && (agreement_.noisy() || agreement_.is_noise())) return false;
  const double negligible = std::max(least_departure, margin_of_noise * accepted.floor);
  return !attempts_.runs_smoothly(calls_, continued_, negligible) && (by_newton_ ? newton_ : acceleration_).repels();
}

Course Repetition::next_course() const noexcept {
  const DampingPhase& phase = accepted.phase;
  if (phase.left > 0) return Course::at_end;
  return phase.length > 0 && phase.since == 0 ? Course::from_end : Course::planned;
}

// Starts damping at this step; the phase is longer if the last one ended recently.
void Repetition::damp() noexcept {
  DampingPhase& phase = accepted.phase;
  phase.length = phase.since < soon * phase.length ? std::min(2 * phase.length, longest) : 1;
  phase.left = phase.length + 1;
  course_ = Course::at_end;
}

void Repetition::end_phase() noexcept {
  DampingPhase& phase = accepted.phase;
  ++phase.since;
  if (course_ != Course::at_end) return;
  accepted.note_end(present_.t);
  note_damped_step();
  phase.since = 0;
  --phase.left;
}

// A repeated step has the time of an earlier one.
void Repetition::note_damped_step() {
  const double from = present_.t, to = from + present_.h, close = same_time * present_.h;
  while (!damped_phases_.empty() && damped_phases_.back().from >= from - close) damped_phases_.pop_back();
  if (!damped_phases_.empty() && damped_phases_.back().to >= from - close)
    damped_phases_.back().to = to;
  else
    damped_phases_.push_back({from, to});
}

}  // namespace ssptool
