#include "ode_component.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace ssptool::runtime {

namespace {

// Relative change of an input that counts as none: algebraic loops are solved to this.
constexpr double settled = 1e-12;

int do_nothing() { return 0; }

// Not a null pointer, which would be no state at all.
int pretend_state(void*, fmi::State* state) {
  static char place;
  *state = &place;
  return 0;
}

void* address(int (*function)()) { return reinterpret_cast<void*>(function); }

}  // namespace

FunctionTable OdeComponent::idle(const FunctionTable& functions, int fmi_major) {
  void* const pretend = reinterpret_cast<void*>(&pretend_state);
  void* const nothing = address(&do_nothing);
  if (fmi_major < 3)
    return functions.with({{"fmi2DoStep", nothing},
                           {"fmi2SetRealInputDerivatives", nothing},
                           {"fmi2GetFMUstate", pretend},
                           {"fmi2SetFMUstate", nothing},
                           {"fmi2FreeFMUstate", nothing}});
  return functions.with({{"fmi3DoStep", nothing},
                         {"fmi3GetFMUState", pretend},
                         {"fmi3SetFMUState", nothing},
                         {"fmi3FreeFMUState", nothing}});
}

InstanceTable OdeComponent::table(StepReport* report) {
  std::map<std::string, void*> functions{{"fmi3DoStep", reinterpret_cast<void*>(&do_step)},
                                         {"fmi3GetFMUState", reinterpret_cast<void*>(&get_state)},
                                         {"fmi3SetFMUState", reinterpret_cast<void*>(&set_state)},
                                         {"fmi3FreeFMUState", reinterpret_cast<void*>(&free_state)}};
  InstanceTable table{3, FunctionTable(std::move(functions), address(&do_nothing)), this};
  table.apart = true;
  table.report = report;
  return table;
}

void OdeComponent::attach(RunningOde& ode, Kernel& inside, const std::vector<std::unique_ptr<Part>>& parts) {
  ode_ = &ode;
  inside_ = &inside;
  parts_.clear();
  inputs_.clear();
  for (const Index number : plan_.ode->parts) {
    parts_.push_back(parts.at(number).get());
    const PlannedPart& part = plan_.parts[number];
    inputs_.insert(inputs_.end(), part.inputs.slots.begin(), part.inputs.slots.end());
  }
  everything_ = inputs_;
  for (const Index number : plan_.ode->parts) {
    const std::vector<Slot>& outputs = plan_.parts[number].outputs.slots;
    everything_.insert(everything_.end(), outputs.begin(), outputs.end());
  }
  const std::vector<Slot>& at_events = plan_.ode->event_signals;
  everything_.insert(everything_.end(), at_events.begin(), at_events.end());
  ode.integration->before_event = [this] { keep_part_states(); };
  ode.integration->hands_over = plan_.at_events && plan_.at_events->with_ode;
}

void OdeComponent::begin() {
  std::vector<Slot> all(outside_.slot_values.size());
  std::iota(all.begin(), all.end(), Slot{0});
  copy(outside_.slot_values, inside_->slot_values, all);
  if (ode_->integration->hands_over) return;
  ode_->integration->begin();
  ode_->integration->cross_at_start();
  signs_ = ode_->integration->indicators();
  copy(inside_->slot_values, outside_.slot_values, everything_);
}

// --- what is exchanged with the other parts --------------------------------------------------------------------------

// Kernels number texts differently.
void OdeComponent::copy(const SlotValues& from, SlotValues& to, const std::vector<Slot>& slots) const {
  for (const Slot slot : slots) {
    const double value = from.values[slot];
    to.values[slot] =
        is_content(plan_.types[slot]) ? as_double(to.contents.number(from.contents.at(as_integer(value)))) : value;
  }
}

void OdeComponent::read_inputs() { copy(outside_.slot_values, inside_->slot_values, inputs_); }

void OdeComponent::read_event_signals() { copy(outside_.slot_values, inside_->slot_values, plan_.ode->event_sources); }

void OdeComponent::write_event_signals() { copy(inside_->slot_values, outside_.slot_values, plan_.ode->event_signals); }

bool OdeComponent::event_pending() {
  if (!takes_event_signals()) return false;
  read_event_signals();
  return ode_->events.pending();
}

void OdeComponent::intervene(const std::function<void()>& action) {
  ode_->integration->intervene([&] {
    action();
    read_inputs();
    read_event_signals();
  });
  signs_ = ode_->integration->indicators();
  write_event_signals();
}

void OdeComponent::enter() {
  Integration& integration = *ode_->integration;
  integration.enter(tolerance_of_times(integration.time(), plan_.step));
  ode_->events.begin();
}

void OdeComponent::leave(bool changed, bool first) {
  Integration& integration = *ode_->integration;
  const double t = integration.time();
  read_inputs();
  const std::vector<Slot>& inputs = plan_.ode->inputs;
  if (!inputs.empty()) {
    const std::vector<double> held(inputs.size());
    InputPolynomials now{t, {}, held, held};
    for (const Slot slot : inputs) now.value.push_back(outside_.slot_values.values[slot]);
    ode_->system.input_polynomials = std::move(now);
  }
  (void)integration.leave(ode_->events.outcome(t, tolerance_of_times(t, plan_.step), changed), first);
  signs_ = integration.indicators();
}

// --- what the kernel asks for ----------------------------------------------------------------------------------------

template <class Act>
int OdeComponent::guarded(const Act& act) noexcept {
  failure.reset();
  try {
    act();
    return 0;
  } catch (const IntegrationStopped& stopped) {
    failure = stopped;
    return stopped.recoverable ? fmi::discard : fmi::error;
  } catch (const std::exception& error) {
    failure = IntegrationStopped(Ending::fmi, error.what(), "", 0.0);
    return fmi::error;
  }
}

