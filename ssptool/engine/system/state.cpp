#include "state.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <type_traits>
#include <variant>

namespace ssptool::runtime {

namespace {

constexpr const char* begin_of_state = "ssptool state 5";

void check(bool sound) {
  if (!sound) throw std::runtime_error("the state is damaged");
}

// `visit` names each thing to be stored once; a Writer appends it, and a Reader fills it.
class Writer {
 public:
  template <class T>
  void operator()(const T& thing) {
    if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>)
      bytes_.append(reinterpret_cast<const char*>(&thing), sizeof thing);
    else
      visit(*this, const_cast<T&>(thing));  // a Writer does not change it
  }
  void operator()(const std::string& text) {
    (*this)(text.size());
    bytes_ += text;
  }
  template <class T>
  void operator()(const std::vector<T>& things) {
    (*this)(things.size());
    for (const T& thing : things) (*this)(thing);
  }
  std::string bytes_;
};

class Reader {
 public:
  explicit Reader(const std::string& bytes) : bytes_(bytes) {}

  template <class T>
  void operator()(T& thing) {
    if constexpr (std::is_same_v<T, bool>) {  // which has two values, whatever is in the byte
      const char byte = *next(1);
      check(byte == 0 || byte == 1);
      thing = byte == 1;
    } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
      std::memcpy(&thing, next(sizeof thing), sizeof thing);
    } else {
      visit(*this, thing);
    }
  }
  void operator()(std::string& text) {
    const std::size_t size = count();
    text.assign(next(size), size);
  }
  template <class T>
  void operator()(std::vector<T>& things) {
    things.resize(count());
    for (T& thing : things) (*this)(thing);
  }
  [[nodiscard]] bool at_end() const noexcept { return place_ == bytes_.size(); }

 private:
  // Every element takes at least one byte, so a wrong count cannot allocate more than that.
  std::size_t count() {
    std::size_t size = 0;
    (*this)(size);
    if (size > bytes_.size() - place_) throw std::runtime_error("the state is incomplete");
    return size;
  }
  const char* next(std::size_t size) {
    if (size > bytes_.size() - place_) throw std::runtime_error("the state is incomplete");
    const char* const found = bytes_.data() + place_;
    place_ += size;
    return found;
  }

  const std::string& bytes_;
  std::size_t place_ = 0;
};

template <class Visitor>
void visit(Visitor& each, SlotContents& contents) {
  each(contents.values);
  each(contents.texts);
}

template <class Visitor>
void visit(Visitor& each, SavedPoint& point) {
  each(point.t);
  each(point.after_event);
  each(point.replaces);
  each(point.contents);
}

template <class Visitor>
void visit(Visitor& each, SavedLoop& loop) {
  each(loop.rtol);
  each(loop.chord);
}

template <class Visitor>
void visit(Visitor& each, SavedIteration& iteration) {
  each(iteration.memory.given_up);
  each(iteration.memory.misses);
  each(iteration.memory.secants.columns);
  each(iteration.memory.secants.changes);
  each(iteration.memory.secants.answers);
  each(iteration.memory.jacobian.differences);
  each(iteration.memory.jacobian.free);
  each(iteration.memory.jacobian.inverse);
  AcceptedSteps& accepted = iteration.accepted;
  each(accepted.floor);
  each(accepted.noisy);
  each(accepted.level);
  each(accepted.signal);
  each(accepted.time);
  each(accepted.damped);
  each(accepted.damped_from);
  each(accepted.unrepeated);
  each(accepted.unrepeated_from);
  each(accepted.failed);
  each(accepted.failed_damped);
  each(accepted.unconverged);
  each(accepted.residual);
  each(accepted.open_signal);
  each(accepted.open_time);
  each(accepted.grows);
  each(accepted.steps);
  each(accepted.unplanned);
  each(accepted.trial);
  each(accepted.by_newton);
  each(accepted.by_newton_from);
  each(accepted.ends);
  each(accepted.ends_from);
  each(accepted.phase.left);
  each(accepted.phase.length);
  each(accepted.phase.since);
}

// The name of a refused function is not needed later.
template <class Visitor>
void visit(Visitor& each, InstanceMemory& memory) {
  each(memory.following.order);
  each(memory.following.since);
  each(memory.told_order);
  each(memory.ends_from);
}

template <class Visitor>
void visit(Visitor& each, Value& given) {
  std::size_t kind = given.index();
  each(kind);
  check(kind < std::variant_size_v<Value>);
  if (kind == 0) given.emplace<0>(given.index() == 0 ? std::get<0>(given) : 0.0);
  if (kind == 1) given.emplace<1>(given.index() == 1 ? std::get<1>(given) : 0);
  if (kind == 2 && given.index() != 2) given.emplace<2>();
  std::visit([&](auto& value) { each(value); }, given);
}

template <class Visitor, class First, class Second>
void visit(Visitor& each, std::pair<First, Second>& pair) {
  each(pair.first);
  each(pair.second);
}

