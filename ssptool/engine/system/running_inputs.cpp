// Inputs of the system that vary over a communication step according to their derivatives.
#include <algorithm>
#include <cmath>

#include "system.hpp"

namespace ssptool::runtime {

namespace {

// Values that differ by less than this part of the size of an input are equal.
constexpr double same = 1e-9;

}  // namespace

void System::set_rate(std::size_t reference, int order, double rate) {
  const SystemVariable& variable = this->variable(reference);
  const bool runs = variable.causality == "input" && variable.slots.size() == 1 &&
                    !kernel_->slot_values.holds_integer[variable.slots.front()];
  if (!runs) throw Refused(Status::error, variable.name + " is not a continuous input and has no derivatives");
  if ((ode_ != nullptr || events_ != nullptr) && rate != 0.0)
    throw Refused(Status::discard, variable.name + " is held over a communication step");
  if (order < 1 || (order > 2 && rate != 0.0))
    throw Refused(Status::discard, "derivatives of order " + std::to_string(order) + " are not supported for " +
                                       variable.name + ", only those of order 1 and 2");
  if (order == 1) told_rates_[variable.slots.front()].first = rate;
  if (order == 2) told_rates_[variable.slots.front()].second = rate;
}

void System::follow_inputs(double end) {
  input_reaches_.clear();
  std::vector<SlotPolynomial> polynomials;
  for (const auto& [slot, rates] : told_rates_) {
    const double value = kernel_->slot_values.values[slot];
    const SlotPolynomial one{slot, now_, value, rates.first, rates.second};
    input_reaches_[slot] =
        std::max({std::abs(one.at(end) - value), same * std::abs(value), same * std::abs(one.at(end))});
    if (rates.first != 0.0 || rates.second != 0.0) polynomials.push_back(one);
  }
  kernel_->driven.follow(std::move(polynomials));
}

// Derivatives are valid from one communication point to the next, for which an importer sets them again.
void System::leave_inputs() {
  told_rates_.clear();
  kernel_->driven.follow({});
}

// An importer may have extrapolated with its derivatives, so its next value differs from the input's. If it differs by
// less than the input has changed over the step, the input continues; otherwise it jumps.
bool System::goes_on(Slot slot, double before) const {
  const auto reach = input_reaches_.find(slot);
  return reach != input_reaches_.end() && std::abs(kernel_->slot_values.values[slot] - before) <= reach->second;
}

}  // namespace ssptool::runtime
