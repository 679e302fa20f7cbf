// Undeclared feedthrough: found by changing inputs at the first point and observing outputs.
#include "feedthrough.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "system.hpp"

namespace ssptool::runtime {

namespace {

// Change of an input, and smallest change of an output that counts; both relative to the larger of size and nominal
// value.
constexpr double probe = 1e-3, moved_by = 1e-9;

bool differ(double one, double other, const DeniedEnd& end) {
  return !(std::abs(one - other) <= moved_by * size(one, end));
}

// A part with some of its inputs and outputs.
class Asked {
 public:
  Asked(Part& part, const DeniedFeedthrough& denied) : part_(part), denied_(denied) {}

  void set(const std::vector<Index>& inputs, const std::vector<double>& values) {
    part_.set(variables(denied_.inputs, inputs, values));
  }
  [[nodiscard]] std::vector<double> get(const std::vector<Index>& outputs) {
    std::vector<double> found;
    for (const Value& value : part_.get(variables(denied_.outputs, outputs, {})))
      found.push_back(std::get<double>(value));
    return found;
  }

 private:
  [[nodiscard]] VariableSet variables(const std::vector<DeniedEnd>& ends, const std::vector<Index>& which,
                                      const std::vector<double>& values) const {
    VariableSet found{denied_.type, {}, {values.begin(), values.end()}, {}};
    for (const Index one : which) found.references.push_back(ends[one].reference);
    return found;
  }

  Part& part_;
  const DeniedFeedthrough& denied_;
};

// Does something that the run does not depend on. After status fatal, no function may be called any more.
bool done(const std::function<void()>& act) {
  try {
    act();
    return true;
  } catch (const Refused& refused) {
    if (refused.status == Status::fatal) throw;
    return false;
  }
}

std::vector<Index> every(const std::vector<DeniedEnd>& ends) {
  std::vector<Index> found(ends.size());
  for (Index i = 0; i < found.size(); ++i) found[i] = i;
  return found;
}

}  // namespace

// Changes inputs from a saved state, first all at once, because usually no output changes.
void System::probe_feedthrough(const DeniedFeedthrough& denied, std::vector<FoundFeedthrough>& found) {
  Part& part = *parts_[denied.part];
  Asked asked(part, denied);
  const auto present = [&](const DeniedEnd& end) { return kernel_->slot_values.values[end.slot]; };
  fmi::State state = nullptr;
  if (!done([&] { state = part.save_state(); })) return;
  std::vector<double> before;
  for (const DeniedEnd& output : denied.outputs) before.push_back(present(output));
  const auto moved = [&](const std::vector<Index>& inputs, const std::vector<Index>& outputs) {
    std::vector<double> values, own, after;
    for (const Index one : inputs) {
      own.push_back(present(denied.inputs[one]));
      values.push_back(beside(own.back(), denied.inputs[one], one, probe));
    }
    done([&] {
      asked.set(inputs, values);
      after = asked.get(outputs);
    });
    if (!done([&] { part.restore_state(state); })) asked.set(inputs, own);
    std::vector<Index> which;
    for (std::size_t i = 0; i < after.size(); ++i)
      if (differ(before[outputs[i]], after[i], denied.outputs[outputs[i]])) which.push_back(outputs[i]);
    return which;
  };
  if (!moved(every(denied.inputs), every(denied.outputs)).empty()) {
    before = asked.get(every(denied.outputs));  // the slots may have values from before the inputs were set
    for (Index input = 0; input < denied.inputs.size(); ++input)
      for (const Index output : moved({input}, denied.inputs[input].outputs))
        found.push_back({denied.inputs[input].slot, denied.outputs[output].slot});
  }
  part.release_state(state);
}

// Inputs get the values of their sources, as before the first step.
void System::exchange_denied(const DeniedFeedthrough& denied, std::vector<FoundFeedthrough>& found) {
  std::vector<double>& slots = kernel_->slot_values.values;
  std::vector<Index> changed;
  std::vector<double> values;
  std::vector<bool> may_move(denied.outputs.size());
  for (Index one = 0; one < denied.inputs.size(); ++one) {
    const DeniedEnd& input = denied.inputs[one];
    const double before = slots[input.slot];
    kernel_->wires.copy(kernel_->wires.set(std::span(&input.slot, 1)));
    const double now = std::exchange(slots[input.slot], before);
    if (!differ(before, now, input)) continue;
    changed.push_back(one);
    values.push_back(now);
    for (const Index output : input.outputs) may_move[output] = true;
  }
  std::vector<Index> outputs;
  for (Index output = 0; output < may_move.size(); ++output)
    if (may_move[output]) outputs.push_back(output);
  if (outputs.empty()) return;
  Asked asked(*parts_[denied.part], denied);
  std::vector<double> before, after;
  done([&] {
    before = asked.get(outputs);
    asked.set(changed, values);
    after = asked.get(outputs);
  });
  for (std::size_t i = 0; i < after.size(); ++i)
    may_move[outputs[i]] = differ(before[i], after[i], denied.outputs[outputs[i]]);
  if (after.empty()) return;
  for (const Index input : changed)
    for (const Index output : denied.inputs[input].outputs)
      if (may_move[output]) found.push_back({denied.inputs[input].slot, denied.outputs[output].slot});
}

std::vector<FoundFeedthrough> System::undeclared_feedthrough(const std::vector<DeniedFeedthrough>& denied) {
  std::vector<FoundFeedthrough> found;
  for (const DeniedFeedthrough& one : denied) {
    one.saves_state ? probe_feedthrough(one, found) : exchange_denied(one, found);
    kernel_->members.leave_mode(one.part);
  }
  return found;
}

}  // namespace ssptool::runtime
