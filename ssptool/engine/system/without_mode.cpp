// Parts of FMI 1.0, which have no initialization mode: each is initialized when the evaluation reaches it first, and
// again if its inputs change later. The same algorithm is in engine/run/initialization.py.
#include <algorithm>
#include <cmath>

#include "system.hpp"

namespace ssptool::runtime {

namespace {

// These constants are explained in initialization.py and schedule.py.
constexpr std::size_t rounds = 50;
constexpr double rtol = 1e-12;

bool differ(const Value& one, const Value& other, double nominal) {
  const auto *number = std::get_if<double>(&one), *before = std::get_if<double>(&other);
  if (number == nullptr || before == nullptr) return one != other;
  return !(std::abs(*number - *before) <= rtol * std::max(std::abs(*number), nominal));
}

std::vector<Call> calls_of(const ScheduleStep& step, const std::vector<PlannedLoop>& loops) {
  if (const auto* call = std::get_if<Call>(&step)) return {*call};
  return loops[std::get<Index>(step)].calls.body;
}

}  // namespace

void System::settle_without_mode() {
  const LoopMethod method = plan_.init;
  if (std::ranges::all_of(beginnings_, [](const auto& one) { return one.second.begun; }))
    walk(initialization_, method);
  else
    begin_along_the_schedule(method);
  std::vector<std::string> changed;
  for (std::size_t round = 0; round < rounds + beginnings_.size(); ++round) {
    changed = renew();
    if (changed.empty()) return;
    solved_.clear();
    walk(initialization_, method);
  }
  const std::string message = "after " + std::to_string(rounds + beginnings_.size()) +
                              " rounds, initial inputs of FMUs of FMI 1.0 still change: " + joined(changed);
  throw Refused(Status::error, message, {{}, {}, 0, {}, now_, {}, Unsettled::inputs_without_mode, std::move(changed)});
}

void System::begin_along_the_schedule(LoopMethod method) {
  for (const auto& [slot, value] : plan_.constants) known_.insert(slot);
  for (const ScheduleStep& step : plan_.initialization) {
    const std::vector<Call> calls = calls_of(step, plan_.loops);
    for (const Call& call : calls) begin(call.instance);
    walk(prepared({step}, *kernel_), method);
    for (const Call& call : calls) known_.insert(call.outputs.begin(), call.outputs.end());
  }
  for (auto& [part, own] : beginnings_) begin(part);
}

// Initializes a part with the inputs that are known so far.
void System::begin(Index number) {
  const auto found = beginnings_.find(number);
  if (found == beginnings_.end() || found->second.begun) return;
  Beginning& own = found->second;
  kernel_->wires.copy(own.wires);
  set_starts(number);
  std::set<Slot> fed;
  for (const Wire& wire : plan_.wires)
    if (known_.contains(wire.source)) fed.insert(wire.destination);
  std::map<Slot, Value> inputs = inputs_of(number);
  std::erase_if(inputs, [&](const auto& one) { return !fed.contains(one.first); });
  initialize(number, inputs);
  own.with = inputs_within(number, inputs);
  for (const auto& [slot, value] : own.with) write(slot, value);
}

// Inputs as the part has them or, if they cannot be got, as they were set or are stated.
std::map<Slot, Value> System::inputs_within(Index number, const std::map<Slot, Value>& set) {
  const PlannedPart& plan = plan_.parts[number];
  std::map<Slot, Value> found;
  try {
    for (const VariableSet& asked : plan.input_sets) {
      const std::vector<Value> values = parts_[number]->get(asked);
      for (std::size_t i = 0; i < values.size(); ++i) found[asked.slots[i]] = values[i];
    }
    return found;
  } catch (const Refused& refused) {
    if (refused.status == Status::fatal) throw;
  }
  const std::map<Slot, Value> stated(plan.stated.begin(), plan.stated.end());
  for (const Slot slot : plan.inputs.slots) found[slot] = set.contains(slot) ? set.at(slot) : stated.at(slot);
  return found;
}

// Sets start values, including those that were given to the system.
void System::set_starts(Index number) {
  for (const VariableSet& start : plan_.parts[number].starts) parts_[number]->set(start);
  for (const auto& [variable, values] : beginnings_.at(number).given) set_in_part(variable, values, nullptr);
}

void System::initialize(Index number, const std::map<Slot, Value>& inputs) {
  for (const VariableSet& all : plan_.parts[number].input_sets) {
    VariableSet chosen{all.suffix, {}, {}, {}};
    for (std::size_t i = 0; i < all.slots.size(); ++i)
      if (const auto input = inputs.find(all.slots[i]); input != inputs.end()) {
        chosen.references.push_back(all.references[i]);
        chosen.values.push_back(input->second);
      }
    if (!chosen.references.empty()) parts_[number]->set(chosen);
  }
  parts_[number]->enter_initialization(experiment_);
  kernel_->members.leave_mode(number);
  beginnings_[number].begun = true;
  beginnings_[number].outdated = false;
}

// Initializes parts again whose inputs have changed, and returns the names of these inputs, or of parts.
std::vector<std::string> System::renew() {
  std::vector<std::string> found;
  for (auto& [number, own] : beginnings_) {
    const PlannedPart& plan = plan_.parts[number];
    kernel_->wires.copy(own.wires);
    std::map<Slot, Value> now = inputs_of(number);
    std::vector<std::string> changed;
    for (const auto& [slot, value] : now)
      if (differ(value, own.with.at(slot), plan.nominal.at(slot))) changed.push_back(plan_.signals[slot]);
    if (own.outdated) changed.push_back(plan.name);
    if (changed.empty()) continue;
    try {
      parts_[number]->reset();
    } catch (const Refused& refused) {
      Refusal facts = refused.refusal;
      for (const auto& [slot, value] : now)
        if (value != own.with.at(slot)) facts.names.push_back(plan_.signals[slot]);
      throw Refused(refused.status,
                    std::string(refused.what()) +
                        "; its inputs changed after its initialization, so it must be initialized again: FMI 1.0 has "
                        "no initialization mode",
                    std::move(facts));
    }
    set_starts(number);
    initialize(number, now);
    own.with = std::move(now);
    found.insert(found.end(), changed.begin(), changed.end());
  }
  return found;
}

std::map<Slot, Value> System::inputs_of(Index number) const {
  std::map<Slot, Value> found;
  for (const Slot slot : plan_.parts[number].inputs.slots) found[slot] = read(slot);
  return found;
}

}  // namespace ssptool::runtime
