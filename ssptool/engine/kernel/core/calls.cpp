// Calls at one instant, without a step.
#include <algorithm>
#include <utility>

#include "checks.hpp"
#include "kernel.hpp"

namespace ssptool {

Kernel::CallRange Kernel::resolve(const std::vector<Call>& calls) {
  const auto first = static_cast<Small>(calls_.size());
  for (const Call& call : calls) resolve(call);
  return {first, static_cast<Small>(calls_.size())};
}

void Kernel::resolve(const Call& call) {
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
      transfer(call.instance, set),       transfer(call.instance, got),      by_type(arriving), by_type(leaving),
      Window(tangent_.data(), set.slots), Window(tangent_.data(), got.slots)};
  calls_.push_back(
      {access(resolved.inputs, resolved.outputs, typed), static_cast<Small>(call.instance), wires_.set(inputs)});
  resolved_calls_.push_back(std::move(resolved));
}

// Not inlined, so that it has all registers.
[[gnu::noinline]] bool Kernel::perform(CallRange range) noexcept {
  double* const values = values_.data();
  const fmi::Reference* const references = references_.data();
  const QuickCall* const end = calls_.data() + range.end;
  for (const QuickCall* call = calls_.data() + range.first; call != end; ++call) {
    wires_.copy(call->wires, values);
    if (call->special) [[unlikely]] {
      if (!perform(resolved_calls_[static_cast<std::size_t>(call - calls_.data())])) return false;
      continue;
    }
    int status = call->set(references, values);
    if (status > fmi::warning) [[unlikely]]
      return not_set(call->instance, status);
    status = call->get(references, values);
    if (status > fmi::warning) [[unlikely]]
      return not_got(call->instance, status);
    if (!call->got_finite(values)) [[unlikely]]
      return nonfinite(*call, call->instance);
  }
  return true;
}

bool Kernel::perform(ResolvedCall& call) noexcept {
  return set(call.inputs) && set_typed(call.inputs.instance, call.typed_inputs, values_) && get(call.outputs) &&
         get_typed(call.outputs.instance, call.typed_outputs);
}

// The tangents of the outputs from those of the inputs.
bool Kernel::pass_on(ResolvedCall& call) noexcept {
  const std::span<double> sensitivity = call.output_tangents.room();
  const std::span<const double> direction = call.input_tangents.read();
  std::fill(sensitivity.begin(), sensitivity.end(), 0.0);
  if (!direction.empty() && !sensitivity.empty())
    if (const Failure failure = instances_[call.outputs.instance]->directional(
            call.outputs.references, call.inputs.references, direction, sensitivity))
      return failed(call.outputs.instance, failure);
  call.output_tangents.written();
  return true;
}

}  // namespace ssptool
