#include "kernel.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <utility>

namespace ssptool {

namespace {

// A group is stepped in parallel if its steps, one after the other, take so long at least [s]; so many are measured.
constexpr double worth = 50e-6;
constexpr int trials = 3;

// So many instances are in the caches anyway.
constexpr std::size_t few = 64;

// [s], before every time: see interface.py.
constexpr double long_ago = -1e300;

// Of a macro step: so much before its end an instance is not there yet.
constexpr double close = 1e-9;

void check_index(std::size_t index, std::size_t count, const char* what) {
  if (index >= count)
    throw std::out_of_range(std::string(what) + " " + std::to_string(index) + " does not exist, there are " +
                            std::to_string(count));
}

void check_order(int order, int highest) {
  if (order < 1 || order > highest)
    throw std::invalid_argument("polynomial order is " + std::to_string(order) + ", must be 1 to " +
                                std::to_string(highest));
}

void check_size(std::size_t size, std::size_t wanted, const char* what) {
  if (size != wanted)
    throw std::invalid_argument(std::string(what) + " has " + std::to_string(size) + " numbers, must have " +
                                std::to_string(wanted));
}

void add(Variables& found, const Variables& known, std::size_t rank) {
  found.slots.push_back(known.slots[rank]);
  found.references.push_back(known.references[rank]);
  found.types.push_back(known.types[rank]);
  found.elements.push_back(known.elements[rank]);
}

// FMI sets and gets arrays as a whole.
void check_whole(const Variables& known, const std::vector<std::size_t>& ranks) {
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const std::size_t rank = ranks[i];
    const bool begins = known.elements[rank] == 0 || (i > 0 && ranks[i - 1] + 1 == rank);
    const bool last = rank + 1 == known.elements.size() || known.elements[rank + 1] == 0;
    if (!begins || !(last || (i + 1 < ranks.size() && ranks[i + 1] == rank + 1)))
      throw std::invalid_argument("slot " + std::to_string(known.slots[rank]) +
                                  " is an element of an array, which is set and got as a whole");
  }
}

Variables some_of(const Variables& known, const std::vector<Slot>& slots, const char* kind) {
  Variables found;
  std::vector<std::size_t> ranks;
  auto from = known.slots.begin();  // where the last one was: mostly they are in the same order
  for (const Slot slot : slots) {
    auto place = std::find(from, known.slots.end(), slot);
    if (place == known.slots.end()) place = std::find(known.slots.begin(), from, slot);
    if (place == from && (from == known.slots.end() || *from != slot))
      throw std::invalid_argument("slot " + std::to_string(slot) + " is no " + kind + " of the instance called");
    from = place;
    ranks.push_back(static_cast<std::size_t>(place - known.slots.begin()));
    add(found, known, ranks.back());
  }
  check_whole(known, ranks);
  return found;
}

// All but those of type Float64, by type.
std::vector<Typed> by_type(const Variables& variables) {
  std::vector<Typed> found;
  for (Type type = Type::float32; type <= Type::binary; type = static_cast<Type>(static_cast<int>(type) + 1)) {
    Variables own = of_type(variables, type);
    const std::size_t count = own.slots.size();
    if (count > 0)
      found.push_back({type, std::move(own.slots), own.distinct(), std::vector<std::uint64_t>(count),
                       std::vector<std::size_t>(type == Type::binary ? count : 0)});
  }
  return found;
}

// Has memory brought to the cache that is needed soon.
template <std::size_t lines>
inline void prefetch(const void* address) noexcept {
#if defined(__GNUC__)
  const char* const first = static_cast<const char*>(address);
  for (std::size_t line = 0; line < lines; ++line) __builtin_prefetch(first + line * cache_line);
#else
  (void)address;
#endif
}

bool is_integer(Type type) { return type != Type::float64 && type != Type::float32; }

}  // namespace

Variables of_type(const Variables& variables, Type type) {
  Variables found;
  for (std::size_t i = 0; i < variables.slots.size(); ++i)
    if (variables.types[i] == type) add(found, variables, i);
  return found;
}

// -- tables ----------------------------------------------------------------------------------------------------

Kernel::Kernel(std::size_t slots, const std::vector<Slot>& integers)
    : values_(slots),
      input_value_(slots),
      input_rates_(max_order * slots),
      tangent_(slots),
      owned_(slots),
      holds_integer_(slots),
      driven_(slots),
      wire_into_(slots, unconnected),
      recorded_(values_.data(), {}) {
  for (Point& point : history_) point.values.resize(slots);
  for (const Slot slot : integers) {
    check_slot(slot);
    holds_integer_[slot] = true;
  }
}

Environment* Kernel::make_environment() {
  environments_.push_back(std::make_unique<Environment>());
  return environments_.back().get();
}

Environment* Kernel::environment(void* address) const {
  if (address == nullptr) return nullptr;
  for (const auto& environment : environments_)
    if (environment.get() == address) return environment.get();
  throw std::invalid_argument("the environment of an instance must come from the same kernel");
}

void Kernel::check_slot(Slot slot) const { check_index(slot, values_.size(), "slot"); }

