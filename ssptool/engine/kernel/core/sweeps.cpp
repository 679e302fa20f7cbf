// Outputs made consistent at one instant: calls and loops, in order.
#include <utility>
#include <variant>

#include "checks.hpp"
#include "kernel.hpp"

namespace ssptool {

Index Kernel::sweep(const std::vector<std::variant<Call, SolveLoop>>& steps) {
  std::vector<SweepPart> parts;
  std::vector<Call> calls;
  for (const auto& step : steps) {
    if (const auto* solve = std::get_if<SolveLoop>(&step)) {
      check_index(solve->loop, loops_.size(), "loop");
      parts.push_back({resolve(std::exchange(calls, {})), solve->loop});
    } else {
      calls.push_back(std::get<Call>(step));
    }
  }
  if (!calls.empty()) parts.push_back({resolve(calls), none});
  sweeps_.push_back(std::move(parts));
  return sweeps_.size() - 1;
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

}  // namespace ssptool
