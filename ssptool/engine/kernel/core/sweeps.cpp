// Outputs made consistent at one instant: calls in order, and algebraic loops.
#include <algorithm>
#include <cmath>
#include <utility>

#include "checks.hpp"
#include "kernel.hpp"

namespace ssptool {

// Not inlined, so that it has all registers.
[[gnu::noinline]] bool Kernel::perform(CallRange range) noexcept {
  double* const values = values_.data();
  const fmi::Reference* const references = references_.data();
  const QuickCall* const end = calls_.data() + range.end;
  for (const QuickCall* call = calls_.data() + range.first; call != end; ++call) {
    wires_.copy(call->wires, values);
    if (call->special) [[unlikely]] {
      if (!perform(resolved_calls_[static_cast<std::size_t>(call - calls_.data())])) return false;
      continue;
    }
    int status = call->set(references, values);
    if (status > fmi::warning) [[unlikely]]
      return not_set(call->instance, status);
    status = call->get(references, values);
    if (status > fmi::warning) [[unlikely]]
      return not_got(call->instance, status);
    if (!call->got_finite(values)) [[unlikely]]
      return nonfinite(*call, call->instance);
  }
  return true;
}

bool Kernel::perform(ResolvedCall& call) noexcept {
  return set(call.inputs) && set_typed(call.inputs.instance, call.typed_inputs, values_) && get(call.outputs) &&
         get_typed(call.outputs.instance, call.typed_outputs);
}

Outcome Kernel::evaluate(Index sweep) {
  check_index(sweep, sweeps_.size(), "sweep");
  return result(visit_all(sweep));
}

bool Kernel::visit_all(Index sweep) noexcept {
  for (const SweepPart& part : sweeps_[sweep]) {
    if (part.calls.first != part.calls.end && !perform(part.calls)) return false;
    if (part.loop != none && !solve(loops_[part.loop])) return false;
  }
  return true;
}

// -- algebraic loops -------------------------------------------------------------------------------------------

inline bool Kernel::evaluate_body(Loop& loop) noexcept {
  for (const Torn& torn : loop.torn) values_[torn.slot] = torn.x;
  for (Held& held : loop.held) held.found = values_[held.slot];
  const bool ok = perform(loop.body);
  if (!ok) [[unlikely]]
    outcome_.loop = number(loop);
  for (Held& held : loop.held) std::swap(held.found, values_[held.slot]);
  return ok;
}

// The first of the held slots that changes, or `none`; all of them now have what they came out as.
inline std::size_t Kernel::settle(Loop& loop) noexcept {
  std::size_t changed = none;
  for (const Held& held : loop.held) {
    if (changed == none && as_integer(held.found) != as_integer(values_[held.slot])) changed = held.slot;
    values_[held.slot] = held.found;
  }
  return changed;
}

bool Kernel::settle(Index index) {
  check_index(index, loops_.size(), "loop");
  return settle(loops_[index]) != none;
}

bool Kernel::solve(Loop& loop) noexcept {
  ++loops_solved_;
  for (Torn& torn : loop.torn) torn.x = torn.first = values_[torn.slot];
  for (std::int64_t iteration = 0; iteration < loop.max_iterations; ++iteration) {
    ++loop_iterations_;
    if (!evaluate_body(loop)) [[unlikely]] {
      // After the first iteration a guess is to blame: an iterate ran away.
      if (outcome_.code != Code::nonfinite || iteration == 0) return false;
      outcome_.code = Code::loop;
      return unsolved(loop);
    }
    if (converged(loop)) {
      const std::size_t changed = settle(loop);
      if (changed == none) [[likely]]
        return true;
      loop.open = changed;
      continue;
    }
    correct(loop);
  }
  outcome_ = {.code = Code::loop, .loop = number(loop), .slot = static_cast<int>(loop.open)};
  return unsolved(loop);
}

// x ← x − M r; mostly one signal is torn.
inline void Kernel::correct(Loop& loop) noexcept {
  const double* factor = loop.chord.data();
  if (loop.torn.size() == 1) {
    Torn& torn = loop.torn.front();
    torn.x -= 0.0 + *factor * torn.residual;
    return;
  }
  for (Torn& torn : loop.torn) {
    double correction = 0.0;
    for (const Torn& other : loop.torn) correction += *factor++ * other.residual;
    torn.x -= correction;
  }
}

// A better method may start where this one did: iterates that ran away lead nowhere.
bool Kernel::unsolved(const Loop& loop) noexcept {
  for (const Torn& torn : loop.torn) values_[torn.slot] = torn.first;
  return false;
}

inline bool Kernel::converged(Loop& loop) noexcept {
  bool all = true;
  for (Torn& torn : loop.torn) {
    torn.residual = values_[torn.slot] - torn.x;
    const double tolerance = loop.atol + loop.rtol * std::max(std::abs(torn.x), torn.nominal);
    if (!(std::abs(torn.residual) <= tolerance)) {
      if (all) loop.open = torn.slot;
      all = false;
    }
  }
  return all;
}

Outcome Kernel::residual(Index index, std::span<const double> x, std::span<double> g) {
  check_index(index, loops_.size(), "loop");
  Loop& loop = loops_[index];
  check_size(x.size(), loop.torn.size(), "x");
  for (std::size_t i = 0; i < x.size(); ++i) loop.torn[i].x = x[i];
  const bool ok = evaluate_body(loop);
  for (std::size_t i = 0; i < x.size(); ++i) g[i] = values_[loop.torn[i].slot];
  return result(ok);
}

Outcome Kernel::jacobian_product(Index index, std::span<const double> seed, std::span<double> product) {
  check_index(index, loops_.size(), "loop");
  Loop& loop = loops_[index];
  check_size(seed.size(), loop.torn.size(), "the seed");
  std::fill(tangent_.begin(), tangent_.end(), 0.0);
  for (std::size_t i = 0; i < seed.size(); ++i) tangent_[loop.torn[i].slot] = seed[i];
  bool ok = true;
  for (Small i = loop.body.first; ok && i < loop.body.end; ++i) {
    wires_.copy_tangents(calls_[i].wires, tangent_.data());
    ok = pass_on(resolved_calls_[i]);
    if (!ok) outcome_.loop = static_cast<int>(index);
  }
  for (std::size_t i = 0; i < seed.size(); ++i) product[i] = tangent_[loop.torn[i].slot];
  return result(ok);
}

// The tangents of the outputs from those of the inputs.
bool Kernel::pass_on(ResolvedCall& call) noexcept {
  const std::span<double> sensitivity = call.output_tangents.room();
  const std::span<const double> direction = call.input_tangents.read();
  std::fill(sensitivity.begin(), sensitivity.end(), 0.0);
  if (!direction.empty() && !sensitivity.empty())
    if (const Failure failure = instances_[call.outputs.instance]->directional(
            call.outputs.references, call.inputs.references, direction, sensitivity))
      return failed(call.outputs.instance, failure);
  call.output_tangents.written();
  return true;
}

void Kernel::set_chord(Index index, std::span<const double> matrix) {
  check_index(index, loops_.size(), "loop");
  Loop& loop = loops_[index];
  check_size(matrix.size(), loop.chord.size(), "the chord matrix");
  std::copy(matrix.begin(), matrix.end(), loop.chord.begin());
}

}  // namespace ssptool