Index Kernel::add(Member member) {
  if (!wires_.empty()) throw std::invalid_argument("instances must be added before wires are stated");
  check_size(member.inputs.references.size(), member.inputs.slots.size(), "the list of input references");
  check_size(member.outputs.references.size(), member.outputs.slots.size(), "the list of output references");
  for (const auto* variables : {&member.inputs, &member.outputs})
    for (std::size_t i = 0; i < variables->slots.size(); ++i) {
      const Slot slot = variables->slots[i];
      check_slot(slot);
      if (is_integer(variables->types[i]) != holds_integer_[slot])
        throw std::invalid_argument("slot " + std::to_string(slot) + " holds " +
                                    (holds_integer_[slot] ? "integers" : "doubles") + ", which its variable has not");
      if (owned_[slot]) throw std::invalid_argument("slot " + std::to_string(slot) + " already belongs to an instance");
      owned_[slot] = true;
    }
  const Index index = members_.size();
  const Variables inputs = of_type(member.inputs, Type::float64);
  const Variables outputs = of_type(member.outputs, Type::float64);
  auto typed_inputs = by_type(member.inputs);
  auto typed_outputs = by_type(member.outputs);
  const bool typed = !typed_inputs.empty() || !typed_outputs.empty();
  if (member.report != nullptr) reports_.push_back(member.report);
  members_.push_back(std::move(member));
  double* const first = input_rates_.data();
  step_parts_.push_back({Window(input_value_.data(), inputs.slots), Window(first, inputs.slots),
                         Window(first + values_.size(), inputs.slots), transfer(index, outputs),
                         std::move(typed_inputs), std::move(typed_outputs)});
  steppers_.push_back(stepper(step_parts_.back(), typed));
  return index;
}

Kernel::Stepper Kernel::stepper(StepParts& parts, bool typed) {
  Transfer& outputs = parts.outputs;
  const std::size_t place = output_references_.size();
  output_references_.insert(output_references_.end(), outputs.references.begin(), outputs.references.end());
  return {
      .instance = outputs.instance,
      .motion = {parts.value.room().data(), parts.first.room().data(), parts.second.room().data(), parts.value.size()},
      .outputs = outputs.values.room().data(),
      .count = static_cast<unsigned>(outputs.slots.size()),
      .first = static_cast<unsigned>(place),
      .special = typed || parts.value.scattered() || outputs.values.scattered() ||
                 outputs.references.size() != outputs.slots.size()};
}

Kernel::Transfer Kernel::transfer(Index instance, const Variables& floats) {
  Instance* const own = members_[instance].instance.get();
  return {own, instance, own->reals, floats.slots, floats.distinct(), Window(values_.data(), floats.slots)};
}

void Kernel::check_wire(const Wire& wire) const {
  check_slot(wire.source);
  check_slot(wire.destination);
  const std::string source = std::to_string(wire.source), destination = std::to_string(wire.destination);
  if (holds_integer_[wire.destination]) {
    if (!holds_integer_[wire.source])
      throw std::invalid_argument("a wire leads from slot " + source + ", a double, to " + destination +
                                  ", an integer");
    if (wire.factor != 1.0 || wire.offset != 0.0)
      throw std::invalid_argument("the wire to slot " + destination + ", an integer, has a factor or an offset");
  }
  if (!wire.table.empty() && !holds_integer_[wire.source])
    throw std::invalid_argument("the wire from slot " + source + ", a double, has a table");
}

void Kernel::connect(const std::vector<Wire>& wires) {
  if (!groups_.empty() || !loops_.empty() || !sweeps_.empty())
    throw std::invalid_argument("wires must be stated before groups, loops and sweeps");
  for (const Wire& wire : wires) {
    check_wire(wire);
    if (wire_into_[wire.destination] != unconnected)
      throw std::invalid_argument("two wires lead to slot " + std::to_string(wire.destination));
    wire_into_[wire.destination] = wires_.size();
    wires_.push_back(wire);
    if (!owned_[wire.destination]) add_wire(outer_wires_, wire);
  }
}

Kernel::Wires Kernel::wires_into(const std::vector<Slot>& slots) const {
  Wires wires;
  for (const Slot slot : slots)
    if (wire_into_[slot] != unconnected) add_wire(wires, wires_[wire_into_[slot]]);
  return wires;
}

void Kernel::add_wire(Wires& wires, const Wire& wire) const {
  if (holds_integer_[wire.source])
    wires.integer.push_back(wire);
  else
    wires.linear.push_back({wire.source, wire.destination, wire.factor, wire.offset});
}

Index Kernel::group(std::vector<Index> instances) {
  Group group;
  std::vector<Slot> slots;
  for (const Index instance : instances) {
    check_index(instance, members_.size(), "instance");
    const Variables& inputs = members_[instance].inputs;
    for (std::size_t i = 0; i < inputs.slots.size(); ++i)
      if (!driven_[inputs.slots[i]])
        (inputs.types[i] == Type::float64 ? group.inputs : group.typed_inputs).push_back(inputs.slots[i]);
    slots.insert(slots.end(), inputs.slots.begin(), inputs.slots.end());
  }
  group.wires = wires_into(slots);
  group.failures.resize(instances.size());
  group.instances = std::move(instances);
  groups_.push_back(std::move(group));
  return groups_.size() - 1;
}

