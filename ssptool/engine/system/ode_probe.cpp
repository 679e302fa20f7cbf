#include "ode_probe.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

namespace ssptool::runtime {

namespace {

void append(std::vector<Slot>& all, const std::vector<Slot>& more) { all.insert(all.end(), more.begin(), more.end()); }

IntegrationStopped no_number(const std::string& component, double t) {
  return {Ending::nonfinite, "component " + component + ": a derivative or output is not a finite number",
          "evaluate at another point", t, component};
}

// Nothing is driven as long as this exists.
class Undriven {
 public:
  explicit Undriven(OdeSystem& system) : system_(system), stimuli_(std::exchange(system.stimuli, nullptr)) {}
  Undriven(const Undriven&) = delete;
  Undriven& operator=(const Undriven&) = delete;
  ~Undriven() { system_.stimuli = stimuli_; }

 private:
  OdeSystem& system_;
  OdeStimuli* const stimuli_;
};

}  // namespace

Variables OdeProbe::reals(std::size_t model, bool inputs, Type type) const {
  const Member& member = system_.kernel().members[parts_.at(model)];
  return of_type(inputs ? member.inputs : member.outputs, type);
}

std::vector<Slot> OdeProbe::real_slots(std::size_t model, bool inputs) const {
  std::vector<Slot> found = reals(model, inputs, Type::float64).slots;
  append(found, reals(model, inputs, Type::float32).slots);
  return found;
}

std::vector<double> OdeProbe::present_states(double t) {
  std::vector<double> found(system_.size());
  system_.read_states(t, found.data());
  found.resize(system_.states());
  return found;
}

std::vector<double> OdeProbe::nominal_states(double t) {
  std::vector<double> found(system_.size());
  system_.read_nominals(t, found.data());
  found.resize(system_.states());
  return found;
}

std::vector<double> OdeProbe::evaluate(double t, std::span<const double> x, const std::vector<Slot>& slots,
                                       std::span<const double> values) {
  check_size(x.size(), system_.states(), "states");
  check_size(values.size(), slots.size(), "values");
  for (const Slot slot : slots) system_.kernel().slot_values.check(slot);
  if (system_.stimuli != nullptr) system_.stimuli->write(t);
  const Undriven undriven(system_);
  for (std::size_t i = 0; i < slots.size(); ++i) system_.kernel().slot_values.values[slots[i]] = values[i];
  for (std::size_t model = 0; model < parts_.size(); ++model) set_inputs(model, slots, t);
  std::vector<double> found(system_.size());
  const double none = 0.0;
  const bool whole = system_.reach(t, x.empty() ? &none : x.data(), true) && system_.present_slopes(t, found.data());
  if (!whole) throw IntegrationStopped(*system_.last_failure);
  found.resize(system_.states());
  return found;
}

// No schedule has inputs that nothing feeds.
void OdeProbe::set_inputs(std::size_t model, const std::vector<Slot>& slots, double t) {
  Kernel& kernel = system_.kernel();
  const std::vector<Slot> arriving = real_slots(model, true);
  if (std::ranges::find_first_of(arriving, slots) == arriving.end()) return;
  Transfer floats = kernel.access.transfer(parts_[model], reals(model, true, Type::float64));
  std::vector<Typed> singles = by_type(reals(model, true, Type::float32));
  const bool done =
      kernel.access.set(floats) && kernel.access.set_typed(parts_[model], singles, kernel.slot_values.values);
  kernel.members.leave_mode(parts_[model]);
  if (!done) not_exchanged(model, t);
}

std::vector<double> OdeProbe::evaluate_part(std::size_t model, double t, std::span<const double> x,
                                            std::span<const double> inputs) {
  Kernel& kernel = system_.kernel();
  const Index part = parts_.at(model);
  const ContinuousModel& one = system_.models()[model];
  check_size(x.size(), one.states(), "states");
  const std::vector<Slot> arriving = real_slots(model, true), leaving = real_slots(model, false);
  check_size(inputs.size(), arriving.size(), "inputs");
  std::vector<double>& values = kernel.slot_values.values;
  for (std::size_t i = 0; i < arriving.size(); ++i) values[arriving[i]] = inputs[i];

  kernel.stepper.report(t);
  Transfer get = kernel.access.transfer(part, reals(model, false, Type::float64));
  std::vector<Typed> get_typed = by_type(reals(model, false, Type::float32));
  if (!x.empty()) check(model, one.set_states(x.data()));
  set_inputs(model, arriving, t);
  std::vector<double> found(x.size());
  check(model, one.get_slopes(found.data()));
  if (!kernel.access.get(get) || !kernel.access.get_typed(part, get_typed)) not_exchanged(model, t);
  kernel.members.leave_mode(part);
  for (const Slot slot : leaving) found.push_back(values[slot]);
  if (std::ranges::any_of(found, [](double number) { return !std::isfinite(number); })) throw no_number(one.name(), t);
  return found;
}

std::vector<double> OdeProbe::derivative(std::size_t model, std::span<const fmi::Reference> unknowns,
                                         std::span<const fmi::Reference> knowns, std::span<const double> seed) {
  const Index part = parts_.at(model);
  std::vector<double> found(unknowns.size());
  if (unknowns.empty() || knowns.empty()) return found;
  const Failure failed = system_.kernel().members.instance(part).directional(unknowns, knowns, seed, found);
  system_.kernel().members.leave_mode(part);
  check(model, failed);
  return found;
}

void OdeProbe::check(std::size_t model, const Failure& failed) const {
  if (failed) throw CallRefused(system_.models()[model].name(), failed.function, failed.status);
}

void OdeProbe::not_exchanged(std::size_t model, double t) const {
  const Outcome& outcome = system_.kernel().access.outcome;
  const std::string& name = system_.models()[model].name();
  if (outcome.code != Code::fmi) throw no_number(name, t);
  throw CallRefused(name, outcome.function, outcome.fmi_status);
}

}  // namespace ssptool::runtime
