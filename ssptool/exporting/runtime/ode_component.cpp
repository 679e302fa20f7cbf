#include "ode_component.hpp"

#include <algorithm>
#include <cmath>
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

InstanceTable OdeComponent::table() {
  std::map<std::string, void*> functions{{"fmi3DoStep", reinterpret_cast<void*>(&do_step)},
                                         {"fmi3GetFMUState", reinterpret_cast<void*>(&get_state)},
                                         {"fmi3SetFMUState", reinterpret_cast<void*>(&set_state)},
                                         {"fmi3FreeFMUState", reinterpret_cast<void*>(&free_state)}};
  InstanceTable table{3, FunctionTable(std::move(functions), address(&do_nothing)), this};
  table.apart = true;
  return table;
}

void OdeComponent::attach(RunningOde& ode, Kernel& inside, const std::vector<std::unique_ptr<Part>>& parts) {
  ode_ = &ode;
  inside_ = &inside;
  parts_.clear();
  for (const Index number : plan_.ode->parts) parts_.push_back(parts.at(number).get());
  ode.integration->before_event = [this] { keep_part_states(); };
}

void OdeComponent::begin() {
  ode_->integration->begin();
  ode_->integration->cross_at_start();
  signs_ = ode_->integration->indicators();
  for (const Index number : plan_.ode->parts)
    for (const Variables* variables : {&plan_.parts[number].inputs, &plan_.parts[number].outputs})
      for (const Slot slot : variables->slots) outside_.slot_values.values[slot] = inside_->slot_values.values[slot];
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
  return self.guarded([&] { self.step(t, h); });
}

int OdeComponent::get_state(void* own, fmi::State* state) {
  auto& self = *static_cast<OdeComponent*>(own);
  return self.guarded([&] {
    free_state(own, state);
    auto found = std::make_unique<Snapshot>();
    found->state = self.save(self.ode_->integration->time());
    self.snapshots_.push_back(found.get());
    *state = found.release();
  });
}

int OdeComponent::set_state(void* own, fmi::State state) {
  auto& self = *static_cast<OdeComponent*>(own);
  return self.guarded([&] {
    const Snapshot& snapshot = *static_cast<Snapshot*>(state);
    for (const auto& [part, saved] : snapshot.parts) part->restore_state(saved);
    self.restore(snapshot.state);
  });
}

int OdeComponent::free_state(void* own, fmi::State* state) {
  auto& self = *static_cast<OdeComponent*>(own);
  const std::unique_ptr<Snapshot> owned(static_cast<Snapshot*>(std::exchange(*state, nullptr)));
  if (owned == nullptr) return 0;
  std::erase(self.snapshots_, owned.get());
  release(*owned);
  return 0;
}

void OdeComponent::release(Snapshot& snapshot) noexcept {
  for (const auto& [part, saved] : snapshot.parts) part->release_state(saved);
}

// Events change what is not in a position; so states are kept for all those positions that have none.
void OdeComponent::keep_part_states() {
  for (Snapshot* const snapshot : snapshots_) {
    if (std::exchange(snapshot->has_parts, true)) continue;
    for (Part* const part : parts_) snapshot->parts.emplace_back(part, part->save_state());
  }
}

OdeComponentState OdeComponent::save(double t) {
  return {ode_->integration->position(t), ode_->system.input_polynomials, signs_};
}

void OdeComponent::restore(const OdeComponentState& state) {
  ode_->system.input_polynomials = state.inputs;
  signs_ = state.signs;
  ode_->integration->go_to(state.position);
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
  while (!integration.advance(end, end)) {
  }
  signs_ = integration.indicators();
}

// Inputs do not jump, up to rounding, so that the integrator need not restart.
bool OdeComponent::continues(const InputPolynomials& before, const InputPolynomials& now) const {
  const std::vector<Slot>& inputs = plan_.ode->inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const double was = before.at(i, now.start);
    if (std::abs(now.value[i] - was) > settled * std::max(std::abs(was), plan_.at_events->nominal[inputs[i]]))
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