Kernel::ResolvedCall Kernel::resolve(const Call& call) {
  check_index(call.instance, members_.size(), "instance");
  const Member& member = members_[call.instance];
  auto inputs = call.inputs;
  auto outputs = call.outputs;
  std::sort(inputs.begin(), inputs.end());  // neighbours can be set and got in place
  std::sort(outputs.begin(), outputs.end());
  const Variables arriving = some_of(member.inputs, inputs, "input");
  const Variables leaving = some_of(member.outputs, outputs, "output");
  const Variables set = of_type(arriving, Type::float64), got = of_type(leaving, Type::float64);
  Wires wires = wires_into(inputs);
  const bool typed = set.slots.size() + got.slots.size() < inputs.size() + outputs.size() || !wires.integer.empty();
  return {std::move(wires),
          transfer(call.instance, set),
          transfer(call.instance, got),
          by_type(arriving),
          by_type(leaving),
          typed,
          Window(tangent_.data(), set.slots),
          Window(tangent_.data(), got.slots)};
}

Index Kernel::loop(const LoopCalls& calls) {
  const std::size_t m = calls.torn.size();
  check_size(calls.nominal.size(), m, "the list of nominal values");
  if (calls.max_iterations < 1)
    throw std::invalid_argument("max_iterations is " + std::to_string(calls.max_iterations) + ", must be at least 1");
  for (const Slot slot : calls.torn) {
    check_slot(slot);
    if (holds_integer_[slot])
      throw std::invalid_argument("slot " + std::to_string(slot) + " holds integers and cannot be torn");
  }
  for (const Slot slot : calls.held) {
    check_slot(slot);
    if (!holds_integer_[slot])
      throw std::invalid_argument("slot " + std::to_string(slot) + " holds a double, which is torn and not held");
  }
  Loop loop{.torn = {},
            .held = {},
            .body = {},
            .rtol = calls.rtol,
            .atol = calls.atol,
            .max_iterations = calls.max_iterations,
            .chord = std::vector<double>(m * m),
            .open = 0};
  for (std::size_t i = 0; i < m; ++i) loop.torn.push_back({calls.torn[i], calls.nominal[i]});
  for (const Slot slot : calls.held) loop.held.push_back({slot});
  for (const Call& call : calls.body) loop.body.push_back(resolve(call));
  for (std::size_t i = 0; i < m; ++i) loop.chord[i * m + i] = -1.0;
  loops_.push_back(std::move(loop));
  return loops_.size() - 1;
}

Index Kernel::sweep(const std::vector<std::variant<Call, SolveLoop>>& steps) {
  std::vector<std::variant<ResolvedCall, SolveLoop>> resolved;
  for (const auto& step : steps) {
    if (const auto* solve = std::get_if<SolveLoop>(&step)) {
      check_index(solve->loop, loops_.size(), "loop");
      resolved.emplace_back(*solve);
    } else {
      resolved.emplace_back(resolve(std::get<Call>(step)));
    }
  }
  sweeps_.push_back(std::move(resolved));
  return sweeps_.size() - 1;
}

void Kernel::record_slots(const std::vector<Slot>& slots) {
  for (const Slot slot : slots) check_slot(slot);
  recorded_ = Window(values_.data(), slots);
}

// -- inputs ----------------------------------------------------------------------------------------------------

inline void Kernel::copy_linear(const Wires& wires) noexcept {
  for (const auto& wire : wires.linear) values_[wire.destination] = wire.factor * values_[wire.source] + wire.offset;
}

inline void Kernel::copy(const Wires& wires) noexcept {
  copy_linear(wires);
  for (const Wire& wire : wires.integer) copy_integer(wire);
}

void Kernel::copy_integer(const Wire& wire) noexcept {
  std::int64_t number = wire.at_source.of_integer(as_integer(values_[wire.source]));
  if (const auto entry = wire.table.find(number); entry != wire.table.end()) number = entry->second;
  values_[wire.destination] = holds_integer_[wire.destination]
                                  ? as_cell(wire.at_destination.of_integer(number))
                                  : wire.factor * static_cast<double>(number) + wire.offset;
}

void Kernel::move(Slot slot, double value, double first, double second) noexcept {
  input_value_[slot] = value;
  input_rates_[slot] = first;
  input_rates_[values_.size() + slot] = second;
}

const Kernel::Group& Kernel::checked_group(Index group) const {
  check_index(group, groups_.size(), "group");
  return groups_[group];
}

Kernel::Group& Kernel::checked_group(Index group) {
  check_index(group, groups_.size(), "group");
  return groups_[group];
}

void Kernel::exchange(Index group) { copy(checked_group(group).wires); }

void Kernel::hold(Index group) { hold(checked_group(group)); }

void Kernel::hold(const Group& group) noexcept {
  for (const Slot slot : group.inputs) move(slot, values_[slot], 0.0, 0.0);
  stay(group, values_);
}

