// Save and restore the complete state of a system.
#include <algorithm>
#include <deque>
#include <stdexcept>
#include <utility>

#include "system.hpp"

namespace ssptool::runtime {

namespace {

// Only what later steps depend on: a continued run reports just its own steps.
AcceptedSteps for_next_steps(const AcceptedSteps& all) {
  AcceptedSteps found;
  found.floor = all.floor;
  found.failed = all.failed;
  found.failed_damped = all.failed_damped;
  found.steps = all.steps;
  found.unplanned = all.unplanned;
  found.trial = all.trial;
  found.phase = all.phase;
  return found;
}

}  // namespace

std::unique_ptr<SystemState> System::save() {
  if (ode_ != nullptr || !tuned_.empty()) settle();
  auto state = std::make_unique<SystemState>();
  state->phase = phase_;
  state->experiment = experiment_;
  state->now = now_;
  state->changed = changed_;
  state->retuned.assign(retuned_.begin(), retuned_.end());
  state->jumps = jumps_;
  state->segment = segment_;
  state->told_rates = told_rates_;
  state->input_reaches = input_reaches_;
  state->given = given_;
  state->second_guesses = second_guesses_;
  const SlotValues& slots = kernel_->slot_values;
  state->slots = contents(slots.values, *kernel_);
  state->input_value = slots.input_value;
  state->input_rates = slots.input_rates;
  for (const History::Point& point : kernel_->history.all())
    state->points.push_back({point.t, point.after_event, point.replaces, contents(point.values, *kernel_)});
  for (Index i = 0; i < kernel_->iterations.size(); ++i)
    state->iterations.push_back({kernel_->iterations.memory(i), kernel_->iterations.accepted(i)});
  if (phase_ >= Phase::stepping) state->loops = saved_loops(loops_, *kernel_);
  if (events_ != nullptr) state->events = saved_events();
  for (Index i = 0; i < parts_.size(); ++i) state->instances.push_back(kernel_->members.instance(i).memory());
  if (phase_ == Phase::exchange) state->continuous = ode_->continuous->save();
  if (ode_ != nullptr && ode_->integration != nullptr) state->ode = save_ode();
  try {
    for (const auto& part : parts_) state->parts.push_back(part->save_state());
  } catch (...) {
    release(*state);
    throw;
  }
  return state;
}

void System::restore(const SystemState& state) {
  // The phase determines what is registered with the kernel.
  experiment_ = state.experiment;
  now_ = state.now;
  if (phase_ != state.phase) {
    build_kernel();
    if (state.phase != Phase::instantiated) make_events();
  }
  for (Index i = 0; i < parts_.size(); ++i) parts_[i]->restore_state(state.parts[i]);
  if (phase_ != state.phase && state.phase >= Phase::stepping) {
    register_loops();
    couple();
  }
  go_on(state);
}

void System::go_on(const SystemState& state) {
  require_fitting(state);
  phase_ = state.phase;
  now_ = state.now;
  if (events_ != nullptr) restore_events(state.events);
  changed_ = state.changed;
  ended_ = false;
  tuned_.clear();
  retuned_ = {state.retuned.begin(), state.retuned.end()};
  jumps_ = state.jumps;
  go_to_segment(state.segment);
  told_rates_ = state.told_rates;
  input_reaches_ = state.input_reaches;
  given_ = state.given;
  second_guesses_ = state.second_guesses;
  SlotValues& slots = kernel_->slot_values;
  std::ranges::copy(values_of(state.slots, *kernel_), slots.values.begin());  // the vectors must keep their addresses
  std::ranges::copy(state.input_value, slots.input_value.begin());
  std::ranges::copy(state.input_rates, slots.input_rates.begin());
  std::vector<History::Point> points;
  for (const SavedPoint& point : state.points)
    points.push_back({point.t, values_of(point.contents, *kernel_), point.after_event, point.replaces});
  kernel_->history.go_on(points);
  for (Index i = 0; i < state.iterations.size(); ++i) {
    kernel_->iterations.set_memory(i, state.iterations[i].memory);
    kernel_->iterations.set_accepted(i, state.iterations[i].accepted);
  }
  for (Index i = 0; i < parts_.size(); ++i) kernel_->members.instance(i).go_on(state.instances[i]);
  if (state.phase >= Phase::stepping) restore_loops(state.loops, loops_, *kernel_);
  if (state.continuous) ode_->continuous->restore(*state.continuous);
  if (state.ode) restore_ode(*state.ode);
}

// Checks sizes against the plan, because bytes may come from anywhere. Everything else is checked where it is restored.
void System::require_fitting(const SystemState& state) const {
  const auto is_whole = [this](const SlotContents& one) { return one.values.size() == plan_.slots; };
  const auto are_whole = [&](const SavedPoint& point) { return is_whole(point.contents); };
  const auto count = [](const std::vector<Index>& loops) {
    return loops.size() - static_cast<std::size_t>(std::ranges::count(loops, none));
  };
  const auto has_orders = [](const InstanceMemory& one) {
    return std::min(one.following.order, one.told_order) >= 0 && std::max(one.following.order, one.told_order) <= 2;
  };
  bool fits = is_whole(state.slots) && state.input_value.size() == plan_.slots &&
              state.input_rates.size() == 2 * plan_.slots && std::ranges::all_of(state.points, are_whole) &&
              state.iterations.size() <= kernel_->iterations.size() && state.instances.size() == parts_.size() &&
              std::ranges::all_of(state.retuned, [this](Index part) { return part < parts_.size(); }) &&
              std::ranges::all_of(state.instances, has_orders) && state.segment <= plan_.tables.jumps.size();
  if (state.phase >= Phase::stepping) fits = fits && state.loops.size() == count(loops_);
  const bool integrates = ode_ != nullptr && ode_->integration != nullptr;
  fits =
      fits && state.ode.has_value() == integrates && state.continuous.has_value() == (state.phase == Phase::exchange);
  if (integrates && state.ode) {
    const IntegrationState& position = state.ode->component.position;
    const std::size_t indicators = ode_->system.indicator_count();
    fits = fits && position.x.size() == ode_->system.size() &&
           std::ranges::all_of(position.at_zero, [&](std::size_t one) { return one < indicators; });
  }
  if (component_ != nullptr && integrates && state.ode) {
    const auto& [position, inputs, signs, clocks, values, end] = state.ode->component;
    const std::size_t driven = inputs.value.empty() ? 0 : ode_->system.inputs().size();
    fits = fits && is_whole(state.ode->slots) && state.ode->loops.size() == count(loops_of_ode_) &&
           (signs.empty() || signs.size() == ode_->system.indicator_count()) && inputs.value.size() == driven &&
           inputs.first.size() == driven && inputs.second.size() == driven;
  }
  if (state.continuous && ode_ != nullptr) fits = fits && state.continuous->x.size() == ode_->system.size();
  if (!fits) throw std::runtime_error("the state belongs to another system");
}

// The integration restarts here as it does from a restored state, so that both give the same results. In a run, it
// discards all data that are not in the state.
SavedOde System::save_ode() {
  SavedOde saved;
  Integration& integration = *ode_->integration;
  if (component_ == nullptr) {
    saved.component.position = integration.position(now_);
    adopts_ ? integration.start_over(saved.component.position) : integration.go_to(saved.component.position);
    return saved;
  }
  saved.component = component_->save(adopts_ ? integration.time() : now_);
  if (adopts_) {
    saved.component.inputs = {};
    if (ode_->jacobian) ode_->jacobian->forget();
  }
  for (const EventRow& row : component_->rows()) saved.rows.emplace_back(row.end, row.row);
  component_->restore(saved.component);
  saved.slots = contents(inside_->slot_values.values, *inside_);
  saved.loops = saved_loops(loops_of_ode_, *inside_);
  return saved;
}

void System::restore_ode(const SavedOde& saved) {
  if (component_ == nullptr) {
    Integration& integration = *ode_->integration;
    adopts_ ? integration.start_over(saved.component.position) : integration.go_to(saved.component.position);
    return;
  }
  if (adopts_ && ode_->jacobian) ode_->jacobian->forget();
  events_of_ode_->hide_ticks();
  events_of_ode_->rest();
  restore_loops(saved.loops, loops_of_ode_, *inside_);
  OdeComponentState component = saved.component;
  component.values = values_of(saved.slots, *inside_);
  component_->restore(component);
  std::deque<EventRow> rows;
  for (const auto& [end, row] : saved.rows) rows.push_back({end, row});
  component_->set_rows(std::move(rows));
}

std::vector<SavedLoop> System::saved_loops(const std::vector<Index>& loops, Kernel& kernel) {
  std::vector<SavedLoop> found;
  for (const Index loop : loops)
    if (loop != none) found.push_back({kernel.loops.convergence(loop).rtol, kernel.loops.chord(loop)});
  return found;
}

void System::restore_loops(const std::vector<SavedLoop>& all, const std::vector<Index>& loops, Kernel& kernel) {
  auto saved = all.begin();
  for (const Index loop : loops) {
    if (loop == none) continue;
    kernel.loops.loosen(loop, saved->rtol);
    kernel.loops.set_chord(loop, saved->chord);
    ++saved;
  }
}

// Registers the loops of schedules as `first_point` does, without solving them.
void System::register_loops() {
  loops_.assign(plan_.loops.size(), none);
  for (const Schedule& schedule : plan_.first_point) register_loops(schedule, *kernel_, loops_);
  if (component_ == nullptr) return;
  build_kernel_of_ode();
  loops_of_ode_.assign(plan_.loops.size(), none);
  register_loops(plan_.ode->whole, *inside_, loops_of_ode_);
}

void System::register_loops(const Schedule& schedule, Kernel& kernel, std::vector<Index>& loops) const {
  for (const ScheduleStep& step : schedule)
    if (const auto* loop = std::get_if<Index>(&step))
      loops[*loop] = kernel.loop_solutions.add(plan_.loops[*loop].calls);
}

void System::resume(const SystemState& state) {
  now_ = experiment_.start;
  make_events();
  for (Index i = 0; i < parts_.size(); ++i) parts_[i]->restore_state(state.parts[i]);
  register_loops();
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
  if (adopts_)
    for (SavedIteration& one : state->iterations) one.accepted = for_next_steps(one.accepted);
  try {
    for (Index i = 0; i < parts_.size(); ++i) state->parts.push_back(parts_[i]->deserialized(parts.at(i)));
  } catch (...) {
    release(*state);
    throw;
  }
  return state;
}

SlotContents System::contents(const std::vector<double>& values, const Kernel& kernel) const {
  SlotContents found{values, {}};
  for (Slot slot = 0; slot < values.size(); ++slot)
    if (is_content(plan_.types[slot])) {
      found.values[slot] = as_double(static_cast<std::int64_t>(found.texts.size()));
      found.texts.push_back(kernel.slot_values.contents.at(as_integer(values[slot])));
    }
  return found;
}

std::vector<double> System::values_of(const SlotContents& contents, Kernel& kernel) const {
  std::vector<double> values = contents.values;
  for (Slot slot = 0; slot < values.size(); ++slot)
    if (is_content(plan_.types[slot])) {
      const auto place = static_cast<std::size_t>(as_integer(values[slot]));
      values[slot] = as_double(kernel.slot_values.contents.number(contents.texts.at(place)));
    }
  return values;
}

}  // namespace ssptool::runtime
