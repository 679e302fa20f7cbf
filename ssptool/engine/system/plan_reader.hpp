// Reads a plan and checks each value where it is read: indices and sizes against the lists that they refer to, words
// and numbers against the possible ones, and values against the types of their variables.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "json.hpp"
#include "plan.hpp"

namespace ssptool::runtime {

// Maximum number of elements of matrices, and of vectors and arrays whose length nothing else in the plan limits.
inline constexpr std::size_t most_of_matrix = std::size_t{1} << 27, most_of_vector = std::size_t{1} << 22;
inline constexpr std::int64_t most_repetitions = 1'000'000;

// Content of slots by type; slots of texts and bytes contain their numbers.
enum class Content { real, integer, text, bytes };

inline bool is_number(Content content) { return content == Content::real || content == Content::integer; }

template <class Read>
auto each(Json array, const Read& read) {
  std::vector<decltype(read(array))> found;
  for (const Json item : array) found.push_back(read(item));
  return found;
}

// For an optional member.
template <class Read>
auto each(Json json, const char* name, const Read& read) {
  return json.contains(name) ? each(json.at(name), read) : std::vector<decltype(read(json))>{};
}

template <class T>
std::vector<T> list(Json json, const char* name) {
  return json.at(name).get<std::vector<T>>();
}

// A variable of one of `parts` parts.
PartVariable part_variable_from(Json, std::size_t parts);

class PlanReader {
 public:
  explicit PlanReader(Json);

  Plan plan;

 private:
  // Signals and parts (in plan_parts.cpp).
  void read_signals(Json);
  [[nodiscard]] PlannedPart part(Json);
  void read_variables(Json, PlannedPart&);
  void read_beginning(Json, PlannedPart&) const;
  [[nodiscard]] std::vector<Slot> slots(Json array) const;
  [[nodiscard]] Variables variables(Json, int fmi_major) const;
  [[nodiscard]] VariableSet asked_set(Json, int fmi_major) const;
  [[nodiscard]] Wire wire(Json) const;
  [[nodiscard]] std::vector<Wire> wires(Json array) const;
  [[nodiscard]] SlotValue slot_value(Json) const;
  [[nodiscard]] std::vector<SlotValue> slot_values(Json array) const;
  void read_tables(Json);
  [[nodiscard]] DrivenInput driven(Json) const;

  // Schedules and steps (in plan_steps.cpp).
  [[nodiscard]] Call call(Json) const;
  [[nodiscard]] std::vector<Slot> slots_of(Json array, const std::vector<Index>& owners, Index part) const;
  [[nodiscard]] Schedule schedule(Json array) const;
  [[nodiscard]] PlannedLoop loop(Json) const;
  [[nodiscard]] IterationCalls iteration(Json) const;
  [[nodiscard]] Instruction instruction(Json) const;
  void read_stepping(Json);

  // Events and model exchange (in plan_events.cpp).
  [[nodiscard]] PlannedEventMember event_member(Json) const;
  [[nodiscard]] PlannedEventSteps event_steps(Json) const;
  void read_ode_parts(Json);
  void read_ode(Json);
  [[nodiscard]] PlannedOdeJacobian jacobian(Json) const;
  [[nodiscard]] OdePart ode_part(Json, const DenseMatrix& wires) const;

  // Variables of the system (in plan_variables.cpp).
  [[nodiscard]] PartVariable part_variable(Json json) const { return part_variable_from(json, plan.parts.size()); }
  [[nodiscard]] Target target(Json, const SystemVariable&) const;
  [[nodiscard]] SystemVariable variable(Json) const;
  void read_slots_or_targets(Json, SystemVariable&) const;
  [[nodiscard]] SystemClock system_clock(Json) const;
  [[nodiscard]] ParameterWire parameter_wire(Json) const;
  [[nodiscard]] std::pair<Slot, Demand> demand(Json) const;

  std::vector<Content> contents_;     // by slot
  std::vector<Index> takes_, gives_;  // by slot: the part that has it as input or output, or `none`
  std::size_t members_ = 0;           // of the kernel: all parts, and the ODE if there are other parts
  std::size_t states_ = 0, indicators_ = 0;
};

// Throws if the type is unknown.
Content content_from(Json type);
Value value_from(Json, Content);
std::vector<Value> values_from(Json array, Content);
VariableSet valued_set(Json, int fmi_major);
// Throws unless both are numbers, both texts or both bytes.
void require_alike(Json, Content found, Content wanted);
std::vector<std::size_t> indices(Json array, std::size_t limit);
// The dependent columns of each row, out of `columns`.
Pattern pattern_from(Json, std::size_t columns);
double finite_from(Json);
double positive_from(Json);
Conversion conversion_from(Json);
ClockPlace clock_place_from(Json, const PlannedEvents&);
// The interval of a clock, or its shift.
std::optional<Fraction> time_from(Json, const char* name, std::size_t least);
IntervalVariability variability_from(Json);

}  // namespace ssptool::runtime
