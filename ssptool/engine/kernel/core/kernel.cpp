#include "kernel.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <stdexcept>
#include <utility>

namespace ssptool {

namespace {

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

std::vector<fmi::Reference> references(const std::vector<Slot>& slots, const std::vector<Slot>& known,
                                       const std::vector<fmi::Reference>& references, const char* kind) {
  std::vector<fmi::Reference> found;
  found.reserve(slots.size());
  for (const Slot slot : slots) {
    const auto place = std::find(known.begin(), known.end(), slot);
    if (place == known.end())
      throw std::invalid_argument("slot " + std::to_string(slot) + " is no " + kind + " of the instance called");
    found.push_back(references[static_cast<std::size_t>(place - known.begin())]);
  }
  return found;
}

Outcome failed(Index instance, const Failure& failure) noexcept {
  return {.code = Code::fmi,
          .instance = static_cast<int>(instance),
          .function = failure.function,
          .fmi_status = failure.status};
}

}  // namespace

// -- tables ----------------------------------------------------------------------------------------------------

Kernel::Kernel(std::size_t slots)
    : values_(slots),
      input_value_(slots),
      input_rates_(max_order * slots),
      tangent_(slots),
      owned_(slots),
      wire_into_(slots, unconnected) {
  for (Point& point : history_) point.values.resize(slots);
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
  check_size(member.input_references.size(), member.inputs.size(), "the list of input references");
  check_size(member.output_references.size(), member.outputs.size(), "the list of output references");
  for (const auto* slots : {&member.inputs, &member.outputs})
    for (const Slot slot : *slots) {
      check_slot(slot);
      if (owned_[slot]) throw std::invalid_argument("slot " + std::to_string(slot) + " already belongs to an instance");
      owned_[slot] = true;
    }
  const std::size_t n = member.inputs.size();
  Stepper stepper;
  stepper.outputs = {member.outputs, member.output_references, std::vector<double>(member.outputs.size())};
  stepper.inputs = member.inputs;
  stepper.value.resize(n);
  stepper.first.resize(n);
  stepper.second.resize(n);
  steppers_.push_back(std::move(stepper));
  members_.push_back(std::move(member));
  return members_.size() - 1;
}

void Kernel::connect(const std::vector<Wire>& wires) {
  if (!groups_.empty() || !loops_.empty() || !sweeps_.empty())
    throw std::invalid_argument("wires must be stated before groups, loops and sweeps");
  for (const Wire& wire : wires) {
    check_slot(wire.source);
    check_slot(wire.destination);
    if (wire_into_[wire.destination] != unconnected)
      throw std::invalid_argument("two wires lead to slot " + std::to_string(wire.destination));
    wire_into_[wire.destination] = wires_.size();
    wires_.push_back(wire);
    if (!owned_[wire.destination]) outer_wires_.push_back(wire);
  }
}

std::vector<Wire> Kernel::wires_into(const std::vector<Slot>& slots) const {
  std::vector<Wire> wires;
  for (const Slot slot : slots)
    if (wire_into_[slot] != unconnected) wires.push_back(wires_[wire_into_[slot]]);
  return wires;
}

Index Kernel::group(std::vector<Index> instances) {
  for (const Index instance : instances) {
    check_index(instance, members_.size(), "instance");
    steppers_[instance].wires = wires_into(steppers_[instance].inputs);
  }
  groups_.push_back(std::move(instances));
  return groups_.size() - 1;
}

Kernel::ResolvedCall Kernel::resolve(const Call& call) const {
  check_index(call.instance, members_.size(), "instance");
  const Member& member = members_[call.instance];
  auto input_references = references(call.inputs, member.inputs, member.input_references, "input");
  auto output_references = references(call.outputs, member.outputs, member.output_references, "output");
  return {call.instance,
          wires_into(call.inputs),
          {call.inputs, std::move(input_references), std::vector<double>(call.inputs.size())},
          {call.outputs, std::move(output_references), std::vector<double>(call.outputs.size())}};
}

Index Kernel::loop(const LoopCalls& calls) {
  const std::size_t m = calls.torn.size();
  check_size(calls.nominal.size(), m, "the list of nominal values");
  if (calls.max_iterations < 1)
    throw std::invalid_argument("max_iterations is " + std::to_string(calls.max_iterations) + ", must be at least 1");
  for (const Slot slot : calls.torn) check_slot(slot);
  Loop loop{.torn = calls.torn,
            .body = {},
            .nominal = calls.nominal,
            .rtol = calls.rtol,
            .atol = calls.atol,
            .max_iterations = calls.max_iterations,
            .chord = std::vector<double>(m * m),
            .x = std::vector<double>(m),
            .residual = std::vector<double>(m)};
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

void Kernel::record_slots(std::vector<Slot> slots) {
  for (const Slot slot : slots) check_slot(slot);
  recorded_ = std::move(slots);
}

// -- inputs ----------------------------------------------------------------------------------------------------

void Kernel::copy(std::span<const Wire> wires) noexcept {
  for (const Wire& wire : wires) values_[wire.destination] = wire.factor * values_[wire.source] + wire.offset;
}

void Kernel::move(Slot slot, double value, double first, double second) noexcept {
  input_value_[slot] = value;
  input_rates_[slot] = first;
  input_rates_[values_.size() + slot] = second;
}

template <class Visit>
void Kernel::each_input(Index group, Visit visit) {
  for (const Index instance : groups_[group])
    for (const Slot slot : steppers_[instance].inputs) visit(slot);
}

void Kernel::exchange(Index group) {
  check_index(group, groups_.size(), "group");
  for (const Index instance : groups_[group]) copy(steppers_[instance].wires);
}

void Kernel::hold(Index group) {
  check_index(group, groups_.size(), "group");
  each_input(group, [this](Slot slot) { move(slot, values_[slot], 0.0, 0.0); });
}

void Kernel::extrapolate(Index group, int order) {
  check_index(group, groups_.size(), "group");
  check_order(order, max_order);
  if (accepted_ == 0) return hold(group);
  order = std::min(order, accepted_ - 1);
  const auto& [now, before, oldest] = history_;
  each_input(group, [&](Slot slot) {
    const double y0 = now.values[slot];
    if (order == 0) return move(slot, y0, 0.0, 0.0);
    const double d01 = (y0 - before.values[slot]) / (now.t - before.t);
    if (order == 1) return move(slot, y0, d01, 0.0);
    const double d12 = (before.values[slot] - oldest.values[slot]) / (before.t - oldest.t);
    const double curvature = (d01 - d12) / (now.t - oldest.t);
    move(slot, y0, d01 + curvature * (now.t - before.t), 2.0 * curvature);
  });
}

void Kernel::interpolate(Index group, int order, double h) {
  check_index(group, groups_.size(), "group");
  check_order(order, max_order);
  if (accepted_ == 0) return hold(group);
  order = std::min(order, accepted_);
  const Point& now = history_[0];
  const Point& before = history_[1];
  each_input(group, [&](Slot slot) {
    const double y0 = now.values[slot];
    const double slope = (values_[slot] - y0) / h;
    if (order == 1) return move(slot, y0, slope, 0.0);
    const double d01 = (y0 - before.values[slot]) / (now.t - before.t);
    const double curvature = (slope - d01) / (h + (now.t - before.t));
    move(slot, y0, slope - curvature * h, 2.0 * curvature);
  });
}

// -- steps -----------------------------------------------------------------------------------------------------

Outcome Kernel::advance(Index group, double t, double h) {
  check_index(group, groups_.size(), "group");
  const std::size_t n = values_.size();
  for (const Index index : groups_[group]) {
    Stepper& stepper = steppers_[index];
    for (std::size_t i = 0; i < stepper.inputs.size(); ++i) {
      stepper.value[i] = input_value_[stepper.inputs[i]];
      stepper.first[i] = input_rates_[stepper.inputs[i]];
      stepper.second[i] = input_rates_[n + stepper.inputs[i]];
    }
    const Motion motion{stepper.value, stepper.first, stepper.second};
    if (const Failure failure = members_[index].instance->step(t, h, motion)) return failed(index, failure);
    if (const Outcome outcome = get(index, stepper.outputs); !outcome.ok()) return outcome;
  }
  return {};
}

Outcome Kernel::get(Index index, Transfer& outputs) noexcept {
  if (outputs.slots.empty()) return {};
  Instance& instance = *members_[index].instance;
  if (const Failure failure = instance.get(outputs.references, outputs.buffer)) return failed(index, failure);
  for (std::size_t i = 0; i < outputs.slots.size(); ++i) values_[outputs.slots[i]] = outputs.buffer[i];
  for (const Slot slot : outputs.slots)
    if (!std::isfinite(values_[slot]))
      return {.code = Code::nonfinite,
              .instance = static_cast<int>(index),
              .function = instance.get_function(),
              .slot = static_cast<int>(slot)};
  return {};
}

Outcome Kernel::perform(ResolvedCall& call) noexcept {
  copy(call.wires);
  Transfer& inputs = call.inputs;
  if (!inputs.slots.empty()) {
    for (std::size_t i = 0; i < inputs.slots.size(); ++i) inputs.buffer[i] = values_[inputs.slots[i]];
    if (const Failure failure = members_[call.instance].instance->set(inputs.references, inputs.buffer))
      return failed(call.instance, failure);
  }
  return get(call.instance, call.outputs);
}

Outcome Kernel::evaluate(Index sweep) {
  check_index(sweep, sweeps_.size(), "sweep");
  for (auto& step : sweeps_[sweep]) {
    const auto* loop = std::get_if<SolveLoop>(&step);
    const Outcome outcome = loop != nullptr ? solve(loop->loop) : perform(std::get<ResolvedCall>(step));
    if (!outcome.ok()) return outcome;
  }
  return {};
}

void Kernel::accept(double t) {
  copy(outer_wires_);
  while (accepted_ > 0 && history_[0].t >= t) {
    std::rotate(history_.begin(), history_.begin() + 1, history_.end());
    --accepted_;
  }
  std::rotate(history_.begin(), history_.end() - 1, history_.end());
  history_[0].t = t;
  std::copy(values_.begin(), values_.end(), history_[0].values.begin());
  accepted_ = std::min(accepted_ + 1, max_order + 1);
}

Outcome Kernel::save(Index group) {
  check_index(group, groups_.size(), "group");
  for (const Index index : groups_[group])
    if (const Failure failure = members_[index].instance->save()) return failed(index, failure);
  return {};
}

Outcome Kernel::restore(Index group) {
  check_index(group, groups_.size(), "group");
  for (const Index index : groups_[group])
    if (!members_[index].instance->has_saved_state())
      throw std::invalid_argument("no state of instance " + std::to_string(index) + " was saved");
  for (const Index index : groups_[group])
    if (const Failure failure = members_[index].instance->restore()) return failed(index, failure);
  return {};
}

void Kernel::release() noexcept {
  for (Member& member : members_) member.instance->release();
}

void Kernel::check_program(std::span<const Instruction> program) const {
  std::size_t records = 0;
  for (const Instruction& instruction : program) {
    if (instruction.op == Op::extrapolate || instruction.op == Op::interpolate)
      check_order(instruction.order, max_order);
    if (instruction.op == Op::record)
      ++records;
    else if (instruction.op == Op::evaluate)
      check_index(instruction.argument, sweeps_.size(), "sweep");
    else if (instruction.op != Op::accept)
      check_index(instruction.argument, groups_.size(), "group");
  }
  if (records > 1) throw std::invalid_argument("a program may record one row per macro step");
}

Outcome Kernel::run(std::span<const Instruction> program, double start, double h, std::int64_t first,
                    std::span<double> rows, std::int64_t steps) {
  check_program(program);
  const std::size_t width = 1 + recorded_.size();
  check_size(rows.size(), static_cast<std::size_t>(steps) * width, "the array of rows");
  for (std::int64_t k = 0; k < steps; ++k) {
    const double t = start + static_cast<double>(first + k) * h;
    const double reached = start + static_cast<double>(first + k + 1) * h;
    const auto row = rows.subspan(static_cast<std::size_t>(k) * width, width);
    for (const Instruction& instruction : program) {
      Outcome outcome = execute(instruction, t, reached, h, row);
      if (!outcome.ok()) {
        outcome.steps = k;
        return outcome;
      }
    }
  }
  return {.steps = steps};
}

Outcome Kernel::execute(const Instruction& instruction, double t, double reached, double h, std::span<double> row) {
  const Index argument = instruction.argument;
  switch (instruction.op) {
    case Op::exchange: exchange(argument); break;
    case Op::hold: hold(argument); break;
    case Op::extrapolate: extrapolate(argument, instruction.order); break;
    case Op::interpolate: interpolate(argument, instruction.order, h); break;
    case Op::advance: return advance(argument, t, h);
    case Op::evaluate: return evaluate(argument);
    case Op::accept: accept(reached); break;
    case Op::record:
      row[0] = reached;
      for (std::size_t i = 0; i < recorded_.size(); ++i) row[1 + i] = values_[recorded_[i]];
      break;
  }
  return {};
}

// -- algebraic loops -------------------------------------------------------------------------------------------

Outcome Kernel::evaluate_body(Index index, std::span<const double> x) noexcept {
  Loop& loop = loops_[index];
  for (std::size_t i = 0; i < loop.torn.size(); ++i) values_[loop.torn[i]] = x[i];
  for (ResolvedCall& call : loop.body) {
    Outcome outcome = perform(call);
    if (!outcome.ok()) {
      outcome.loop = static_cast<int>(index);
      return outcome;
    }
  }
  return {};
}

Outcome Kernel::solve(Index index) noexcept {
  Loop& loop = loops_[index];
  const std::size_t m = loop.torn.size();
  for (std::size_t i = 0; i < m; ++i) loop.x[i] = values_[loop.torn[i]];
  std::optional<Slot> open;
  for (std::int64_t iteration = 0; iteration < loop.max_iterations; ++iteration) {
    Outcome outcome = evaluate_body(index, loop.x);
    // After the first iteration a guess is to blame: an iterate ran away.
    if (outcome.code == Code::nonfinite && iteration > 0) outcome.code = Code::loop;
    if (!outcome.ok()) return outcome;
    open.reset();
    for (std::size_t i = 0; i < m; ++i) loop.residual[i] = values_[loop.torn[i]] - loop.x[i];
    for (std::size_t i = 0; i < m && !open; ++i) {
      const double tolerance = loop.atol + loop.rtol * std::max(std::abs(loop.x[i]), loop.nominal[i]);
      if (!(std::abs(loop.residual[i]) <= tolerance)) open = loop.torn[i];
    }
    if (!open) return {};
    for (std::size_t i = 0; i < m; ++i) {
      double correction = 0.0;
      for (std::size_t j = 0; j < m; ++j) correction += loop.chord[i * m + j] * loop.residual[j];
      loop.x[i] -= correction;
    }
  }
  return {.code = Code::loop, .loop = static_cast<int>(index), .slot = open ? static_cast<int>(*open) : -1};
}

Outcome Kernel::residual(Index index, std::span<const double> x, std::span<double> g) {
  check_index(index, loops_.size(), "loop");
  const Loop& loop = loops_[index];
  check_size(x.size(), loop.torn.size(), "x");
  const Outcome outcome = evaluate_body(index, x);
  for (std::size_t i = 0; i < loop.torn.size(); ++i) g[i] = values_[loop.torn[i]];
  return outcome;
}

Outcome Kernel::jacobian_product(Index index, std::span<const double> seed, std::span<double> product) {
  check_index(index, loops_.size(), "loop");
  Loop& loop = loops_[index];
  check_size(seed.size(), loop.torn.size(), "the seed");
  std::fill(tangent_.begin(), tangent_.end(), 0.0);
  for (std::size_t i = 0; i < loop.torn.size(); ++i) tangent_[loop.torn[i]] = seed[i];
  Outcome outcome;
  for (ResolvedCall& call : loop.body) {
    for (const Wire& wire : call.wires) tangent_[wire.destination] = wire.factor * tangent_[wire.source];
    Transfer& inputs = call.inputs;
    Transfer& outputs = call.outputs;
    std::fill(outputs.buffer.begin(), outputs.buffer.end(), 0.0);
    if (!inputs.slots.empty() && !outputs.slots.empty()) {
      for (std::size_t i = 0; i < inputs.slots.size(); ++i) inputs.buffer[i] = tangent_[inputs.slots[i]];
      const Failure failure = members_[call.instance].instance->directional(outputs.references, inputs.references,
                                                                            inputs.buffer, outputs.buffer);
      if (failure) {
        outcome = failed(call.instance, failure);
        outcome.loop = static_cast<int>(index);
        break;
      }
    }
    for (std::size_t i = 0; i < outputs.slots.size(); ++i) tangent_[outputs.slots[i]] = outputs.buffer[i];
  }
  for (std::size_t i = 0; i < loop.torn.size(); ++i) product[i] = tangent_[loop.torn[i]];
  return outcome;
}

void Kernel::set_chord(Index index, std::span<const double> matrix) {
  check_index(index, loops_.size(), "loop");
  Loop& loop = loops_[index];
  check_size(matrix.size(), loop.chord.size(), "the chord matrix");
  std::copy(matrix.begin(), matrix.end(), loop.chord.begin());
}

}  // namespace ssptool
