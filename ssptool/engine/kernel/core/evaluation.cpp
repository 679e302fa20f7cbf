#include "evaluation.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>
#include <variant>

namespace ssptool {

CallRange Calls::resolve(const std::vector<Call>& calls) {
  const auto first = static_cast<Small>(quick_.size());
  for (const Call& call : calls) resolve(call);
  return {first, static_cast<Small>(quick_.size())};
}

void Calls::resolve(const Call& call) {
  check_index(call.instance, members_.size(), "instance");
  const Member& member = members_[call.instance];
  auto inputs = call.inputs;
  auto outputs = call.outputs;
  std::sort(inputs.begin(), inputs.end());  // neighbours can be set and got in place
  std::sort(outputs.begin(), outputs.end());
  const Variables arriving = some_of(member.inputs, inputs, "input");
  const Variables leaving = some_of(member.outputs, outputs, "output");
  const Variables set = of_type(arriving, Type::float64), got = of_type(leaving, Type::float64);
  const bool typed = set.slots.size() + got.slots.size() < inputs.size() + outputs.size();
  ResolvedCall resolved{
      access_.transfer(call.instance, set), access_.transfer(call.instance, got), by_type(arriving), by_type(leaving),
      Window(tangents_.data(), set.slots),  Window(tangents_.data(), got.slots)};
  quick_.push_back(
      {access_.quick(resolved.inputs, resolved.outputs, typed), static_cast<Small>(call.instance), wires_.set(inputs)});
  resolved_.push_back(std::move(resolved));
}

// Not inlined, so that it can use all registers.
[[gnu::noinline]] bool Calls::perform(CallRange range) noexcept {
  double* const values = slot_values_.values.data();
  const fmi::Reference* const references = access_.references();
  const QuickCall* const end = quick_.data() + range.end;
  for (const QuickCall* call = quick_.data() + range.first; call != end; ++call) {
    wires_.copy(call->wires);
    if (call->special) [[unlikely]] {
      const bool ok = perform(resolved_[static_cast<std::size_t>(call - quick_.data())]);
      members_.leave_mode(call->instance);
      if (!ok) return false;
      continue;
    }
    int status = call->set(references, values);
    if (status > fmi::warning) [[unlikely]]
      return access_.not_set(call->instance, status);
    status = call->get(references, values);
    members_.leave_mode(call->instance);
    if (status > fmi::warning) [[unlikely]]
      return access_.not_got(call->instance, status);
    if (!call->got_finite(values)) [[unlikely]]
      return access_.nonfinite(*call, call->instance);
  }
  return true;
}

bool Calls::perform(ResolvedCall& call) noexcept {
  return access_.set(call.inputs) && access_.set_typed(call.inputs.instance, call.typed_inputs, slot_values_.values) &&
         access_.get(call.outputs) && access_.get_typed(call.outputs.instance, call.typed_outputs);
}

bool Calls::propagate(CallRange range) noexcept {
  for (Small i = range.first; i < range.end; ++i) {
    wires_.copy_tangents(quick_[i].wires, tangents_.data());
    if (!propagate(resolved_[i])) return false;
  }
  return true;
}

bool Calls::propagate(ResolvedCall& call) noexcept {
  const std::span<double> sensitivity = call.output_tangents.room();
  const std::span<const double> direction = call.input_tangents.read();
  std::fill(sensitivity.begin(), sensitivity.end(), 0.0);
  if (!direction.empty() && !sensitivity.empty())
    if (const Failure failure =
            members_.instance(call.outputs.instance)
                .directional(call.outputs.references, call.inputs.references, direction, sensitivity))
      return access_.failed(call.outputs.instance, failure);
  call.output_tangents.written();
  return true;
}

Index Loops::add(const LoopCalls& calls) {
  check(calls);
  const std::size_t m = calls.torn.size();
  Loop loop{.torn = {},
            .frozen = {},
            .body = calls_.resolve(calls.body),
            .rtol = calls.rtol,
            .atol = calls.atol,
            .max_iterations = calls.max_iterations,
            .chord = std::vector<double>(m * m),
            .open = 0};
  for (std::size_t i = 0; i < m; ++i) loop.torn.push_back({calls.torn[i], calls.nominal[i]});
  for (const Slot slot : calls.frozen) loop.frozen.push_back({slot});
  for (std::size_t i = 0; i < m; ++i) loop.chord[i * m + i] = -1.0;
  all_.push_back(std::move(loop));
  return all_.size() - 1;
}

void Loops::check(const LoopCalls& calls) const {
  check_size(calls.nominal.size(), calls.torn.size(), "the list of nominal values");
  if (calls.max_iterations < 1)
    throw std::invalid_argument("max_iterations is " + std::to_string(calls.max_iterations) + ", must be at least 1");
  for (const Slot slot : calls.torn) {
    slot_values_.check(slot);
    if (slot_values_.holds_integer[slot])
      throw std::invalid_argument("slot " + std::to_string(slot) + " holds integers and cannot be torn");
  }
  for (const Slot slot : calls.frozen) {
    slot_values_.check(slot);
    if (!slot_values_.holds_integer[slot])
      throw std::invalid_argument("slot " + std::to_string(slot) + " holds a double, which is torn and not frozen");
  }
}

Loops::Loop& Loops::at(Index loop) {
  check_index(loop, all_.size(), "loop");
  return all_[loop];
}

inline bool Loops::evaluate_body(Loop& loop) noexcept {
  for (const Torn& torn : loop.torn) slot_values_.values[torn.slot] = torn.x;
  for (Frozen& frozen : loop.frozen) frozen.found = slot_values_.values[frozen.slot];
  const bool ok = calls_.perform(loop.body);
  if (!ok) [[unlikely]]
    access_.outcome.loop = number(loop);
  for (Frozen& frozen : loop.frozen) std::swap(frozen.found, slot_values_.values[frozen.slot]);
  return ok;
}

// Updates all frozen slots with their computed values; returns the first slot that has changed, or `none`.
std::size_t Loops::update_frozen_of(Loop& loop) noexcept {
  std::size_t changed = none;
  for (const Frozen& frozen : loop.frozen) {
    if (changed == none && as_integer(frozen.found) != as_integer(slot_values_.values[frozen.slot]))
      changed = frozen.slot;
    slot_values_.values[frozen.slot] = frozen.found;
  }
  return changed;
}

bool Loops::solve(Loop& loop) noexcept {
  ++solved_;
  for (Torn& torn : loop.torn) torn.x = torn.first = slot_values_.values[torn.slot];
  for (std::int64_t iteration = 0; iteration < loop.max_iterations; ++iteration) {
    ++iterations_;
    const bool evaluated = evaluate_body(loop);
    if (iterates_ != nullptr) [[unlikely]]
      note_chord(loop, iteration + 1);
    if (!evaluated) [[unlikely]] {
      // After the first iteration, the failure is caused by an iterate that has diverged.
      if (access_.outcome.code != Code::nonfinite || iteration == 0) return false;
      access_.outcome.code = Code::loop;
      return unsolved(loop);
    }
    if (converged(loop)) {
      const std::size_t changed = update_frozen_of(loop);
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

// Restores the start values for a better method, because diverged iterates are useless.
bool Loops::unsolved(const Loop& loop) noexcept {
  for (const Torn& torn : loop.torn) slot_values_.values[torn.slot] = torn.first;
  return false;
}

inline bool Loops::converged(Loop& loop) noexcept {
  bool all = true;
  for (Torn& torn : loop.torn) {
    torn.residual = slot_values_.values[torn.slot] - torn.x;
    const double tolerance = loop.atol + loop.rtol * std::max(std::abs(torn.x), torn.nominal);
    if (!(std::abs(torn.residual) <= tolerance)) {
      if (all) loop.open = torn.slot;
      all = false;
    }
  }
  return all;
}

void Loops::note_chord(const Loop& loop, std::int64_t iteration) {
  std::vector<double> x, residual;
  for (const Torn& torn : loop.torn) {
    x.push_back(torn.x);
    residual.push_back(slot_values_.values[torn.slot] - torn.x);
  }
  note(static_cast<Index>(number(loop)), "chord", iteration, x, residual);
}

void Loops::note(Index loop, std::string_view solver, std::int64_t number, std::span<const double> x,
                 std::span<const double> residual) {
  if (iterates_ != nullptr)
    iterates_->push_back({loop, std::string(solver), number, {x.begin(), x.end()}, {residual.begin(), residual.end()}});
}

std::vector<double> Loops::torn_values(Index index) {
  std::vector<double> found;
  for (const Torn& torn : at(index).torn) found.push_back(slot_values_.values[torn.slot]);
  return found;
}

std::vector<std::int64_t> Loops::frozen_values(Index index) {
  std::vector<std::int64_t> found;
  for (const Frozen& frozen : at(index).frozen) found.push_back(as_integer(slot_values_.values[frozen.slot]));
  return found;
}

double Loops::loosen(Index index, double rtol) {
  Loop& loop = at(index);
  if (rtol > loop.rtol) loop.rtol = rtol;
  return loop.rtol;
}

Outcome Loops::residual(Index index, std::span<const double> x, std::span<double> g) {
  Loop& loop = at(index);
  check_size(x.size(), loop.torn.size(), "x");
  for (std::size_t i = 0; i < x.size(); ++i) loop.torn[i].x = x[i];
  const bool ok = evaluate_body(loop);
  for (std::size_t i = 0; i < x.size(); ++i) g[i] = slot_values_.values[loop.torn[i].slot];
  return access_.result(ok);
}

Outcome Loops::jacobian_product(Index index, std::span<const double> seed, std::span<double> product) {
  Loop& loop = at(index);
  check_size(seed.size(), loop.torn.size(), "the seed");
  std::vector<double>& tangents = calls_.tangents();
  std::fill(tangents.begin(), tangents.end(), 0.0);
  for (std::size_t i = 0; i < seed.size(); ++i) tangents[loop.torn[i].slot] = seed[i];
  const bool ok = calls_.propagate(loop.body);
  if (!ok) access_.outcome.loop = number(loop);
  for (std::size_t i = 0; i < seed.size(); ++i) product[i] = tangents[loop.torn[i].slot];
  return access_.result(ok);
}

void Loops::set_chord(Index index, std::span<const double> matrix) {
  Loop& loop = at(index);
  check_size(matrix.size(), loop.chord.size(), "the chord matrix");
  std::copy(matrix.begin(), matrix.end(), loop.chord.begin());
}

Index Schedules::add(const std::vector<CallOrLoop>& steps) {
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

Outcome Schedules::evaluate(Index schedule) {
  check_index(schedule, all_.size(), "schedule");
  return access_.result(visit_all(schedule));
}

bool Schedules::visit_all(Index schedule) noexcept {
  for (const Part& part : all_[schedule]) {
    if (part.calls.first != part.calls.end && !calls_.perform(part.calls)) return false;
    if (part.loop != none && !loops_.solve(part.loop)) return false;
  }
  return true;
}

}  // namespace ssptool
