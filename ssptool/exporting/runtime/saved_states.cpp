// Save and restore the complete state of a system.
#include <algorithm>
#include <utility>

#include "system.hpp"

namespace ssptool::runtime {

// An integration goes on from here as from the restored state, so that both lead to the same.
std::unique_ptr<SystemState> System::save() {
  if (ode_ != nullptr) settle();
  auto state = std::make_unique<SystemState>();
  state->phase = phase_;
  state->experiment = experiment_;
  state->now = now_;
  state->changed = changed_;
  state->given = given_;
  state->second_guesses = second_guesses_;
  const SlotValues& slots = kernel_->slot_values;
  state->slots = contents(slots.values);
  state->input_value = slots.input_value;
  state->input_rates = slots.input_rates;
  for (const History::Point& point : kernel_->history.all()) state->points.push_back({point.t, contents(point.values)});
  for (Index i = 0; i < kernel_->iterations.size(); ++i)
    state->iterations.push_back({kernel_->iterations.memory(i), kernel_->iterations.accepted(i)});
  for (const Index loop : loops_)
    if (phase_ >= Phase::stepping && loop != none)
      state->loops.push_back({kernel_->loops.convergence(loop).rtol, kernel_->loops.chord(loop)});
  if (events_ != nullptr) state->events = saved_events();
  for (Index i = 0; i < parts_.size(); ++i) state->instances.push_back(kernel_->members.instance(i).memory());
  if (phase_ == Phase::exchange) state->continuous = ode_->continuous->save();
  if (ode_ != nullptr && ode_->integration != nullptr) {
    state->integration = ode_->integration->position(now_);
    ode_->integration->go_to(*state->integration);
  }
  try {
    for (const auto& part : parts_) state->parts.push_back(part->save_state());
  } catch (...) {
    release(*state);
    throw;
  }
  return state;
}

void System::restore(const SystemState& state) {
  // What is registered with the kernel belongs to a phase.
  experiment_ = state.experiment;
  if (phase_ != state.phase) build_kernel();
  if (state.phase != Phase::instantiated) make_events();
  for (Index i = 0; i < parts_.size(); ++i) parts_[i]->restore_state(state.parts[i]);
  if (phase_ != state.phase && state.phase >= Phase::stepping) {
    register_loops();
    couple();
  }
  phase_ = state.phase;
  if (events_ != nullptr) restore_events(state.events);
  now_ = state.now;
  changed_ = state.changed;
  given_ = state.given;
  tuned_.clear();
  second_guesses_ = state.second_guesses;
  SlotValues& slots = kernel_->slot_values;
  std::ranges::copy(values_of(state.slots), slots.values.begin());  // vectors stay where they are
  std::ranges::copy(state.input_value, slots.input_value.begin());
  std::ranges::copy(state.input_rates, slots.input_rates.begin());
  std::vector<History::Point> points;
  for (const SavedPoint& point : state.points) points.push_back({point.t, values_of(point.contents)});
  kernel_->history.go_on(points);
  for (Index i = 0; i < state.iterations.size(); ++i) {
    kernel_->iterations.set_memory(i, state.iterations[i].memory);
    kernel_->iterations.set_accepted(i, state.iterations[i].accepted);
  }
  for (Index i = 0; i < parts_.size(); ++i) kernel_->members.instance(i).go_on(state.instances[i]);
  auto saved = state.loops.begin();
  for (const Index loop : loops_) {
    if (state.phase < Phase::stepping || loop == none) continue;
    kernel_->loops.loosen(loop, saved->rtol);
    kernel_->loops.set_chord(loop, saved->chord);
    ++saved;
  }
  if (state.continuous) ode_->continuous->restore(*state.continuous);
  if (state.integration) ode_->integration->go_to(*state.integration);
}

// Those of schedules, as `first_point` does, without solving them.
void System::register_loops() {
  loops_.assign(plan_.loops.size(), none);
  for (const Schedule& schedule : plan_.first_point)
    for (const ScheduleStep& step : schedule)
      if (const auto* loop = std::get_if<Index>(&step))
        loops_[*loop] = kernel_->loop_solutions.add(plan_.loops[*loop].calls);
}

void System::release(const SystemState& state) noexcept {
  for (Index i = 0; i < state.parts.size(); ++i) parts_[i]->release_state(state.parts[i]);
}

std::string System::serialized(const SystemState& state) {
  std::vector<std::string> parts;
  for (Index i = 0; i < parts_.size(); ++i) parts.push_back(parts_[i]->serialized(state.parts[i]));
  return to_bytes(state, parts, plan_.token);
}

std::unique_ptr<SystemState> System::deserialized(const std::string& bytes) {
  std::vector<std::string> parts;
  auto state = std::make_unique<SystemState>(from_bytes(bytes, parts, plan_.token));
  try {
    for (Index i = 0; i < parts_.size(); ++i) state->parts.push_back(parts_[i]->deserialized(parts.at(i)));
  } catch (...) {
    release(*state);
    throw;
  }
  return state;
}

SlotContents System::contents(const std::vector<double>& values) const {
  SlotContents found{values, {}};
  for (Slot slot = 0; slot < values.size(); ++slot)
    if (plan_.types[slot] == "String") {
      found.values[slot] = as_double(static_cast<std::int64_t>(found.texts.size()));
      found.texts.push_back(kernel_->slot_values.contents.at(as_integer(values[slot])));
    }
  return found;
}

std::vector<double> System::values_of(const SlotContents& contents) {
  std::vector<double> values = contents.values;
  for (Slot slot = 0; slot < values.size(); ++slot)
    if (plan_.types[slot] == "String") {
      const auto place = static_cast<std::size_t>(as_integer(values[slot]));
      values[slot] = as_double(kernel_->slot_values.contents.number(contents.texts.at(place)));
    }
  return values;
}

}  // namespace ssptool::runtime
