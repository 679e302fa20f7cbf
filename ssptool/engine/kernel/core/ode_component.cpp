#include "ode_component.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

namespace ssptool {

namespace {

// Relative change below which an input counts as unchanged; algebraic loops are solved to this tolerance.
constexpr double input_settled = 1e-12;

int do_nothing() { return 0; }

// Any address except null, which would mean that there is no state.
int pretend_state(void*, fmi::State* state) {
  static char place;
  *state = &place;
  return 0;
}

template <class Function>
void* address(Function* function) {
  return reinterpret_cast<void*>(function);
}

}  // namespace

void* OdeComponent::idle_function() { return address(&do_nothing); }

std::map<std::string, void*> OdeComponent::idle(int fmi_major) {
  void* const nothing = idle_function();
  if (fmi_major < 3)
    return {{"fmi2DoStep", nothing},
            {"fmi2SetRealInputDerivatives", nothing},
            {"fmi2GetFMUstate", address(&pretend_state)},
            {"fmi2SetFMUstate", nothing},
            {"fmi2FreeFMUstate", nothing}};
  return {{"fmi3DoStep", nothing},
          {"fmi3GetFMUState", address(&pretend_state)},
          {"fmi3SetFMUState", nothing},
          {"fmi3FreeFMUState", nothing}};
}

std::map<std::string, void*> OdeComponent::functions() {
  return {{"fmi3DoStep", address(&do_step)},
          {"fmi3GetFMUState", address(&get_state)},
          {"fmi3SetFMUState", address(&set_state)},
          {"fmi3FreeFMUState", address(&free_state)}};
}

InstanceTable OdeComponent::table(StepReport* report) {
  InstanceTable table{3, FunctionTable(functions(), idle_function()), this};
  table.apart = true;
  table.report = report;
  return table;
}

void OdeComponent::attach(OdeSystem& system, OdeEvents& events, Integration& integration, OdeExchange exchange) {
  system_ = &system;
  events_ = &events;
  integration_ = &integration;
  exchange_ = std::move(exchange);
  end_ = exchange_.start;
  integration.hands_over = exchange_.hands_over;
  integration.hands_over_timers = true;
  integration.before_event = [this] { keep_inner_states(); };
  integration.on_row = [this](double t, RowOf what) { add_row(t, what); };
  integration.on_no_row = [this] {
    if (make_row) rows_.pop_back();
    made_ = false;
  };
}

void OdeComponent::begin() {
  if (exchange_.hands_over) return;
  const auto show = [this] { copy(inside(), outside_.slot_values, exchange_.shown); };
  try {
    integration_->begin();
    integration_->cross_at_start();
    rows_.clear();  // events at the start precede the first row, which is made later
    signs_ = integration_->indicators();
  } catch (...) {
    show();
    throw;
  }
  show();
}

double OdeComponent::close(double t) const noexcept { return tolerance_of_times(t, exchange_.macro_step); }

// --- what is exchanged with the other instances ----------------------------------------------------------------------

// Kernels number texts differently.
double OdeComponent::copied(double value, const SlotValues& from, SlotValues& to) const {
  return as_double(to.contents.number(from.contents.at(as_integer(value))));
}

void OdeComponent::copy(const SlotValues& from, SlotValues& to, const std::vector<Slot>& slots) const {
  for (const Slot slot : slots) {
    const double value = from.values[slot];
    to.values[slot] = exchange_.contents[slot] ? copied(value, from, to) : value;
  }
}

void OdeComponent::read_inputs() { copy(outside_.slot_values, inside(), exchange_.received); }

// Inputs have their values at t [s] from now on, also in later steps.
void OdeComponent::hold_inputs(double t) {
  read_inputs();
  const std::vector<Slot>& inputs = system_->inputs();
  if (inputs.empty()) return;
  const std::vector<double> held(inputs.size());
  InputPolynomials now{t, {}, held, held};
  for (const Slot slot : inputs) now.value.push_back(outside_.slot_values.values[slot]);
  system_->input_polynomials = std::move(now);
}

void OdeComponent::read_event_signals() { copy(outside_.slot_values, inside(), exchange_.event_sources); }

void OdeComponent::write_event_signals() { copy(inside(), outside_.slot_values, exchange_.event_signals); }

bool OdeComponent::event_pending() {
  if (!takes_event_signals() || refusal_) return false;
  read_event_signals();
  return events_->pending();
}

void OdeComponent::show_end(double t) {
  system_->settle(t);
  copy(inside(), outside_.slot_values, exchange_.shown);
}

void OdeComponent::intervene(const std::function<void()>& action) {
  integration_->intervene([&] {
    action();
    hold_inputs(integration_->time());
    read_event_signals();
  });
  signs_ = integration_->indicators();
  write_event_signals();
}

bool OdeComponent::confirm(double now) {
  if (system_->inputs().empty()) return true;
  hold_inputs(integration_->time());
  if (integration_->confirm(now)) return true;
  signs_ = integration_->indicators();
  return false;
}

void OdeComponent::enter() {
  integration_->enter(close(integration_->time()));
  events_->begin();
}

bool OdeComponent::leave(bool changed, bool first) {
  const double t = integration_->time();
  hold_inputs(t);
  const bool seen = integration_->leave(events_->outcome(t, close(t), changed), first);
  signs_ = integration_->indicators();
  return seen;
}

// --- rows of events --------------------------------------------------------------------------------------------------

// The row of a communication point is made once all instances are there.
void OdeComponent::add_row(double t, RowOf what) {
  made_ = what == RowOf::event;
  if (!made_ || !make_row) return;
  std::vector<double> row = make_row(t);
  for (const std::size_t column : exchange_.content_columns)
    row[column] = copied(row[column], inside(), outside_.slot_values);
  rows_.push_back({stepping_to_, std::move(row)});
}

std::optional<EventRow> OdeComponent::take_row(double until) {
  if (rows_.empty() || rows_.front().end > until) return {};
  EventRow first = std::move(rows_.front());
  rows_.pop_front();
  return first;
}

// --- what the kernel asks for ----------------------------------------------------------------------------------------

template <class Act>
int OdeComponent::guarded(const Act& act) noexcept {
  failure_ = nullptr;
  try {
    act();
    return 0;
  } catch (const IntegrationStopped& stopped) {
    failure_ = std::current_exception();
    return stopped.recoverable ? fmi::discard : fmi::error;
  } catch (...) {
    failure_ = std::current_exception();
    return fmi::error;
  }
}

void OdeComponent::rethrow() const {
  if (failure_ != nullptr) std::rethrow_exception(failure_);
  throw std::logic_error("the ODE has refused nothing");
}

int OdeComponent::do_step(void* own, double t, double h, bool, bool* event, bool* terminate, bool* early,
                          double* reached) {
  *event = *terminate = *early = false;
  *reached = t + h;
  auto& self = *static_cast<OdeComponent*>(own);
  return self.guarded([&] {
    self.step(t, h);
    if (self.integration_->due.empty() || !self.exchange_.hands_over) return;
    *event = *early = true;
    *reached = std::min(self.integration_->time(), t + h);
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
  found->state = save(integration_->time());
  snapshots_.push_back(found.get());
  state = found.release();
}

void OdeComponent::go_back(fmi::State state) {
  const Snapshot& snapshot = *static_cast<Snapshot*>(state);
  if (snapshot.event) {
    if (!std::ranges::all_of(system_->models(), &ContinuousModel::saves_state)) cannot_restore(*snapshot.event);
    system_->restore_states(snapshot.inner, snapshot.state.position.t);
  }
  restore(snapshot.state);
}

void OdeComponent::forget(fmi::State& state) noexcept {
  const std::unique_ptr<Snapshot> owned(static_cast<Snapshot*>(std::exchange(state, nullptr)));
  if (owned == nullptr) return;
  std::erase(snapshots_, owned.get());
  if (owned->event) system_->release_states(owned->inner);
}

void OdeComponent::cannot_restore(double t) const {
  std::string unable, first;
  for (const ContinuousModel& model : system_->models()) {
    if (model.saves_state()) continue;
    if (first.empty()) first = model.name();
    unable += (unable.empty() ? "" : ", ") + model.name();
  }
  throw IntegrationStopped(Ending::fmi,
                           "a macro step with an event must be repeated, but " + unable + " cannot save the state",
                           "use a master that does each step once (--master jacobi) and fixed steps", t, first);
}

// Events change states that positions do not contain; therefore they are saved for all positions without saved states.
void OdeComponent::keep_inner_states() {
  const double t = integration_->time();
  for (Snapshot* const snapshot : snapshots_) {
    if (snapshot->event) continue;
    snapshot->inner = system_->save_states(t);
    snapshot->event = t;
  }
}

OdeComponentState OdeComponent::save(double t) {
  IntegrationState position = integration_->position(t);
  return {std::move(position),
          system_->input_polynomials,
          signs_,
          events_->members().clock_schedule.save_state(),
          inside().values,
          end_};
}

void OdeComponent::restore(const OdeComponentState& state) {
  system_->input_polynomials = state.inputs;
  signs_ = state.signs;
  end_ = state.end;
  events_->members().clock_schedule.restore_state(state.clocks);
  std::ranges::copy(state.values, inside().values.begin());  // the vectors must keep their addresses
  integration_->go_to(state.position);
  write_event_signals();
  while (!rows_.empty() && rows_.back().end > end_) rows_.pop_back();
}

void OdeComponent::go_on_from(std::span<const double> signs, double end) {
  signs_.assign(signs.begin(), signs.end());
  end_ = end;
}

// --- steps -----------------------------------------------------------------------------------------------------------

void OdeComponent::step(double t, double h) {
  if (refusal_) throw IntegrationStopped(*refusal_);
  const double end = stepping_to_ = t + h;
  if (auto now = polynomials(t)) {
    const InputPolynomials before = std::exchange(system_->input_polynomials, std::move(*now));
    const bool fresh = before.value.empty();
    if (fresh || integration_->time() != t || !continues(before, system_->input_polynomials)) {
      // A crossing that an event a moment after t has already handled must not be counted again.
      const bool ahead = t < integration_->time() && integration_->time() <= t + close(t);
      integration_->restart(ahead ? integration_->time() : t, signs_);
    }
  }
  if (!exchange_.hands_over) integration_->catch_up();
  while (integration_->due.empty() && !integration_->advance(end, end)) {
  }
  if (integration_->due.empty() && made_ && make_row) rows_.pop_back();  // the row of the communication point
  made_ = false;
  signs_ = integration_->indicators();
  end_ = end;
  write_event_signals();
}

// Whether inputs do not jump, within rounding, so that the integrator need not restart.
bool OdeComponent::continues(const InputPolynomials& before, const InputPolynomials& now) const {
  for (std::size_t i = 0; i < now.value.size(); ++i) {
    const double was = before.at(i, now.start);
    if (std::abs(now.value[i] - was) > input_settled * std::max(std::abs(was), exchange_.nominal[i])) return false;
  }
  return true;
}

// Inputs over the step from t; none if there are no inputs. Only inputs of type Float64 vary.
std::optional<InputPolynomials> OdeComponent::polynomials(double t) const {
  const std::vector<Slot>& inputs = system_->inputs();
  if (inputs.empty()) return {};
  const SlotValues& slots = outside_.slot_values;
  InputPolynomials found{t, {}, {}, {}};
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const Slot slot = inputs[i];
    const bool moves = exchange_.moving[i];
    found.value.push_back(moves ? slots.input_value[slot] : slots.values[slot]);
    found.first.push_back(moves ? slots.input_rates[slot] : 0.0);
    found.second.push_back(moves ? slots.input_rates[slots.size() + slot] : 0.0);
  }
  return found;
}

}  // namespace ssptool