// Inputs of types other than Float64, over the step.
inline void Kernel::stay(const Group& group, const std::vector<double>& cells) noexcept {
  for (const Slot slot : group.typed_inputs) input_value_[slot] = cells[slot];
}

void Kernel::extrapolate(Index group, int order) {
  check_order(order, max_order);
  extrapolate(checked_group(group), order);
}

void Kernel::extrapolate(const Group& group, int order) noexcept {
  if (accepted_ == 0) return hold(group);
  order = std::min(order, accepted_ - 1);
  const Point& now = accepted(0);
  const Point& before = accepted(1);
  const Point& oldest = accepted(2);
  const double h = now.t - before.t;
  stay(group, now.values);
  for (const Slot slot : group.inputs) {
    const double y0 = now.values[slot];
    if (order == 0) {
      move(slot, y0, 0.0, 0.0);
      continue;
    }
    const double d01 = (y0 - before.values[slot]) / h;
    if (order == 1) {
      move(slot, y0, d01, 0.0);
      continue;
    }
    const double d12 = (before.values[slot] - oldest.values[slot]) / (before.t - oldest.t);
    const double curvature = (d01 - d12) / (now.t - oldest.t);
    move(slot, y0, d01 + curvature * h, 2.0 * curvature);
  }
}

void Kernel::interpolate(Index group, int order, double h) {
  check_order(order, max_order);
  interpolate(checked_group(group), order, h);
}

void Kernel::interpolate(const Group& group, int order, double h) noexcept {
  if (accepted_ == 0) return hold(group);
  order = std::min(order, accepted_);
  const Point& now = accepted(0);
  const Point& before = accepted(1);
  stay(group, now.values);
  for (const Slot slot : group.inputs) {
    const double y0 = now.values[slot];
    const double slope = (values_[slot] - y0) / h;
    if (order == 1) {
      move(slot, y0, slope, 0.0);
      continue;
    }
    const double d01 = (y0 - before.values[slot]) / (now.t - before.t);
    const double curvature = (slope - d01) / (h + (now.t - before.t));
    move(slot, y0, slope - curvature * h, 2.0 * curvature);
  }
}

// -- steps -----------------------------------------------------------------------------------------------------

// These two are in every step several times: inlined, they cost half as much.
inline bool Kernel::set(Transfer& inputs) noexcept {
  if (inputs.values.size() == 0) return true;
  const int status = inputs.reals.set(inputs.references, inputs.values.read());
  return status <= fmi::warning || not_set(inputs, status);
}

inline bool Kernel::get(Transfer& outputs) noexcept {
  const std::span<double> values = outputs.values.room();
  if (values.empty()) return true;
  const int status = outputs.reals.get(outputs.references, values);
  if (status > fmi::warning) return not_got(outputs, status);
  outputs.values.written();
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!std::isfinite(values[i])) return nonfinite(outputs, i);
  return true;
}

Outcome Kernel::advance(Index group, double t, double h) { return result(step_all(checked_group(group), t, h)); }

inline bool Kernel::step(Index index, double t, double h) noexcept {
  const Stepper& stepper = steppers_[index];
  if (stepper.special && !prepare(index)) [[unlikely]]
    return false;
  const Failure failure = stepper.instance->step(t, h, stepper.motion);
  if (failure) [[unlikely]]
    return failed(index, failure);
  return collect(index);
}

// Around a step: what is not part of its motion is set before it, all outputs are got after it.
bool Kernel::prepare(Index index) noexcept {
  StepParts& parts = step_parts_[index];
  parts.gather();
  return set_typed(index, parts.typed_inputs, input_value_);
}

inline bool Kernel::collect(Index index) noexcept {
  const Stepper& stepper = steppers_[index];
  if (stepper.special) [[unlikely]]
    return get(step_parts_[index].outputs) && get_typed(index, step_parts_[index].typed_outputs);
  if (stepper.count == 0) return true;
  const std::span<double> values(stepper.outputs, stepper.count);
  const int status = stepper.instance->reals.get({output_references_.data() + stepper.first, stepper.count}, values);
  if (status > fmi::warning) [[unlikely]]
    return not_got(step_parts_[index].outputs, status);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!std::isfinite(values[i])) [[unlikely]]
      return nonfinite(step_parts_[index].outputs, i);
  return true;
}

bool Kernel::step_one_by_one(const Group& group, double t, double h) noexcept {
  const bool many = group.instances.size() > few;
  for (std::size_t rank = 0; rank < group.instances.size(); ++rank) {
    if (many) fetch(group, rank);
    if (!step(group.instances[rank], t, h)) return false;
  }
  return true;
}

// What FMUs keep is scattered in memory, so that the processor cannot guess what comes next. How much it is only the
// FMU knows; to ask for some lines of it costs next to nothing, and what was not needed is not waited for.
inline void Kernel::fetch(const Group& group, std::size_t rank) const noexcept {
  const std::size_t last = group.instances.size() - 1;
  prefetch<2>(steppers_[group.instances[std::min(rank + 4, last)]].instance);
  prefetch<6>(steppers_[group.instances[std::min(rank + 2, last)]].instance->reals.component());
}

