// The frozen plan of an exported system, as resources/plan.json has it; docs/formats.md describes the file.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "../kernel/core/events.hpp"
#include "../kernel/core/kernel.hpp"
#include "../kernel/core/ode_jacobian.hpp"
#include "../kernel/core/ode_solvers.hpp"

namespace ssptool::runtime {

// Of a variable: floating-point numbers, integers (also Booleans and enumerations), texts and what is binary.
using Value = std::variant<double, std::int64_t, std::string>;

// Variables of one type that are set or got together; `suffix` is what the names of FMI functions for them end with.
// An array has one reference and as many values or slots as elements.
struct VariableSet {
  std::string suffix;
  std::vector<fmi::Reference> references;
  std::vector<Value> values;
  std::vector<Slot> slots;
};

// On the way from one variable to another: v ↦ factor · v + offset of floating-point numbers, `table` of integers.
struct Conversion {
  double factor = 1.0, offset = 0.0;
  std::map<std::int64_t, std::int64_t> table;

  [[nodiscard]] bool changes_nothing() const noexcept { return factor == 1.0 && offset == 0.0 && table.empty(); }
  // The identity keeps the sign of zero.
  [[nodiscard]] Value carry(Value) const;
};

// Whether slots of a type hold the number of a text or of what is binary.
inline bool is_content(const std::string& type) { return type == "String" || type == "Binary"; }

// Of a part that is integrated: the sizes of its vectors, and what its directional derivatives are about.
struct PlannedExchange {
  std::size_t states = 0, indicators = 0;
  bool reports_steps = false;
  bool saves_state = false;
  std::vector<fmi::Reference> derivatives, known_states;
};

struct PlannedPart {
  std::string name;
  std::string folder;      // below resources/
  std::string identifier;  // of the model: the name of the library
  std::string token;
  int fmi_major = 2;
  Variables inputs, outputs;
  Variables observed;  // got for rows only
  Substeps substeps;
  std::vector<VariableSet> structure;  // structural parameters, set in configuration mode
  std::vector<VariableSet> starts;
  std::vector<VariableSet> guesses;    // got before the first evaluation; values are empty
  std::vector<fmi::Reference> moving;  // inputs that an FMI 3.0 part asks for inside a step; none: it asks for nothing
  std::optional<PlannedExchange> exchange;         // of a part of model exchange
  bool event_mode = false, returns_early = false;  // of FMI 3.0: its events are handled, at the ends of steps or inside
  // What its description states, where it cannot be asked, or refuses to answer.
  std::vector<std::pair<Slot, Value>> stated;
  // Of a part of FMI 1.0: its inputs by type, without values; the size of each input that counts as none, by slot.
  std::vector<VariableSet> input_sets;
  std::map<Slot, double> nominal;

  // It has an initialization mode (FMI 2.0 and 3.0).
  [[nodiscard]] bool has_mode() const noexcept { return fmi_major > 1; }
};

struct PlannedLoop {
  LoopCalls calls;
  std::vector<std::string> names;  // of the unknowns
};

// A step of a schedule: a call, or a loop by its number in the plan.
using ScheduleStep = std::variant<Call, Index>;
using Schedule = std::vector<ScheduleStep>;

// A value given to a slot at the start.
using SlotValue = std::pair<Slot, Value>;

// A variable of a part with all its elements, or some of them in some order.
struct PartVariable {
  Index part;
  fmi::Reference reference;
  std::string suffix;
  std::size_t size = 1;               // elements of the whole variable
  std::vector<std::size_t> elements;  // by their place; none: all
  std::vector<Value> starts;          // of the whole variable, where not all elements are meant

