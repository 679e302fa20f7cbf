#include "derivatives.hpp"

#include <algorithm>
#include <utility>

#include "../kernel/core/dense.hpp"

namespace ssptool::runtime {

namespace {

bool is_continuous(Type type) { return type == Type::float64 || type == Type::held; }

// References of the variables in some slots (default: all) that have a derivative; an array has one reference for all
// its elements.
struct Chosen {
  std::vector<fmi::Reference> references;
  std::vector<Slot> slots;
};

Chosen chosen(const Variables& variables, const std::vector<Slot>* slots) {
  Chosen found;
  for (std::size_t i = 0; i < variables.slots.size(); ++i) {
    const bool wanted = slots == nullptr || std::ranges::find(*slots, variables.slots[i]) != slots->end();
    if (!wanted || !is_continuous(variables.types[i])) continue;
    if (variables.elements[i] == 0) found.references.push_back(variables.references[i]);
    found.slots.push_back(variables.slots[i]);
  }
  return found;
}

}  // namespace

Tangents::Tangents(const Plan& plan, const std::vector<std::unique_ptr<Part>>& parts, std::vector<double> direction,
                   std::vector<double> states)
    : plan_(plan), parts_(parts), into_(plan.slots), values_(std::move(direction)), states_(std::move(states)) {
  for (const Wire& wire : plan.wires) into_[wire.destination] = &wire;
  std::size_t first = 0;
  for (const PlannedPart& part : plan.parts) {
    first_state_.push_back(first);
    first += part.exchange ? part.exchange->states : 0;
  }
}

void Tangents::follow(const Schedule& schedule) {
  for (const ScheduleStep& step : schedule)
    if (const auto* call = std::get_if<Call>(&step))
      follow(*call);
    else
      follow(plan_.loops.at(std::get<Index>(step)));
}

void Tangents::carry(Slot destination) {
  if (const Wire* const wire = into_[destination]) values_[destination] = wire->factor * values_[wire->source];
}

void Tangents::follow(const Call& call) {
  for (const Slot slot : call.inputs) carry(slot);
  const Chosen unknowns = chosen(parts_.at(call.instance)->plan().outputs, &call.outputs);
  if (unknowns.slots.empty()) return;
  const std::vector<double> found = of_part(call.instance, unknowns.references, unknowns.slots.size());
  for (std::size_t i = 0; i < found.size(); ++i) values_[unknowns.slots[i]] = found[i];
}

// Values that an earlier call has set in the part still act, so they are included.
std::vector<double> Tangents::of_part(Index number, const std::vector<fmi::Reference>& unknowns,
                                      std::size_t count) const {
  Part& part = *parts_.at(number);
  Chosen knowns = chosen(part.plan().inputs, nullptr);
  std::vector<double> seed;
  for (const Slot slot : knowns.slots) seed.push_back(values_[slot]);
  if (part.plan().exchange && !states_.empty()) {
    const std::vector<fmi::Reference>& states = part.plan().exchange->known_states;
    knowns.references.insert(knowns.references.end(), states.begin(), states.end());
    const auto first = states_.begin() + static_cast<std::ptrdiff_t>(first_state_[number]);
    seed.insert(seed.end(), first, first + static_cast<std::ptrdiff_t>(part.plan().exchange->states));
  }
  if (std::ranges::all_of(seed, [](double one) { return one == 0.0; })) return std::vector<double>(count);
  return part.directional(unknowns, count, knowns.references, seed);
}

std::vector<double> Tangents::slopes() const {
  std::vector<double> found;
  for (Index number = 0; number < plan_.parts.size(); ++number) {
    const auto& exchange = plan_.parts[number].exchange;
    if (!exchange || exchange->states == 0) continue;
    const std::vector<double> own = of_part(number, exchange->derivatives, exchange->states);
    found.insert(found.end(), own.begin(), own.end());
  }
  return found;
}

// The changes z of the torn signals solve z = J z + b; b is the change that returns around the loop for z = 0.
void Tangents::follow(const PlannedLoop& loop) {
  const std::size_t m = loop.calls.torn.size();
  const std::vector<double> from_outside = around(loop, std::vector<double>(m));
  DenseMatrix system(m, m);
  for (std::size_t column = 0; column < m; ++column) {
    std::vector<double> unit(m);
    unit[column] = 1.0;
    const std::vector<double> found = around(loop, unit);
    for (std::size_t row = 0; row < m; ++row)
      system(row, column) = (row == column ? 1.0 : 0.0) - (found[row] - from_outside[row]);
  }
  const FullPivotLu lu(system);
  if (lu.rank() < m)
    throw Refused(Status::error, "an algebraic loop has no derivatives here: its Jacobian is singular");
  around(loop, lu.solve(from_outside));
}

std::vector<double> Tangents::around(const PlannedLoop& loop, const std::vector<double>& guess) {
  const std::vector<Slot>& torn = loop.calls.torn;
  for (std::size_t i = 0; i < torn.size(); ++i) values_[torn[i]] = guess[i];
  for (const Call& call : loop.calls.body) follow(call);
  std::vector<double> found;
  for (const Slot slot : torn) found.push_back(values_[slot]);
  return found;
}

void Tangents::arrive() {
  for (const Wire& wire : plan_.wires) {
    const bool to_part = std::ranges::any_of(plan_.parts, [&](const PlannedPart& part) {
      return std::ranges::find(part.inputs.slots, wire.destination) != part.inputs.slots.end();
    });
    if (!to_part) carry(wire.destination);
  }
}

}  // namespace ssptool::runtime