inline bool Kernel::step_all(Group& group, double t, double h) noexcept {
  return !workers_ || group.instances.size() < 2 ? step_one_by_one(group, t, h) : step_together(group, t, h);
}

bool Kernel::step_together(Group& group, double t, double h) noexcept {
  if (group.measured == trials)
    return group.seconds >= worth ? step_in_parallel(group, t, h) : step_one_by_one(group, t, h);
  const auto began = std::chrono::steady_clock::now();
  const bool ok = step_one_by_one(group, t, h);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - began;
  group.seconds = group.measured++ == 0 ? seconds.count() : std::min(group.seconds, seconds.count());
  return ok;
}

// Only the steps are: what is copied and checked before and after them is shared by all.
bool Kernel::step_in_parallel(Group& group, double t, double h) noexcept {
  for (const Index index : group.instances)
    if (steppers_[index].special && !prepare(index)) return false;
  workers_->share(group.instances.size(), [&](std::size_t rank) {
    const Stepper& stepper = steppers_[group.instances[rank]];
    group.failures[rank] = stepper.instance->step(t, h, stepper.motion);
  });
  for (std::size_t rank = 0; rank < group.instances.size(); ++rank) {
    const Index index = group.instances[rank];
    if (group.failures[rank]) return failed(index, group.failures[rank]);
    if (!collect(index)) return false;
  }
  return true;
}

void Kernel::use_threads(std::size_t count) {
  if (count < 1) throw std::invalid_argument("at least 1 thread is needed");
  workers_ = count > 1 ? std::make_unique<Workers>(count) : nullptr;
}

bool Kernel::set_typed(Index index, std::vector<Typed>& inputs, const std::vector<double>& cells) noexcept {
  Instance& instance = *members_[index].instance;
  for (Typed& typed : inputs) {
    if (const auto unfit = typed.pack(cells.data(), texts_)) {
      outcome_ = {.code = Code::range,
                  .instance = static_cast<int>(index),
                  .function = instance.set_function(typed.type),
                  .slot = static_cast<int>(typed.slots[*unfit])};
      return false;
    }
    if (const Failure failure = instance.set(typed)) return failed(index, failure);
  }
  return true;
}

bool Kernel::get_typed(Index index, std::vector<Typed>& outputs) noexcept {
  Instance& instance = *members_[index].instance;
  for (Typed& typed : outputs) {
    if (const Failure failure = instance.get(typed)) return failed(index, failure);
    if (const auto wrong = typed.unpack(values_.data(), texts_)) {
      outcome_ = {.code = Code::nonfinite,
                  .instance = static_cast<int>(index),
                  .function = instance.get_function(typed.type),
                  .slot = static_cast<int>(typed.slots[*wrong])};
      return false;
    }
  }
  return true;
}

bool Kernel::nonfinite(const Transfer& outputs, std::size_t i) noexcept {
  outcome_ = {.code = Code::nonfinite,
              .instance = static_cast<int>(outputs.index),
              .function = outputs.instance->get_function(),
              .slot = static_cast<int>(outputs.slots[i])};
  return false;
}

bool Kernel::not_set(const Transfer& inputs, int status) noexcept {
  return failed(inputs.index, {inputs.instance->set_function(), status});
}

bool Kernel::not_got(const Transfer& outputs, int status) noexcept {
  return failed(outputs.index, {outputs.instance->get_function(), status});
}

bool Kernel::failed(Index instance, const Failure& failure) noexcept {
  outcome_ = {.code = Code::fmi,
              .instance = static_cast<int>(instance),
              .function = failure.function,
              .fmi_status = failure.status};
  return false;
}

inline bool Kernel::perform(ResolvedCall& call) noexcept {
  copy_linear(call.wires);
  if (!call.typed) [[likely]]
    return set(call.inputs) && get(call.outputs);
  for (const Wire& wire : call.wires.integer) copy_integer(wire);
  return set(call.inputs) && set_typed(call.inputs.index, call.typed_inputs, values_) && get(call.outputs) &&
         get_typed(call.outputs.index, call.typed_outputs);
}

Outcome Kernel::evaluate(Index sweep) {
  check_index(sweep, sweeps_.size(), "sweep");
  return result(visit_all(sweep));
}

bool Kernel::visit_all(Index sweep) noexcept {
  for (auto& step : sweeps_[sweep]) {
    const auto* loop = std::get_if<SolveLoop>(&step);
    if (!(loop != nullptr ? solve(loops_[loop->loop]) : perform(*std::get_if<ResolvedCall>(&step)))) return false;
  }
  return true;
}

void Kernel::accept(double t) {
  copy(outer_wires_);
  for (; accepted_ > 0 && accepted(0).t >= t; --accepted_) ++latest_;
  --latest_;
  accepted_ = std::min(accepted_ + 1, points);
  Point& now = accepted(0);
  now.t = t;
  std::copy(values_.begin(), values_.end(), now.values.begin());
}

void Kernel::take_back() {
  if (accepted_ == 0) throw std::invalid_argument("no point was accepted");
  std::copy(accepted(0).values.begin(), accepted(0).values.end(), values_.begin());
}