  [[nodiscard]] std::size_t count() const noexcept { return elements.empty() ? size : elements.size(); }
};

// The vectors of model exchange that variables of the system belong to.
enum class Vector { states, derivatives, indicators };

// A variable of a part that a variable of the system sets or shows, converted. `own` are the elements of the system's
// variable, by their place; none: all.
struct Target {
  PartVariable variable;
  Conversion conversion;
  std::vector<std::size_t> own;
};

// A variable of type Clock: parts' clocks that tick with an input clock, or that which an output clock ticks with.
struct SystemClock {
  IntervalVariability variability = IntervalVariability::triggered;
  std::optional<Fraction> interval, shift;
  std::vector<ClockPlace> triggers;
  std::optional<ClockPlace> source;
};

// A variable of the system; its place among all is its value reference. It is in a slot for each element, belongs to
// parts, or to a vector of model exchange. `starts` are those of a parameter.
struct SystemVariable {
  std::string name, type, causality;
  std::optional<std::pair<Vector, std::size_t>> element;
  bool tunable = false, discrete = false;
  std::size_t size = 1;
  std::vector<Slot> slots;
  std::vector<Target> targets;
  std::vector<Value> starts;
  std::optional<SystemClock> clock;
};

// A part calculates what is a parameter or an input of another one. `tunable`: it may change during steps.
struct ParameterWire {
  PartVariable from, to;
  Conversion conversion;
  bool tunable = false;
  std::string destination;   // its full name
  std::optional<Slot> slot;  // of an input
};

// Parts that exchange something at events only, and the macro steps that end at events. An ODE has it in any case,
// beside other parts for itself.
struct PlannedEventSteps {
  PlannedEvents events;
  bool rolls_back = false;         // where a part returns early, all others can go back to the start of the step
  bool samples = false;            // what is exchanged at events only may change between them
  bool independent_steps = false;  // steps of parts do not depend on each other
  bool together = false;           // the kernel can do many steps in one call
  bool with_ode = false;           // events of the ODE are those of the whole system
  std::vector<double> nominal;     // by slot
  std::vector<SlotValue> starts;   // of what is exchanged at events only
};

// The parts of model exchange as one ODE.
struct PlannedOde {
  std::vector<Index> parts;
  bool alone = true;         // there are no other parts
  bool ends_steps = false;   // else: macro steps may end at its time events
  Schedule whole, slopes;    // of all outputs and inputs, and of what derivatives and event indicators need
  std::vector<Slot> inputs;  // which parts beside it feed
  // If there are others: wires from its parts, its own events, the signals that it exchanges at these only, and the
  // sources of those that come from outside.
  std::vector<Wire> wires;
  std::optional<PlannedEventSteps> events;
  std::vector<Slot> event_signals, event_sources;
  double rtol = 1e-6;
  SolverKind solver = SolverKind::dormand_prince;
  bool retreats = false;  // another solver may replace it
  std::optional<PlannedOdeJacobian> jacobian;
};

// Tables over time that drive inputs of the system, and the times at which something jumps: between the first and the
// last of a pair, which are the same but for rounding.
struct PlannedColumn {
  Slot slot;
  std::size_t axis;
  std::vector<Value> values;
  bool linear;
};
struct PlannedTables {
  std::vector<std::vector<double>> axes;
  std::vector<PlannedColumn> columns;
  std::vector<std::pair<double, double>> jumps;
};

struct Plan {
  std::string name, token;
  std::string interface;  // "cs", "me" or "both"
  double start = 0.0, stop = 0.0, step = 0.0;
  bool goes_back = false;  // all parts save states, so that importers may set the system back
  std::size_t slots = 0;
  std::vector<std::string> signals, types;  // by slot
  std::vector<Slot> integers;
  std::vector<PlannedPart> parts;
  std::vector<Wire> wires, shown_wires;          // the latter lead to what is in rows only
  std::vector<Slot> recorded;                    // in rows, in this order
  std::vector<std::pair<Slot, Demand>> demands;  // of integers that connections make narrower
  std::vector<DrivenInput> driven;               // inputs of parts to which inputs of the system lead
  PlannedTables tables;
  std::vector<SlotValue> constants, guesses;
  std::vector<Slot> cut;
  LoopMethod init = LoopMethod::automatic;
  std::vector<PlannedLoop> loops;
  Schedule initialization;
  std::vector<Schedule> first_point;
  std::vector<std::vector<Index>> groups;
  std::vector<Schedule> schedules;
  std::vector<IterationCalls> iterations;
  Index everyone = 0, everything = 0;  // the group of all parts, and the schedule that evaluates all
  std::vector<Instruction> program;
  std::optional<PlannedOde> ode;
  std::optional<PlannedEventSteps> at_events;
  std::vector<SystemVariable> variables;
  std::vector<ParameterWire> parameter_wires;

  // Those that its integration handles.
  [[nodiscard]] const PlannedEventSteps& events_of_ode() const {
    return ode->events ? *ode->events : at_events.value();
  }
};

// The version of the file that this runtime reads.
inline constexpr int plan_version = 2;

// Throws std::runtime_error, which names the file, the place in it, what is there and what must be, for a file that is
// none, of another version, or wrong in itself. What it returns can be used without a check: each index leads to
// something, lists that belong together are of one length, and values are of the types of their variables.
Plan read_plan(const std::string& file);
// The same of a text, which no file has.
Plan plan_from(const std::string& text);
// Start values of a part of this version, as its plan has them.
std::vector<VariableSet> starts_from(const std::string& text, int fmi_major);

}  // namespace ssptool::runtime
