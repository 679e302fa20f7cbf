#include "kernel.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "checks.hpp"

namespace ssptool {

namespace {

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
      wires_(slots),
      recorded_(values_.data(), {}) {
  for (Point& point : history_) point.own.resize(slots);
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
  if (member.report != nullptr) reports_.push_back(member.report);
  instances_.push_back(member.instance.get());
  members_.push_back(std::move(member));
  add_stepper(index);
  return index;
}

void Kernel::add_stepper(Index index) {
  const Variables inputs = of_type(members_[index].inputs, Type::float64);
  double* const first = input_rates_.data();
  StepParts parts{.value = Window(input_value_.data(), inputs.slots),
                  .first = Window(first, inputs.slots),
                  .second = Window(first + values_.size(), inputs.slots),
                  .motion = {},
                  .inputs = {},
                  .outputs = transfer(index, of_type(members_[index].outputs, Type::float64)),
                  .typed_inputs = by_type(members_[index].inputs),
                  .typed_outputs = by_type(members_[index].outputs)};
  parts.motion = {parts.value.room().data(), parts.first.room().data(), parts.second.room().data(), parts.value.size()};
  const bool typed = !parts.typed_inputs.empty() || !parts.typed_outputs.empty();
  const Access own = access(transfer(index, inputs), parts.outputs, typed);
  steppers_.push_back({own, own.special ? nullptr : instances_[index]->plain_step()});
  step_parts_.push_back(std::move(parts));
}

Kernel::Transfer Kernel::transfer(Index index, const Variables& floats) {
  return {index, floats.slots, floats.distinct(), Window(values_.data(), floats.slots)};
}

Kernel::Access Kernel::access(const Transfer& inputs, const Transfer& outputs, bool typed) {
  Access access{.reals = instances_[inputs.instance]->reals};
  access.special = typed || !inputs.plain() || !outputs.plain();
  if (access.special) return access;
  access.input_count = static_cast<std::uint16_t>(inputs.slots.size());
  access.output_count = static_cast<std::uint16_t>(outputs.slots.size());
  access.input_references = place_of(inputs.references);
  access.output_references = place_of(outputs.references);
  if (!inputs.slots.empty()) access.inputs = static_cast<Small>(inputs.slots.front());
  if (!outputs.slots.empty()) access.outputs = static_cast<Small>(outputs.slots.front());
  return access;
}

// Components of one kind share theirs.
Kernel::Small Kernel::place_of(const std::vector<fmi::Reference>& references) {
  const auto [known, added] = known_references_.try_emplace(references, static_cast<Small>(references_.size()));
  if (added) references_.insert(references_.end(), references.begin(), references.end());
  return known->second;
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
  for (Wire wire : wires) {
    check_wire(wire);
    if (wires_.lead_to(wire.destination))
      throw std::invalid_argument("two wires lead to slot " + std::to_string(wire.destination));
    wire.from_integer = holds_integer_[wire.source];
    wire.to_integer = holds_integer_[wire.destination];
    wires_.add(wire);
    if (!owned_[wire.destination]) outer_.push_back(wire.destination);
  }
  outer_wires_ = wires_.set(outer_);
}

Index Kernel::group(const std::vector<Index>& instances) {
  Group group;
  std::vector<Slot> slots;
  for (const Index instance : instances) {
    check_index(instance, members_.size(), "instance");
    const Inputs& own = step_parts_[instance].inputs = inputs_of(instance);
    group.inputs.floats.insert(group.inputs.floats.end(), own.floats.begin(), own.floats.end());
    group.inputs.typed.insert(group.inputs.typed.end(), own.typed.begin(), own.typed.end());
    const std::vector<Slot>& all = members_[instance].inputs.slots;
    if (own.floats.size() + own.typed.size() < all.size()) steppers_[instance].plain_step = nullptr;  // some are driven
    slots.insert(slots.end(), all.begin(), all.end());
    group.instances.push_back(static_cast<Small>(instance));
  }
  group.wires = wires_.set(slots);
  group.failures.resize(instances.size());
  groups_.push_back(std::move(group));
  return groups_.size() - 1;
}

Kernel::Inputs Kernel::inputs_of(Index instance) const {
  Inputs found;
  const Variables& inputs = members_[instance].inputs;
  for (std::size_t i = 0; i < inputs.slots.size(); ++i)
    if (!driven_[inputs.slots[i]])
      (inputs.types[i] == Type::float64 ? found.floats : found.typed).push_back(static_cast<Small>(inputs.slots[i]));
  return found;
}

Kernel::CallRange Kernel::resolve(const std::vector<Call>& calls) {
  const auto first = static_cast<Small>(calls_.size());
  for (const Call& call : calls) resolve(call);
  return {first, static_cast<Small>(calls_.size())};
}

void Kernel::resolve(const Call& call) {
  check_index(call.instance, members_.size(), "instance");
  const Member& member = members_[call.instance];
  auto inputs = call.inputs;
  auto outputs = call.outputs;
  std::sort(inputs.begin(), inputs.end());  // neighbours can be set and got in place
  std::sort(outputs.begin(), outputs.end());
  const Variables arriving = some_of(member.inputs, inputs, "input");
  const Variables leaving = some_of(member.outputs, outputs, "output");
  const Variables set = of_type(arriving, Type::float64), got = of_type(leaving, Type::float64);
  const bool typed = set.slots.size() + got.slots.size() < inputs.size() + outputs.size();
  ResolvedCall resolved{
      transfer(call.instance, set),       transfer(call.instance, got),      by_type(arriving), by_type(leaving),
      Window(tangent_.data(), set.slots), Window(tangent_.data(), got.slots)};
  calls_.push_back(
      {access(resolved.inputs, resolved.outputs, typed), static_cast<Small>(call.instance), wires_.set(inputs)});
  resolved_calls_.push_back(std::move(resolved));
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
            .body = resolve(calls.body),
            .rtol = calls.rtol,
            .atol = calls.atol,
            .max_iterations = calls.max_iterations,
            .chord = std::vector<double>(m * m),
            .open = 0};
  for (std::size_t i = 0; i < m; ++i) loop.torn.push_back({calls.torn[i], calls.nominal[i]});
  for (const Slot slot : calls.held) loop.held.push_back({slot});
  for (std::size_t i = 0; i < m; ++i) loop.chord[i * m + i] = -1.0;
  loops_.push_back(std::move(loop));
  return loops_.size() - 1;
}

Index Kernel::sweep(const std::vector<std::variant<Call, SolveLoop>>& steps) {
  std::vector<SweepPart> parts;
  std::vector<Call> calls;
  for (const auto& step : steps) {
    if (const auto* solve = std::get_if<SolveLoop>(&step)) {
      check_index(solve->loop, loops_.size(), "loop");
      parts.push_back({resolve(std::exchange(calls, {})), solve->loop});
    } else {
      calls.push_back(std::get<Call>(step));
    }
  }
  if (!calls.empty()) parts.push_back({resolve(calls), none});
  sweeps_.push_back(std::move(parts));
  return sweeps_.size() - 1;
}

void Kernel::record_slots(const std::vector<Slot>& slots) {
  for (const Slot slot : slots) check_slot(slot);
  recorded_ = Window(values_.data(), slots);
  records_everything_ = !recorded_.scattered() && slots.size() == values_.size() && (slots.empty() || slots[0] == 0);
}

}  // namespace ssptool