Outcome Kernel::save(Index group) { return result(save_all(checked_group(group))); }

bool Kernel::save_all(const Group& group) noexcept {
  for (const Index index : group.instances)
    if (const Failure failure = members_[index].instance->save()) return failed(index, failure);
  return true;
}

Outcome Kernel::restore(Index group) {
  for (const Index index : checked_group(group).instances)
    if (!members_[index].instance->has_saved_state())
      throw std::invalid_argument("no state of instance " + std::to_string(index) + " was saved");
  return result(restore_all(checked_group(group)));
}

bool Kernel::restore_all(const Group& group) noexcept {
  for (const Index index : group.instances)
    if (const Failure failure = members_[index].instance->restore()) return failed(index, failure);
  return true;
}

void Kernel::release() noexcept {
  for (Member& member : members_) member.instance->release();
}

// Throws if the program is wrong; what does nothing, such as holding the inputs of no instance, is left out.
std::vector<Kernel::Task> Kernel::tasks(std::span<const Instruction> program) {
  std::vector<Task> tasks;
  std::size_t records = 0;
  for (const Instruction& instruction : program) {
    const auto [op, argument, order] = instruction;
    Task task{op, order, argument, nullptr, &instruction - program.data()};
    if (op == Op::extrapolate || op == Op::interpolate) check_order(order, max_order);
    if (op == Op::record)
      ++records;
    else if (op == Op::evaluate)
      check_index(argument, sweeps_.size(), "sweep");
    else if (op == Op::iterate)
      check_index(argument, iterations_.size(), "iteration");
    else if (op != Op::accept && op != Op::drive && op != Op::forget)
      task.group = &checked_group(argument);
    if (task.group == nullptr || !task.group->instances.empty()) tasks.push_back(task);
  }
  if (records > 1) throw std::invalid_argument("a program may record one row per macro step");
  return tasks;
}

inline bool Kernel::execute(const Task& task, double t, double reached, double h, double* row) {
  switch (task.op) {
    case Op::exchange: copy(task.group->wires); break;
    case Op::hold: hold(*task.group); break;
    case Op::extrapolate: extrapolate(*task.group, task.order); break;
    case Op::interpolate: interpolate(*task.group, task.order, h); break;
    case Op::advance: return step_all(*task.group, t, h);
    case Op::evaluate: return visit_all(task.argument);
    case Op::iterate: return converge(iterations_[task.argument], t, h);
    case Op::save: return save_all(*task.group);
    case Op::accept: accept(reached); break;
    case Op::drive: drive(reached, h); break;
    case Op::forget: accept(long_ago); break;
    case Op::record:
      *row = reached;
      if (const std::span<const double> values = recorded_.read(); !values.empty())
        std::memcpy(row + 1, values.data(), values.size_bytes());
      break;
  }
  return true;
}

Outcome Kernel::run(std::span<const Instruction> program, double start, double h, std::int64_t first,
                    std::span<double> rows, std::int64_t steps) {
  const std::vector<Task> tasks = this->tasks(program);
  const std::size_t width = 1 + recorded_.size();
  check_size(rows.size(), static_cast<std::size_t>(steps) * width, "the array of rows");
  counts_.clear();
  counts_.reserve(static_cast<std::size_t>(steps));
  const bool reporting = !reports_.empty();
  for (std::int64_t k = 0; k < steps; ++k) {
    counts_.push_back(1);
    const double t = start + static_cast<double>(first + k) * h;
    const double reached = start + static_cast<double>(first + k + 1) * h;
    double* row = rows.data() + static_cast<std::size_t>(k) * width;
    for (StepReport* report : reports_) report->reached = std::numeric_limits<double>::quiet_NaN();
    for (const Task& task : tasks) {
      const bool ok = execute(task, t, reached, h, row);
      if (reporting && (task.op == Op::advance || task.op == Op::iterate) &&
          returned_before(reached - close * h))  // what else went wrong in a step that was too long does not count
        return {.code = Code::event, .steps = k, .instruction = task.instruction};
      if (!ok) [[unlikely]] {
        outcome_.steps = k;
        outcome_.instruction = task.instruction;
        return outcome_;
      }
    }
    if (reporting && event_wanted()) return {.steps = k + 1};
  }
  return {.steps = steps};
}

Outcome Kernel::run_through(std::span<const Instruction> step, std::span<const Instruction> jump,
                            std::span<const double> points, std::span<double> rows) {
  const std::vector<Task> steps = tasks(step), jumps = tasks(jump);
  const std::size_t width = 1 + recorded_.size(), count = points.size() / 4;
  check_size(rows.size(), count * width, "the array of rows");
  for (std::size_t k = 0; k < count; ++k) {
    const double t = points[4 * k], h = points[4 * k + 1], to = points[4 * k + 2];
    const bool jumping = h == 0.0;
    if (jumping) {
      courses_.between(to, points[4 * k + 3]);
      courses_.write(to, values_.data());
    }
    for (const Task& task : jumping ? jumps : steps)
      if (!execute(task, t, jumping ? t : to, h, rows.data() + k * width)) [[unlikely]] {
        outcome_.steps = static_cast<std::int64_t>(k);
        outcome_.instruction = task.instruction;
        return outcome_;
      }
  }
  return {.steps = static_cast<std::int64_t>(count)};
}