template <class Visitor, class Key, class Thing>
void visit_map(Visitor& each, std::map<Key, Thing>& map) {
  std::vector<std::pair<Key, Thing>> pairs(map.begin(), map.end());
  each(pairs);
  map = {pairs.begin(), pairs.end()};
  // As the map lists them: otherwise some would be lost without a word.
  const auto same = [](const auto& one, const auto& other) { return one.first == other.first; };
  check(std::equal(pairs.begin(), pairs.end(), map.begin(), map.end(), same));
}

template <class Visitor>
void visit(Visitor& each, ContinuousState& state) {
  each(state.t);
  each(state.x);
  each(state.events);
}

template <class Visitor>
void visit(Visitor& each, Cause& cause) {
  each(cause.component);
  each(cause.what);
}

template <class Visitor>
void visit(Visitor& each, EventHistory& seen) {
  each(seen.total);
  each(seen.times);
}

template <class Visitor>
void visit(Visitor& each, IntegrationState& state) {
  each(state.t);
  each(state.x);
  each(state.next_time);
  each(state.timers);
  each(state.limited_until);
  each(state.longest_step);
  each(state.restarted);
  std::vector<std::size_t> at_zero(state.at_zero.begin(), state.at_zero.end());
  each(at_zero);
  state.at_zero = {at_zero.begin(), at_zero.end()};
  check(std::equal(at_zero.begin(), at_zero.end(), state.at_zero.begin(), state.at_zero.end()));
  visit_map(each, state.seen);
  each(state.events);
  each(state.first_step);
  each(state.retreated);
}

template <class Visitor>
void visit(Visitor& each, InputPolynomials& inputs) {
  each(inputs.start);
  each(inputs.value);
  each(inputs.first);
  each(inputs.second);
}

template <class Visitor>
void visit(Visitor& each, SavedOde& ode) {
  each(ode.component.position);
  each(ode.component.inputs);
  each(ode.component.signs);
  each(ode.component.clocks);
  each(ode.component.end);
  each(ode.slots);
  each(ode.loops);
  each(ode.rows);
}

template <class Visitor>
void visit(Visitor& each, SavedSizes& sizes) {
  each(sizes.numbers);
  each(sizes.of_each);
  each(sizes.past);
}

template <class Visitor>
void visit(Visitor& each, SavedAlone& alone) {
  each(alone.point);
  each(alone.at_point);
  each(alone.reached);
  each(alone.last);
}

template <class Visitor, class T>
void visit(Visitor& each, std::optional<T>& thing) {
  bool there = thing.has_value();
  each(there);
  if (there && !thing) thing.emplace();
  if (there) each(*thing);
}

template <class Visitor>
void visit(Visitor& each, ClockPlace& place) {
  each(place.member);
  each(place.clock);
}

template <class Visitor>
void visit(Visitor& each, SavedOpenEvent& event) {
  each(event.active);
  each(event.waiting);
  each(event.ticked);
  each(event.settled);
}

template <class Visitor>
void visit(Visitor& each, SavedEvents& events) {
  each(events.clocks);
  each(events.next_times);
  each(events.wanted);
  each(events.seen);
  each(events.untold);
  each(events.open);
}

template <class Visitor>
void visit(Visitor& each, ToldRates& told) {
  each(told.first);
  each(told.second);
}

template <class Visitor>
void visit(Visitor& each, SystemState& state) {
  each(state.phase);
  each(state.experiment.start);
  each(state.experiment.stop);
  each(state.experiment.tolerance);
  each(state.now);
  each(state.changed);
  each(state.retuned);
  each(state.jumps);
  each(state.segment);
  visit_map(each, state.told_rates);
  visit_map(each, state.input_reaches);
  each(state.given);
  visit_map(each, state.second_guesses);
  each(state.slots);
  each(state.input_value);
  each(state.input_rates);
  each(state.points);
  each(state.loops);
  each(state.iterations);
  each(state.instances);
  each(state.continuous);
  each(state.ode);
  each(state.events);
  each(state.sizes);
  each(state.alone);
}

}  // namespace

std::string to_bytes(const SystemState& state, const std::vector<std::string>& parts, const std::string& token) {
  Writer writer;
  writer(std::string(begin_of_state));
  writer(token);
  writer(state);
  writer(parts);
  return std::move(writer.bytes_);
}

SystemState from_bytes(const std::string& bytes, std::vector<std::string>& parts, const std::string& token) {
  Reader reader(bytes);
  std::string begin, of;
  reader(begin);
  reader(of);
  if (begin != begin_of_state || of != token) throw std::runtime_error("the bytes are not a state of this FMU");
  SystemState state;
  reader(state);
  check(state.phase <= Phase::exchange);
  reader(parts);
  if (!reader.at_end()) throw std::runtime_error("the state is longer than it should be");
  return state;
}

}  // namespace ssptool::runtime
