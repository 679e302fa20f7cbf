// Steps of instances, and their saved states.
#include <algorithm>
#include <chrono>
#include <stdexcept>

#include "kernel.hpp"
#include "prefetch.hpp"

namespace ssptool {

namespace {

// A group is stepped in parallel if its steps, one after the other, take so long at least [s]; so many are measured.
constexpr double worth = 50e-6;
constexpr int trials = 3;

}  // namespace

Outcome Kernel::advance(Index group, double t, double h) { return result(step_all(checked_group(group), t, h)); }

bool Kernel::step(Index index, double t, double h) noexcept {
  if (steppers_[index].special && !prepare(index)) [[unlikely]]
    return false;
  const Failure failure = move_on(index, t, h);
  if (failure) [[unlikely]]
    return failed(index, failure);
  return collect(index);
}

// The step alone, with nothing that instances share.
inline Failure Kernel::move_on(Index index, double t, double h) const noexcept {
  const Stepper& stepper = steppers_[index];
  if (stepper.special) [[unlikely]]
    return instances_[index]->step(t, h, step_parts_[index].motion);
  const double* const first = input_rates_.data() + stepper.inputs;
  return instances_[index]->step(
      t, h, {input_value_.data() + stepper.inputs, first, first + values_.size(), stepper.input_count});
}

// Around a step: what is not part of its motion is set before it, all outputs are got after it.
bool Kernel::prepare(Index index) noexcept {
  StepParts& parts = step_parts_[index];
  parts.gather();
  return set_typed(index, parts.typed_inputs, input_value_);
}

inline bool Kernel::collect(Index index) noexcept {
  if (steppers_[index].special) [[unlikely]]
    return get(step_parts_[index].outputs) && get_typed(index, step_parts_[index].typed_outputs);
  const Stepper& stepper = steppers_[index];
  const int status = stepper.get(references_.data(), values_.data());
  if (status > fmi::warning) [[unlikely]]
    return not_got(index, status);
  return stepper.got_finite(values_.data()) || nonfinite(stepper, index);
}

bool Kernel::step_one_by_one(const Group& group, double t, double h) noexcept {
  const Prefetch ahead(group.instances);
  for (const Small& index : group.instances) {
    ahead.of(&index, [this](Small other) { return steppers_[other].reals.component(); });
    if (!step(index, t, h)) [[unlikely]]
      return false;
  }
  return true;
}

bool Kernel::step_all(Group& group, double t, double h) noexcept {
  report(t);
  const bool alone = group.instances.size() < 2 || group.shared.empty();
  return !workers_ || alone ? step_one_by_one(group, t, h) : step_together(group, t, h);
}

bool Kernel::step_together(Group& group, double t, double h) noexcept {
  if (group.measured < trials) return step_measured(group, t, h);
  return group.seconds >= worth ? step_in_parallel(group, t, h) : step_one_by_one(group, t, h);
}

// One by one, with a look at how long those take that can be shared.
bool Kernel::step_measured(Group& group, double t, double h) noexcept {
  using Clock = std::chrono::steady_clock;
  std::chrono::duration<double> apart{};
  const auto began = Clock::now();
  for (const Index index : group.instances) {
    const bool own = members_[index].apart;
    const auto from = own ? Clock::now() : began;
    if (!step(index, t, h)) return false;
    if (own) apart += Clock::now() - from;
  }
  const double seconds = (Clock::now() - began - apart).count();
  group.seconds = group.measured++ == 0 ? seconds : std::min(group.seconds, seconds);
  return true;
}

// Only the steps are: what is copied and checked before and after them is shared by all. Instances that are apart are
// stepped as ever meanwhile, since no other thread touches anything but the FMUs that it steps: inputs, which it reads,
// stay as they are.
bool Kernel::step_in_parallel(Group& group, double t, double h) noexcept {
  for (const Small place : group.shared)
    if (const Index index = group.instances[place]; steppers_[index].special && !prepare(index)) return false;
  std::size_t stopped = none;
  workers_->share(
      group.shared.size(),
      [&](std::size_t rank) {
        const Small place = group.shared[rank];
        group.failures[place] = move_on(group.instances[place], t, h);
      },
      [&] { stopped = step_apart(group, t, h); });
  for (std::size_t place = 0; place < group.instances.size(); ++place) {
    const Index index = group.instances[place];
    if (place == stopped) return false;  // as outcome_ says
    if (members_[index].apart) continue;
    if (group.failures[place]) return failed(index, group.failures[place]);
    if (!collect(index)) return false;
  }
  return true;
}

// The place of the one that failed, or `none`.
std::size_t Kernel::step_apart(const Group& group, double t, double h) noexcept {
  for (std::size_t place = 0; place < group.instances.size(); ++place)
    if (const Index index = group.instances[place]; members_[index].apart && !step(index, t, h)) return place;
  return none;
}

void Kernel::use_threads(std::size_t count) {
  if (count < 1) throw std::invalid_argument("at least 1 thread is needed");
  workers_ = count > 1 ? std::make_unique<Workers>(count) : nullptr;
}

Outcome Kernel::save(Index group) { return result(save_all(checked_group(group))); }

bool Kernel::save_all(const Group& group) noexcept {
  for (const Index index : group.instances) {
    const Failure failure = instances_[index]->save();
    steppers_[index].saved = instances_[index]->has_saved_state();
    if (failure) return failed(index, failure);
  }
  return true;
}

Outcome Kernel::restore(Index group) {
  for (const Index index : checked_group(group).instances)
    if (!instances_[index]->has_saved_state())
      throw std::invalid_argument("no state of instance " + std::to_string(index) + " was saved");
  return result(restore_all(checked_group(group)));
}

bool Kernel::restore_all(const Group& group) noexcept {
  for (const Index index : group.instances)
    if (const Failure failure = instances_[index]->restore()) return failed(index, failure);
  return true;
}

void Kernel::release() noexcept {
  for (Instance* const instance : instances_) instance->release();
  for (Stepper& stepper : steppers_) stepper.saved = false;
}

}  // namespace ssptool