bool Kernel::returned_before(double end) const noexcept {
  return std::any_of(reports_.begin(), reports_.end(), [end](const auto* report) { return report->reached < end; });
}

bool Kernel::event_wanted() const noexcept {
  return std::any_of(reports_.begin(), reports_.end(), [](const auto* report) { return report->event != 0.0; });
}

// -- iterated steps --------------------------------------------------------------------------------------------

Index Kernel::iteration(IterationCalls calls) {
  for (const Index group : {calls.group, calls.following, calls.held}) check_index(group, groups_.size(), "group");
  check_index(calls.sweep, sweeps_.size(), "sweep");
  check_order(calls.prediction, max_order);
  if (calls.order != 0) check_order(calls.order, max_order);
  if (calls.max_iterations < 1)
    throw std::invalid_argument("max_iterations is " + std::to_string(calls.max_iterations) + ", must be at least 1");
  const std::size_t m = calls.unknowns.size();
  check_size(calls.nominal.size(), m, "the list of nominal values");
  for (const Slot slot : calls.unknowns) {
    check_slot(slot);
    if (holds_integer_[slot])
      throw std::invalid_argument("slot " + std::to_string(slot) + " holds integers and cannot be iterated");
  }
  iterations_.push_back({std::move(calls), std::vector<double>(m), std::vector<double>(m)});
  return iterations_.size() - 1;
}

Kernel::Iteration& Kernel::checked_iteration(Index iteration) {
  check_index(iteration, iterations_.size(), "iteration");
  return iterations_[iteration];
}

std::span<double> Kernel::guess(Index iteration) { return checked_iteration(iteration).x; }
std::span<double> Kernel::tolerance(Index iteration) { return checked_iteration(iteration).tolerance; }

Outcome Kernel::iterate(Index index, double t, double h, bool first) {
  Iteration& iteration = checked_iteration(index);
  if (!first)
    for (const Index instance : groups_[iteration.calls.group].instances)
      if (!members_[instance].instance->has_saved_state())
        throw std::invalid_argument("no state of instance " + std::to_string(instance) + " was saved");
  return result(iterate(iteration, t, h, first));
}

bool Kernel::iterate(Iteration& iteration, double t, double h, bool first) noexcept {
  const IterationCalls& calls = iteration.calls;
  Group& group = groups_[calls.group];
  if (!(first ? save_all(group) : restore_all(group))) return false;
  if (first) {
    predict(iteration, h);
    copy(group.wires);
  }
  for (std::size_t i = 0; i < calls.unknowns.size(); ++i) values_[calls.unknowns[i]] = iteration.x[i];
  hold(groups_[calls.held]);
  if (calls.order != 0)
    interpolate(groups_[calls.following], calls.order, h);
  else
    hold(groups_[calls.following]);
  if (!step_all(group, t, h) || !visit_all(calls.sweep)) return false;
  copy(group.wires);
  return true;
}

// Where the polynomial through the accepted points leads.
void Kernel::predict(Iteration& iteration, double h) noexcept {
  const IterationCalls& calls = iteration.calls;
  extrapolate(groups_[calls.group], calls.prediction);
  for (std::size_t i = 0; i < calls.unknowns.size(); ++i) {
    const Slot slot = calls.unknowns[i];
    const double x = input_value_[slot] + h * input_rates_[slot] + h * h / 2 * input_rates_[values_.size() + slot];
    iteration.x[i] = x;
    iteration.tolerance[i] = calls.absolute + calls.relative * std::max(std::abs(x), calls.nominal[i]);
  }
}

bool Kernel::converge(Iteration& iteration, double t, double h) noexcept {
  const IterationCalls& calls = iteration.calls;
  double least = std::numeric_limits<double>::infinity();
  std::int64_t count = 1;
  for (;; ++count) {
    if (!iterate(iteration, t, h, count == 1)) {
      outcome_.iterations = count;
      return false;
    }
    double excess = 0.0;
    for (std::size_t i = 0; i < calls.unknowns.size(); ++i) {
      const double own = std::abs(values_[calls.unknowns[i]] - iteration.x[i]) / iteration.tolerance[i];
      if (!(own <= excess) && !std::isnan(excess)) excess = own;
    }
    if (excess <= 1.0) {
      counts_.back() = std::max(counts_.back(), count);
      return true;
    }
    if (count == calls.max_iterations || !(excess <= calls.growth * least)) break;
    least = std::min(least, excess);
    for (std::size_t i = 0; i < calls.unknowns.size(); ++i) {
      const double nominal = calls.nominal[i], x = iteration.x[i] / nominal;
      const double found = values_[calls.unknowns[i]] / nominal;
      iteration.x[i] = nominal * (calls.relaxation == 1.0 ? found : x + calls.relaxation * (found - x));
    }
  }
  outcome_ = {.code = Code::coupling, .iterations = count};
  return false;
}

// -- algebraic loops -------------------------------------------------------------------------------------------

