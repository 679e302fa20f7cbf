#include "stepper.hpp"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

namespace ssptool {

namespace {

// Minimum duration [s] of the steps of a group in sequence above which they are done in parallel, and number of
// measurements.
constexpr double worth = 50e-6;
constexpr int trials = 3;
// Maximum number of parts of a step that an FMU has discarded.
constexpr std::int64_t most_parts = 1024;

bool is_discarded_step(const Outcome& outcome) noexcept {
  const auto is = [&](const char* function) { return std::strcmp(outcome.function, function) == 0; };
  return outcome.fmi_status == fmi::discard && (is(fmi::v2::do_step) || is(fmi::v3::do_step));
}

}  // namespace

void Stepper::add(Index index) {
  const Member& member = members_[index];
  const Variables inputs = of_type(member.inputs, Type::float64);
  double* const first = slot_values_.input_rates.data();
  StepParts parts{.value = Window(slot_values_.input_value.data(), inputs.slots),
                  .first = Window(first, inputs.slots),
                  .second = Window(first + slot_values_.size(), inputs.slots),
                  .motion = {},
                  .outputs = access_.transfer(index, of_type(member.outputs, Type::float64)),
                  .typed_inputs = by_type(member.inputs),
                  .typed_outputs = by_type(member.outputs)};
  parts.motion = {parts.value.room().data(), parts.first.room().data(), parts.second.room().data(), parts.value.size()};
  const bool typed = !parts.typed_inputs.empty() || !parts.typed_outputs.empty();
  const QuickAccess own = access_.quick(access_.transfer(index, inputs), parts.outputs, typed);
  parts.moving.resize(3 * member.substeps.moving.size());
  const bool plain = !own.special && member.substeps.count == 1;
  steps_.push_back({own, plain ? member.instance->plain_step() : nullptr});
  parts_.push_back(std::move(parts));
}

Outcome Stepper::advance(Index group, double t, double h) { return access_.result(step_all(groups_.at(group), t, h)); }

bool Stepper::step(Index index, double t, double h) noexcept {
  const Substeps& own = members_[index].substeps;
  const bool ok = own.count > 1 ? step_in_parts(index, own, t, h) : step_once(index, t, h);
  return ok || divide(index, t, h);
}

// Afterwards, inputs vary as before: if the step is repeated, driven ones do so again.
bool Stepper::step_in_parts(Index index, const Substeps& own, double t, double h) noexcept {
  SlotValues& slots = slot_values_;
  double* const first = slots.input_rates.data();
  double* const second = first + slots.size();
  std::vector<double>& before = parts_[index].moving;
  before.resize(3 * own.moving.size());
  for (std::size_t i = 0; i < own.moving.size(); ++i) {
    const Slot slot = own.moving[i];
    before[3 * i] = slots.input_value[slot];
    before[3 * i + 1] = first[slot];
    before[3 * i + 2] = second[slot];
  }
  const double size = h / static_cast<double>(own.count);
  bool ok = true;
  for (std::int64_t number = 0; ok && number < own.count; ++number) {
    const double past = static_cast<double>(number) * size;
    const double at = own.follows ? past : past + size / 2;
    for (std::size_t i = 0; i < own.moving.size(); ++i) {
      const double value = before[3 * i], rate = before[3 * i + 1], bend = before[3 * i + 2];
      slots.move(own.moving[i], value + at * (rate + (0.5 * at) * bend), own.follows ? rate + at * bend : 0.0,
                 own.follows ? bend : 0.0);
    }
    report(t + past);
    ok = step_once(index, t + past, size);
  }
  for (std::size_t i = 0; i < own.moving.size(); ++i)
    slots.move(own.moving[i], before[3 * i], before[3 * i + 1], before[3 * i + 2]);
  return ok;
}

bool Stepper::step_once(Index index, double t, double h) noexcept {
  if (steps_[index].special && !prepare(index)) [[unlikely]]
    return false;
  const Failure failure = move_on(index, t, h);
  const bool ok = failure ? access_.failed(index, failure) : collect(index);
  members_.leave_mode(index);
  return ok;
}

// After a discarded step: repeats it in more and more parts, if this may help.
bool Stepper::divide(Index index, double t, double h) noexcept {
  Substeps parts = members_[index].substeps;
  if (parts.count == 1)
    parts = {.count = 1, .follows = true, .moving = of_type(members_[index].inputs, Type::float64).slots};
  for (bool done = false; !done;) {
    if (!is_discarded_step(access_.outcome) || parts.count >= most_parts) return false;
    const bool saved = steps_[index].fresh;
    if (!members_.instance(index).may_be_divided(t, saved)) return false;
    if (saved && members_.instance(index).restore()) return false;
    parts.count *= 2;
    done = step_in_parts(index, parts, t, h);
  }
  DividedSteps& divided = parts_[index].divided;
  if (divided.steps++ == 0) divided.since = t;
  divided.most = std::max(divided.most, parts.count);
  return true;
}

// Only the step, without access to data that instances share.
inline Failure Stepper::move_on(Index index, double t, double h) const noexcept {
  const Step& own = steps_[index];
  if (own.special) [[unlikely]]
    return members_.instance(index).step(t, h, parts_[index].motion);
  const double* const first = slot_values_.input_rates.data() + own.inputs;
  return members_.instance(index).step(
      t, h, {slot_values_.input_value.data() + own.inputs, first, first + slot_values_.size(), own.input_count});
}

// Before a step, sets what is not part of its motion; after it, all outputs are got.
bool Stepper::prepare(Index index) noexcept {
  StepParts& parts = parts_[index];
  parts.gather();
  return access_.set_typed(index, parts.typed_inputs, slot_values_.input_value);
}

inline bool Stepper::collect(Index index) noexcept {
  steps_[index].fresh = false;
  if (steps_[index].special) [[unlikely]]
    return access_.get(parts_[index].outputs) && access_.get_typed(index, parts_[index].typed_outputs);
  const Step& own = steps_[index];
  const int status = own.get(access_.references(), slot_values_.values.data());
  if (status > fmi::warning) [[unlikely]]
    return access_.not_got(index, status);
  return own.got_finite(slot_values_.values.data()) || access_.nonfinite(own, index);
}

bool Stepper::step_one_by_one(const Group& group, double t, double h) noexcept {
  for (const Index index : group.instances)
    if (!step(index, t, h)) [[unlikely]]
      return false;
  return true;
}

bool Stepper::step_all(Group& group, double t, double h) noexcept {
  report(t);
  const bool alone = group.instances.size() < 2 || group.shared.empty();
  return !workers_ || alone ? step_one_by_one(group, t, h) : step_together(group, t, h);
}

bool Stepper::step_together(Group& group, double t, double h) noexcept {
  if (group.measured < trials) return step_measured(group, t, h);
  return group.seconds >= worth ? step_in_parallel(group, t, h) : step_one_by_one(group, t, h);
}

// Steps one by one, and measures the duration of those that can be shared.
bool Stepper::step_measured(Group& group, double t, double h) noexcept {
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

// Only the steps are done in parallel; copies and checks before and after them are common to all. Instances that must
// stay apart are stepped by the calling thread at the same time. No other thread changes anything except the FMUs that
// it steps; inputs, which the threads read, do not change.
bool Stepper::step_in_parallel(Group& group, double t, double h) noexcept {
  for (const Small place : group.shared)
    if (const Index index = group.instances[place]; steps_[index].special && !prepare(index)) return false;
  std::size_t stopped = none;
  workers_->share(
      group.shared.size(),
      [&](std::size_t rank) {
        const Small place = group.shared[rank];
        group.failures[place] = move_on(group.instances[place], t, h);
        members_.leave_mode(group.instances[place]);  // for this thread
      },
      [&] { stopped = step_apart(group, t, h); });
  for (std::size_t place = 0; place < group.instances.size(); ++place) {
    const Index index = group.instances[place];
    if (place == stopped) return false;  // see the outcome
    if (members_[index].apart) continue;
    if (group.failures[place]) access_.failed(index, group.failures[place]);
    if (group.failures[place] ? !divide(index, t, h) : !collect(index)) return false;
    members_.leave_mode(index);
  }
  return true;
}

// Returns the place of the instance that failed, or `none`.
std::size_t Stepper::step_apart(const Group& group, double t, double h) noexcept {
  for (std::size_t place = 0; place < group.instances.size(); ++place)
    if (const Index index = group.instances[place]; members_[index].apart && !step(index, t, h)) return place;
  return none;
}

void Stepper::use_threads(std::size_t count) {
  if (count < 1) throw std::invalid_argument("at least 1 thread is needed");
  workers_ = count > 1 ? std::make_unique<Workers>(count) : nullptr;
}

Outcome Stepper::save(Index group) { return access_.result(save_all(groups_.at(group))); }

bool Stepper::save_all(const Group& group) noexcept {
  for (const Index index : group.instances) {
    const Failure failure = members_.instance(index).save();
    members_.leave_mode(index);
    steps_[index].saved = steps_[index].fresh = members_.instance(index).has_saved_state();
    if (failure) return access_.failed(index, failure);
  }
  return true;
}

Outcome Stepper::restore(Index group) {
  check_saved(groups_.at(group));
  return access_.result(restore_all(groups_.at(group)));
}

void Stepper::check_saved(const Group& group) const {
  for (const Index index : group.instances)
    if (!members_.instance(index).has_saved_state())
      throw std::invalid_argument("no state of instance " + std::to_string(index) + " was saved");
}

bool Stepper::restore_all(const Group& group) noexcept {
  for (const Index index : group.instances) {
    if (const Failure failure = members_.instance(index).restore()) return access_.failed(index, failure);
    steps_[index].fresh = true;
  }
  return true;
}

void Stepper::release() noexcept {
  for (Instance* const instance : members_.instances()) instance->release();
  for (Step& own : steps_) own.saved = own.fresh = false;
}

void Stepper::prepare_fast(const Group& group, bool on_lines) noexcept {
  for (const Index index : group.instances) {
    Step& own = steps_[index];
    own.on_lines = on_lines;
    own.told = true;  // rates may have been set in the first step
    if (members_[index].driven || members_[index].still) own.plain_step = nullptr;
  }
}

bool Stepper::step_all_fast(const Group& group, double t, double h) noexcept {
  report(t);
  const History::Point &now = history_[0], &before = history_[1];
  const Line line{now.values.data(), before.values.data(), now.t - before.t};
  for (const Index index : group.instances) {
    Step& own = steps_[index];
    const bool ok = own.plain_step != nullptr ? step_fast(own, index, line, t, h) : step_otherwise(index, t, h);
    if (!ok) [[unlikely]]
      return false;
  }
  return true;
}

inline bool Stepper::step_fast(Step& own, Index index, const Line& line, double t, double h) noexcept {
  int status = own.set(access_.references(), own.on_lines ? line.now : slot_values_.values.data());
  if (status > fmi::warning) [[unlikely]]
    return access_.not_set(index, status);
  if (own.on_lines && follow(own, line))
    if (const Failure failure =
            members_.instance(index).tell(t, slot_values_.input_rates.data() + own.inputs, own.told)) [[unlikely]]
      return retreat(own, index, failure, t, h);
  status = own.plain_step(own.reals.component(), t, h, own.saved ? 0 : 1);
  if (status > fmi::warning) [[unlikely]]
    return discarded(own, index, status, t, h);
  own.fresh = false;
  status = own.get(access_.references(), slot_values_.values.data());
  members_.leave_mode(index);
  if (status > fmi::warning) [[unlikely]]
    return access_.not_got(index, status);
  return own.got_finite(slot_values_.values.data()) || access_.nonfinite(own, index);
}

// Computes derivatives of the inputs; returns whether they must be set in the FMU, because some are not zero, or were
// not.
inline bool Stepper::follow(Step& own, const Line& line) noexcept {
  double* const rates = slot_values_.input_rates.data() + own.inputs;
  const double *const now = line.now + own.inputs, *const before = line.before + own.inputs;
  bool moving = false;
  for (std::size_t i = 0; i < own.input_count; ++i) {
    rates[i] = (now[i] - before[i]) / line.h;
    moving = moving || rates[i] != 0.0;
  }
  return std::exchange(own.told, moving) || moving;
}

// When a step is done in parts, inputs are at other places.
bool Stepper::discarded(const Step& own, Index index, int status, double t, double h) noexcept {
  access_.failed(index, {fmi::v2::do_step, status});
  set_inputs(own, index);
  return divide(index, t, h);
}

// The FMU does not support linear inputs any more.
bool Stepper::retreat(Step& own, Index index, const Failure& failure, double t, double h) noexcept {
  if (members_.instance(index).following().order > 0) return access_.failed(index, failure);
  own.plain_step = nullptr;
  return step_otherwise(index, t, h);
}

// For instances that need more.
bool Stepper::step_otherwise(Index index, double t, double h) noexcept {
  set_inputs(steps_[index], index);
  return step(index, t, h);
}

void Stepper::set_inputs(const Step& own, Index index) noexcept {
  const InputSlots& slots = members_[index].input_slots;
  if (own.on_lines)
    inputs_.extrapolate_slots(slots, 1);
  else
    inputs_.hold_slots(slots);
}

}  // namespace ssptool
