#include "iterations.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

namespace ssptool {

namespace {

void check_count(std::int64_t number, const char* what) {
  if (number < 1)
    throw std::invalid_argument(std::string(what) + " is " + std::to_string(number) + ", must be at least 1");
}

void check_measures(const IterationCalls& calls) {
  const auto& measures = calls.measures;
  if (measures.empty() || !std::ranges::all_of(measures, [](const MeasureLimit& one) { return one.limit > 0.0; }))
    throw std::invalid_argument("at least 1 measure of convergence is needed, and limits must be positive");
  if (calls.count < 0)
    throw std::invalid_argument("the number of iterations is " + std::to_string(calls.count) +
                                ", must not be negative");
  if (calls.count > 0 && (measures.size() != 1 || measures.front().kind != MeasureKind::relative))
    throw std::invalid_argument("a fixed number of iterations is judged by 1 relative measure");
}

}  // namespace

void Iterations::check(const IterationCalls& calls) const {
  for (const Index group : {calls.group, calls.following, calls.held}) check_index(group, groups_.size(), "group");
  check_index(calls.schedule, schedules_.size(), "schedule");
  for (const int order : {calls.prediction, calls.order})
    if (order != 0) check_order(order);
  check_measures(calls);
  check_count(calls.max_iterations, "max_iterations");
  check_count(calls.plain_iterations, "plain_iterations");
  if (calls.rule.kind == RuleKind::secants && (calls.rule.max_columns < 1 || calls.rule.reuse < 0))
    throw std::invalid_argument("at least 1 column is needed, and no negative number of steps");
  if (calls.rule.kind == RuleKind::anderson) check_count(calls.rule.window, "window");
  check_count(static_cast<std::int64_t>(calls.unknowns.size()), "the number of unknowns");
  check_size(calls.nominal.size(), calls.unknowns.size(), "the list of nominal values");
  for (const Slot slot : calls.unknowns) {
    slot_values_.check(slot);
    if (slot_values_.holds_integer[slot])
      throw std::invalid_argument("slot " + std::to_string(slot) + " holds integers and cannot be iterated");
  }
}

Index Iterations::add(IterationCalls calls) {
  check(calls);
  all_.push_back(std::make_unique<Repetition>(std::move(calls), attempts_));
  return all_.size() - 1;
}

Repetition& Iterations::at(Index iteration) {
  check_index(iteration, all_.size(), "iteration");
  return *all_[iteration];
}

void Iterations::set_memory(Index iteration, const IterationMemory& memory) {
  Repetition& own = at(iteration);
  std::int64_t columns = 0;
  for (const std::int64_t count : memory.secants.columns) {
    if (count < 0) throw std::invalid_argument("a step has no negative number of columns");
    columns += count;
  }
  const std::size_t numbers = static_cast<std::size_t>(columns) * own.unknowns();
  check_size(memory.secants.changes.size(), numbers, "the array of changes");
  check_size(memory.secants.answers.size(), numbers, "the array of answers");
  if (!memory.jacobian.inverse.empty())
    check_size(memory.jacobian.inverse.size(), own.unknowns() * own.unknowns(), "the inverse of the Jacobian");
  own.go_on(memory);
}

void Iterations::end(const Outcome& outcome) {
  const auto begun = static_cast<std::size_t>(outcome.steps) + (outcome.ok() ? 0 : 1);
  if (begun < counts_.size()) counts_.resize(begun);
}

Outcome Iterations::iterate(Index iteration, double t, double h) {
  const auto found = at(iteration).step({t, h});
  return found ? Outcome{.iterations = *found} : access_.outcome;
}

Trial Iterations::trial(Index iteration, double t, double h) { return at(iteration).trial({t, h}); }

bool Iterations::converge(Index iteration, const MacroStep& step) noexcept {
  const auto found = all_[iteration]->step(step);
  if (found) count(*found);
  return found.has_value();
}

}  // namespace ssptool
