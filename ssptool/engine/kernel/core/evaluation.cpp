#include "evaluation.hpp"

#include <algorithm>
#include <utility>

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

// Not inlined, so that it has all registers.
[[gnu::noinline]] bool Calls::perform(CallRange range) noexcept {
  double* const values = cells_.values.data();
  const fmi::Reference* const references = access_.references();
  const QuickCall* const end = quick_.data() + range.end;
  for (const QuickCall* call = quick_.data() + range.first; call != end; ++call) {
    wires_.copy(call->wires);
    if (call->special) [[unlikely]] {
      if (!perform(resolved_[static_cast<std::size_t>(call - quick_.data())])) return false;
      continue;
    }
    int status = call->set(references, values);
    if (status > fmi::warning) [[unlikely]]
      return access_.not_set(call->instance, status);
    status = call->get(references, values);
    if (status > fmi::warning) [[unlikely]]
      return access_.not_got(call->instance, status);
    if (!call->got_finite(values)) [[unlikely]]
      return access_.nonfinite(*call, call->instance);
  }
  return true;
}

bool Calls::perform(ResolvedCall& call) noexcept {
  return access_.set(call.inputs) && access_.set_typed(call.inputs.instance, call.typed_inputs, cells_.values) &&
         access_.get(call.outputs) && access_.get_typed(call.outputs.instance, call.typed_outputs);
}

bool Calls::pass_on(CallRange range) noexcept {
  for (Small i = range.first; i < range.end; ++i) {
    wires_.copy_tangents(quick_[i].wires, tangents_.data());
    if (!pass_on(resolved_[i])) return false;
  }
  return true;
}

bool Calls::pass_on(ResolvedCall& call) noexcept {
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

}  // namespace ssptool