int OdeComponent::do_step(void* own, double t, double h, bool, bool* event, bool* terminate, bool* early,
                          double* reached) {
  *event = *terminate = *early = false;
  *reached = t + h;
  auto& self = *static_cast<OdeComponent*>(own);
  return self.guarded([&] {
    self.step(t, h);
    const Integration& integration = *self.ode_->integration;
    if (integration.due.empty()) return;
    *event = *early = true;
    *reached = std::min(integration.time(), t + h);
  });
}

int OdeComponent::get_state(void* own, fmi::State* state) {
  auto& self = *static_cast<OdeComponent*>(own);
  return self.guarded([&] { self.keep(*state); });
}

int OdeComponent::set_state(void* own, fmi::State state) {
  auto& self = *static_cast<OdeComponent*>(own);
  return self.guarded([&] { self.go_back(state); });
}

int OdeComponent::free_state(void* own, fmi::State* state) {
  static_cast<OdeComponent*>(own)->forget(*state);
  return 0;
}

void OdeComponent::keep(fmi::State& state) {
  forget(state);
  auto found = std::make_unique<Snapshot>();
  found->state = save(ode_->integration->time());
  snapshots_.push_back(found.get());
  state = found.release();
}

void OdeComponent::go_back(fmi::State state) {
  const Snapshot& snapshot = *static_cast<Snapshot*>(state);
  if (snapshot.event)
    for (const Part* const part : parts_)
      if (!part->plan().exchange->saves_state) cannot_restore(*part, *snapshot.event);
  for (const auto& [part, saved] : snapshot.parts) part->restore_state(saved);
  restore(snapshot.state);
}

void OdeComponent::forget(fmi::State& state) noexcept {
  const std::unique_ptr<Snapshot> owned(static_cast<Snapshot*>(std::exchange(state, nullptr)));
  if (owned == nullptr) return;
  std::erase(snapshots_, owned.get());
  release(*owned);
}

void OdeComponent::cannot_restore(const Part& part, double t) const {
  throw IntegrationStopped(
      Ending::fmi, "a macro step with an event must be repeated, but " + part.plan().name + " cannot save the state",
      "export the system with a master that does each step once (--master jacobi)", t, part.plan().name);
}

void OdeComponent::release(Snapshot& snapshot) noexcept {
  for (const auto& [part, saved] : snapshot.parts) part->release_state(saved);
}

// Events change what is not in a position; so states are kept for all those positions that have none.
void OdeComponent::keep_part_states() {
  for (Snapshot* const snapshot : snapshots_) {
    if (snapshot->event) continue;
    snapshot->event = ode_->integration->time();
    for (Part* const part : parts_)
      if (part->plan().exchange->saves_state) snapshot->parts.emplace_back(part, part->save_state());
  }
}

OdeComponentState OdeComponent::save(double t) {
  IntegrationState position = ode_->integration->position(t);
  return {std::move(position), ode_->system.input_polynomials, signs_,
          ode_->events.members().clock_schedule.save_state(), inside_->slot_values.values};
}

void OdeComponent::restore(const OdeComponentState& state) {
  ode_->system.input_polynomials = state.inputs;
  signs_ = state.signs;
  ode_->events.members().clock_schedule.restore_state(state.clocks);
  std::ranges::copy(state.values, inside_->slot_values.values.begin());  // vectors stay where they are
  ode_->integration->go_to(state.position);
  write_event_signals();
}

// --- steps -----------------------------------------------------------------------------------------------------------

void OdeComponent::step(double t, double h) {
  Integration& integration = *ode_->integration;
  const double end = t + h;
  if (auto now = polynomials(t)) {
    const InputPolynomials before = std::exchange(ode_->system.input_polynomials, std::move(*now));
    const bool fresh = before.value.empty();
    if (fresh || integration.time() != t || !continues(before, ode_->system.input_polynomials)) {
      // A crossing that an event a moment after t has handled must not count again.
      const bool ahead = t < integration.time() && integration.time() <= t + tolerance_of_times(t, plan_.step);
      integration.restart(ahead ? integration.time() : t, signs_);
    }
  }
  while (integration.due.empty() && !integration.advance(end, end)) {
  }
  signs_ = integration.indicators();
  write_event_signals();
}

// Inputs do not jump, up to rounding, so that the integrator need not restart.
bool OdeComponent::continues(const InputPolynomials& before, const InputPolynomials& now) const {
  const std::vector<Slot>& inputs = plan_.ode->inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const double was = before.at(i, now.start);
    if (std::abs(now.value[i] - was) > settled * std::max(std::abs(was), plan_.events_of_ode().nominal[inputs[i]]))
      return false;
  }
  return true;
}

// Of the inputs over the step from t; none without inputs. Only those of type Float64 move.
std::optional<InputPolynomials> OdeComponent::polynomials(double t) const {
  const std::vector<Slot>& inputs = plan_.ode->inputs;
  if (inputs.empty()) return {};
  const SlotValues& slots = outside_.slot_values;
  InputPolynomials found{t, {}, {}, {}};
  for (const Slot slot : inputs) {
    const bool moves = plan_.types[slot] == "Float64";
    found.value.push_back(moves ? slots.input_value[slot] : slots.values[slot]);
    found.first.push_back(moves ? slots.input_rates[slot] : 0.0);
    found.second.push_back(moves ? slots.input_rates[slots.size() + slot] : 0.0);
  }
  return found;
}

}  // namespace ssptool::runtime
