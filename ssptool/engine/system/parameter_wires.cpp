// Values that parts calculate for parameters and inputs of others, passed on until nothing changes.
#include <algorithm>
#include <numeric>

#include "system.hpp"

namespace ssptool::runtime {

namespace {

// Maximum number of changes of one parameter in a propagation; above this, it does not settle.
constexpr int max_passes = 100;

// A floating-point variable also accepts integers.
Value fitting(const std::string& suffix, Value value) {
  const bool real = suffix == "Real" || suffix == "Float64" || suffix == "Float32";
  if (const auto* integer = std::get_if<std::int64_t>(&value); real && integer != nullptr)
    return static_cast<double>(*integer);
  return value;
}

}  // namespace

// In initialization mode, all parts may have changed, and every destination is set again, because parameters may not be
// read there. During steps, only tunable parameters change.
void System::propagate() {
  if (plan_.parameter_wires.empty()) return;
  std::vector<Index> everyone(parts_.size());
  std::iota(everyone.begin(), everyone.end(), Index{0});
  propagate(everyone);
}

void System::propagate(std::vector<Index>& waiting) {
  const bool at_start = phase_ == Phase::initialization;
  std::vector<std::optional<Value>> given(plan_.parameter_wires.size());
  std::vector<int> times(plan_.parameter_wires.size());
  std::vector<Index> changed;
  while (!waiting.empty()) {
    const Index part = waiting.front();
    waiting.erase(waiting.begin());
    for (std::size_t i = 0; i < plan_.parameter_wires.size(); ++i) {
      const ParameterWire& wire = plan_.parameter_wires[i];
      if (wire.from.part != part || (!at_start && !wire.tunable)) continue;
      Value value = fitting(wire.to.suffix, wire.conversion.carry(get_of_part(wire.from).front()));
      kernel_->members.leave_mode(part);
      if (at_start ? given[i] == value : get_of_part(wire.to).front() == value) continue;
      if (wire.slot) write(*wire.slot, value);
      if (wire.slot && inside_ != nullptr)
        inside_->slot_values.values[*wire.slot] = in_slot(*wire.slot, value, *inside_);
      set_in_part(wire.to, {value}, nullptr);
      kernel_->members.leave_mode(wire.to.part);
      given[i] = std::move(value);
      if (std::ranges::find(waiting, wire.to.part) == waiting.end()) waiting.push_back(wire.to.part);
      if (++times[i] == 1) changed.push_back(i);
      if (times[i] > max_passes) throw endless(changed, times);
    }
  }
}

// All parameters of a loop change about equally often; they are named in the order of their first changes.
Refused System::endless(const std::vector<Index>& changed, const std::vector<int>& times) const {
  std::vector<std::string> names;
  for (const Index i : changed)
    if (2 * times[i] > max_passes) names.push_back(plan_.parameter_wires[i].destination);
  return {Status::error,
          "parameters that are calculated from each other do not settle, after " + std::to_string(max_passes) +
              " passes: " + joined(names),
          {{}, {}, 0, {}, now_, {}, Unsettled::parameters, names}};
}

}  // namespace ssptool::runtime
