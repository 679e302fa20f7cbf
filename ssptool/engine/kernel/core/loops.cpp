#include "loops.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>
#include <variant>

namespace ssptool {

Index Loops::add(const LoopCalls& calls) {
  check(calls);
  const std::size_t m = calls.torn.size();
  Loop loop{.torn = {},
            .held = {},
            .body = calls_.resolve(calls.body),
            .rtol = calls.rtol,
            .atol = calls.atol,
            .max_iterations = calls.max_iterations,
            .chord = std::vector<double>(m * m),
            .open = 0};
  for (std::size_t i = 0; i < m; ++i) loop.torn.push_back({calls.torn[i], calls.nominal[i]});
  for (const Slot slot : calls.held) loop.held.push_back({slot});
  for (std::size_t i = 0; i < m; ++i) loop.chord[i * m + i] = -1.0;
  all_.push_back(std::move(loop));
  return all_.size() - 1;
}

void Loops::check(const LoopCalls& calls) const {
  check_size(calls.nominal.size(), calls.torn.size(), "the list of nominal values");
  if (calls.max_iterations < 1)
    throw std::invalid_argument("max_iterations is " + std::to_string(calls.max_iterations) + ", must be at least 1");
  for (const Slot slot : calls.torn) {
    cells_.check(slot);
    if (cells_.holds_integer[slot])
      throw std::invalid_argument("slot " + std::to_string(slot) + " holds integers and cannot be torn");
  }
  for (const Slot slot : calls.held) {
    cells_.check(slot);
    if (!cells_.holds_integer[slot])
      throw std::invalid_argument("slot " + std::to_string(slot) + " holds a double, which is torn and not held");
  }
}

Loops::Loop& Loops::at(Index loop) {
  check_index(loop, all_.size(), "loop");
  return all_[loop];
}

inline bool Loops::evaluate_body(Loop& loop) noexcept {
  for (const Torn& torn : loop.torn) cells_.values[torn.slot] = torn.x;
  for (Held& held : loop.held) held.found = cells_.values[held.slot];
  const bool ok = calls_.perform(loop.body);
  if (!ok) [[unlikely]]
    access_.outcome.loop = number(loop);
  for (Held& held : loop.held) std::swap(held.found, cells_.values[held.slot]);
  return ok;
}

// The first of the held slots that changes, or `none`; all of them now have what they came out as.
inline std::size_t Loops::settle_held(Loop& loop) noexcept {
  std::size_t changed = none;
  for (const Held& held : loop.held) {
    if (changed == none && as_integer(held.found) != as_integer(cells_.values[held.slot])) changed = held.slot;
    cells_.values[held.slot] = held.found;
  }
  return changed;
}

bool Loops::solve(Loop& loop) noexcept {
  ++solved_;
  for (Torn& torn : loop.torn) torn.x = torn.first = cells_.values[torn.slot];
  for (std::int64_t iteration = 0; iteration < loop.max_iterations; ++iteration) {
    ++iterations_;
    if (!evaluate_body(loop)) [[unlikely]] {
      // After the first iteration a guess is to blame: an iterate ran away.
      if (access_.outcome.code != Code::nonfinite || iteration == 0) return false;
      access_.outcome.code = Code::loop;
      return unsolved(loop);
    }
    if (converged(loop)) {
      const std::size_t changed = settle_held(loop);
      if (changed == none) [[likely]]
        return true;
      loop.open = changed;
      continue;
    }
    correct(loop);
  }
  access_.outcome = {.code = Code::loop, .loop = number(loop), .slot = static_cast<int>(loop.open)};
  return unsolved(loop);
}

// x ← x − M r; mostly one signal is torn.
inline void Loops::correct(Loop& loop) noexcept {
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
bool Loops::unsolved(const Loop& loop) noexcept {
  for (const Torn& torn : loop.torn) cells_.values[torn.slot] = torn.first;
  return false;
}

inline bool Loops::converged(Loop& loop) noexcept {
  bool all = true;
  for (Torn& torn : loop.torn) {
    torn.residual = cells_.values[torn.slot] - torn.x;
    const double tolerance = loop.atol + loop.rtol * std::max(std::abs(torn.x), torn.nominal);
    if (!(std::abs(torn.residual) <= tolerance)) {
      if (all) loop.open = torn.slot;
      all = false;
    }
  }
  return all;
}

Outcome Loops::residual(Index index, std::span<const double> x, std::span<double> g) {
  Loop& loop = at(index);
  check_size(x.size(), loop.torn.size(), "x");
  for (std::size_t i = 0; i < x.size(); ++i) loop.torn[i].x = x[i];
  const bool ok = evaluate_body(loop);
  for (std::size_t i = 0; i < x.size(); ++i) g[i] = cells_.values[loop.torn[i].slot];
  return access_.result(ok);
}

Outcome Loops::jacobian_product(Index index, std::span<const double> seed, std::span<double> product) {
  Loop& loop = at(index);
  check_size(seed.size(), loop.torn.size(), "the seed");
  std::vector<double>& tangents = calls_.tangents();
  std::fill(tangents.begin(), tangents.end(), 0.0);
  for (std::size_t i = 0; i < seed.size(); ++i) tangents[loop.torn[i].slot] = seed[i];
  const bool ok = calls_.pass_on(loop.body);
  if (!ok) access_.outcome.loop = number(loop);
  for (std::size_t i = 0; i < seed.size(); ++i) product[i] = tangents[loop.torn[i].slot];
  return access_.result(ok);
}

void Loops::set_chord(Index index, std::span<const double> matrix) {
  Loop& loop = at(index);
  check_size(matrix.size(), loop.chord.size(), "the chord matrix");
  std::copy(matrix.begin(), matrix.end(), loop.chord.begin());
}

Index Sweeps::add(const std::vector<CallOrLoop>& steps) {
  std::vector<Part> parts;
  std::vector<Call> calls;
  for (const auto& step : steps) {
    if (const auto* solve = std::get_if<SolveLoop>(&step)) {
      check_index(solve->loop, loops_.size(), "loop");
      parts.push_back({calls_.resolve(std::exchange(calls, {})), solve->loop});
    } else {
      calls.push_back(std::get<Call>(step));
    }
  }
  if (!calls.empty()) parts.push_back({calls_.resolve(calls), none});
  all_.push_back(std::move(parts));
  return all_.size() - 1;
}

Outcome Sweeps::evaluate(Index sweep) {
  check_index(sweep, all_.size(), "sweep");
  return access_.result(visit_all(sweep));
}

bool Sweeps::visit_all(Index sweep) noexcept {
  for (const Part& part : all_[sweep]) {
    if (part.calls.first != part.calls.end && !calls_.perform(part.calls)) return false;
    if (part.loop != none && !loops_.solve(part.loop)) return false;
  }
  return true;
}

}  // namespace ssptool
