// Algebraic loops: the chord iteration, and what better methods ask for.
#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "checks.hpp"
#include "kernel.hpp"

namespace ssptool {

Index Kernel::loop(const LoopCalls& calls) {
  const std::size_t m = calls.torn.size();
  check_size(calls.nominal.size(), m, "the list of nominal values");
  if (calls.max_iterations < 1)
    throw std::invalid_argument("max_iterations is " + std::to_string(calls.max_iterations) + ", must be at least 1");
  for (const Slot slot : calls.torn) {
    check_slot(slot);
    if (holds_integer_[slot])
      throw std::invalid_argument("slot " + std::to_string(slot) + " holds integers and cannot be torn");
  }
  for (const Slot slot : calls.held) {
    check_slot(slot);
    if (!holds_integer_[slot])
      throw std::invalid_argument("slot " + std::to_string(slot) + " holds a double, which is torn and not held");
  }
  Loop loop{.torn = {},
            .held = {},
            .body = resolve(calls.body),
            .rtol = calls.rtol,
            .atol = calls.atol,
            .max_iterations = calls.max_iterations,
            .chord = std::vector<double>(m * m),
            .open = 0};
  for (std::size_t i = 0; i < m; ++i) loop.torn.push_back({calls.torn[i], calls.nominal[i]});
  for (const Slot slot : calls.held) loop.held.push_back({slot});
  for (std::size_t i = 0; i < m; ++i) loop.chord[i * m + i] = -1.0;
  loops_.push_back(std::move(loop));
  return loops_.size() - 1;
}

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

void Kernel::set_chord(Index index, std::span<const double> matrix) {
  check_index(index, loops_.size(), "loop");
  Loop& loop = loops_[index];
  check_size(matrix.size(), loop.chord.size(), "the chord matrix");
  std::copy(matrix.begin(), matrix.end(), loop.chord.begin());
}

}  // namespace ssptool