inline bool Kernel::evaluate_body(Loop& loop) noexcept {
  for (const Torn& torn : loop.torn) values_[torn.slot] = torn.x;
  for (Held& held : loop.held) held.found = values_[held.slot];
  bool ok = true;
  for (ResolvedCall& call : loop.body)
    if (!perform(call)) [[unlikely]] {
      outcome_.loop = number(loop);
      ok = false;
      break;
    }
  for (Held& held : loop.held) std::swap(held.found, values_[held.slot]);
  return ok;
}

// The first of the held slots that changes, or `unconnected`; all of them now have what they came out as.
inline std::size_t Kernel::settle(Loop& loop) noexcept {
  std::size_t changed = unconnected;
  for (const Held& held : loop.held) {
    if (changed == unconnected && as_integer(held.found) != as_integer(values_[held.slot])) changed = held.slot;
    values_[held.slot] = held.found;
  }
  return changed;
}

bool Kernel::settle(Index index) {
  check_index(index, loops_.size(), "loop");
  return settle(loops_[index]) != unconnected;
}

bool Kernel::solve(Loop& loop) noexcept {
  ++loops_solved_;
  for (Torn& torn : loop.torn) torn.x = torn.first = values_[torn.slot];
  for (std::int64_t iteration = 0; iteration < loop.max_iterations; ++iteration) {
    ++loop_iterations_;
    if (!evaluate_body(loop)) [[unlikely]] {
      // After the first iteration a guess is to blame: an iterate ran away.
      if (outcome_.code != Code::nonfinite || iteration == 0) return false;
      outcome_.code = Code::loop;
      return unsolved(loop);
    }
    if (converged(loop)) {
      const std::size_t changed = settle(loop);
      if (changed == unconnected) [[likely]]
        return true;
      loop.open = changed;
      continue;
    }
    const double* factor = loop.chord.data();
    for (Torn& torn : loop.torn) {
      double correction = 0.0;
      for (const Torn& other : loop.torn) correction += *factor++ * other.residual;
      torn.x -= correction;
    }
  }
  outcome_ = {.code = Code::loop, .loop = number(loop), .slot = static_cast<int>(loop.open)};
  return unsolved(loop);
}

// A better method may start where this one did: iterates that ran away lead nowhere.
bool Kernel::unsolved(const Loop& loop) noexcept {
  for (const Torn& torn : loop.torn) values_[torn.slot] = torn.first;
  return false;
}

inline bool Kernel::converged(Loop& loop) noexcept {
  bool all = true;
  for (Torn& torn : loop.torn) {
    torn.residual = values_[torn.slot] - torn.x;
    const double tolerance = loop.atol + loop.rtol * std::max(std::abs(torn.x), torn.nominal);
    if (!(std::abs(torn.residual) <= tolerance)) {
      if (all) loop.open = torn.slot;
      all = false;
    }
  }
  return all;
}

Outcome Kernel::residual(Index index, std::span<const double> x, std::span<double> g) {
  check_index(index, loops_.size(), "loop");
  Loop& loop = loops_[index];
  check_size(x.size(), loop.torn.size(), "x");
  for (std::size_t i = 0; i < x.size(); ++i) loop.torn[i].x = x[i];
  const bool ok = evaluate_body(loop);
  for (std::size_t i = 0; i < x.size(); ++i) g[i] = values_[loop.torn[i].slot];
  return result(ok);
}

Outcome Kernel::jacobian_product(Index index, std::span<const double> seed, std::span<double> product) {
  check_index(index, loops_.size(), "loop");
  Loop& loop = loops_[index];
  check_size(seed.size(), loop.torn.size(), "the seed");
  std::fill(tangent_.begin(), tangent_.end(), 0.0);
  for (std::size_t i = 0; i < seed.size(); ++i) tangent_[loop.torn[i].slot] = seed[i];
  bool ok = true;
  for (ResolvedCall& call : loop.body) {
    // Integers do not move.
    for (const auto& wire : call.wires.linear) tangent_[wire.destination] = wire.factor * tangent_[wire.source];
    const std::span<double> sensitivity = call.output_tangents.room();
    const std::span<const double> direction = call.input_tangents.read();
    std::fill(sensitivity.begin(), sensitivity.end(), 0.0);
    Failure failure;
    if (!direction.empty() && !sensitivity.empty())
      failure =
          call.outputs.instance->directional(call.outputs.references, call.inputs.references, direction, sensitivity);
    if (failure) {
      ok = failed(call.outputs.index, failure);
      outcome_.loop = static_cast<int>(index);
      break;
    }
    call.output_tangents.written();
  }
  for (std::size_t i = 0; i < seed.size(); ++i) product[i] = tangent_[loop.torn[i].slot];
  return result(ok);
}

void Kernel::set_chord(Index index, std::span<const double> matrix) {
  check_index(index, loops_.size(), "loop");
  Loop& loop = loops_[index];
  check_size(matrix.size(), loop.chord.size(), "the chord matrix");
  std::copy(matrix.begin(), matrix.end(), loop.chord.begin());
}

}  // namespace ssptool
