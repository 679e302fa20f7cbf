// The frozen plan of an exported system, as in resources/plan.json; docs/formats.md describes the file.
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

// The value of a variable: floating-point number, integer (also Boolean and enumeration), text or binary.
using Value = std::variant<double, std::int64_t, std::string>;

// Variables of one type that are set or got together; `suffix` is the end of the names of the FMI functions for them.
// An array has one reference and as many values or slots as elements.
struct VariableSet {
  std::string suffix;
  std::vector<fmi::Reference> references;
  std::vector<Value> values;
  std::vector<Slot> slots;
};

// Conversion between two variables: v ↦ factor · v + offset for floating-point numbers, `table` for integers.
struct Conversion {
  double factor = 1.0, offset = 0.0;
  std::map<std::int64_t, std::int64_t> table;

  [[nodiscard]] bool changes_nothing() const noexcept { return factor == 1.0 && offset == 0.0 && table.empty(); }
  // The identity preserves the sign of zero.
  [[nodiscard]] Value carry(Value) const;
};

// Whether slots of a type contain the number of a text or of binary data.
inline bool is_content(const std::string& type) { return type == "String" || type == "Binary"; }

// For a part that is integrated: the sizes of its vectors, and the variables of its directional derivatives.
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
  Variables observed;  // got only for rows
  Substeps substeps;
  std::vector<VariableSet> structure;  // structural parameters, set in configuration mode
  std::vector<VariableSet> starts;
  std::vector<VariableSet> guesses;                // got before the first evaluation; without values
  std::vector<fmi::Reference> moving;              // inputs that an FMI 3.0 part requests inside a step
  std::optional<PlannedExchange> exchange;         // of a part of model exchange
  bool event_mode = false, returns_early = false;  // FMI 3.0: events are handled, at ends of steps or inside
  // Values stated in its description, for variables that cannot be got, or whose values the part refuses.
  std::vector<std::pair<Slot, Value>> stated;
  // For a part of FMI 1.0: its inputs by type, without values; by slot, the size below which an input counts as zero.
  std::vector<VariableSet> input_sets;
  std::map<Slot, double> nominal;

  // Whether it has an initialization mode (FMI 2.0 and 3.0).
  [[nodiscard]] bool has_mode() const noexcept { return fmi_major > 1; }
};

struct PlannedLoop {
  LoopCalls calls;
  std::vector<std::string> names;  // of the unknowns
};

// A step of a schedule: a call, or the number of a loop in the plan.
using ScheduleStep = std::variant<Call, Index>;
using Schedule = std::vector<ScheduleStep>;

// The value of a slot at the start.
using SlotValue = std::pair<Slot, Value>;

// A variable of a part, with all its elements or with some of them in a given order.
struct PartVariable {
  Index part;
  fmi::Reference reference;
  std::string suffix;
  std::size_t size = 1;               // elements of the whole variable
  std::vector<std::size_t> elements;  // their places; empty: all
  std::vector<Value> starts;          // of the whole variable, if only some elements are meant

  [[nodiscard]] std::size_t count() const noexcept { return elements.empty() ? size : elements.size(); }
};

// Vectors of model exchange that contain variables of the system.
enum class Vector { states, derivatives, indicators };

// A variable of a part that a variable of the system sets or shows, with conversion. `own` are the places of the
// elements of the system's variable; empty: all.
struct Target {
  PartVariable variable;
  Conversion conversion;
  std::vector<std::size_t> own;
};

// A variable of type Clock: an input clock and the clocks of parts that tick with it, or an output clock and the clock
// of a part with which it ticks.
struct SystemClock {
  IntervalVariability variability = IntervalVariability::triggered;
  std::optional<Fraction> interval, shift;
  std::vector<ClockPlace> triggers;
  std::optional<ClockPlace> source;
};

// A variable of the system; its index is its value reference. It has a slot for each element, or belongs to parts or to
// a vector of model exchange. `starts` are the start values of a parameter.
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

// A value that a part calculates for a parameter or an input of another part. `tunable`: it may change during steps.
struct ParameterWire {
  PartVariable from, to;
  Conversion conversion;
  bool tunable = false;
  std::string destination;   // its full name
  std::optional<Slot> slot;  // of an input
};

// Parts that exchange values at events only, and the macro steps that end at events. An ODE always has these data; next
// to other parts, it has its own.
struct PlannedEventSteps {
  PlannedEvents events;
  bool rolls_back = false;         // all parts can go back to the start of a step if one returns early
  bool samples = false;            // signals exchanged at events only may change between events
  bool independent_steps = false;  // parts step independently of each other
  bool together = false;           // the kernel can do many steps in one call
  bool with_ode = false;           // events of the ODE are events of the whole system
  std::vector<double> nominal;     // by slot
  std::vector<SlotValue> starts;   // of signals exchanged at events only
};

// The model exchange parts as one ODE.
struct PlannedOde {
  std::vector<Index> parts;
  bool alone = true;         // there are no other parts
  bool ends_steps = false;   // not alone: macro steps may end at its time events
  Schedule whole, slopes;    // of all outputs and inputs, and of what derivatives and event indicators need
  std::vector<Slot> inputs;  // fed by parts outside the ODE
  // If there are others: wires from its parts, its own events, the signals that it exchanges at these only, and the
  // sources of those that come from outside.
  std::vector<Wire> wires;
  std::optional<PlannedEventSteps> events;
  std::vector<Slot> event_signals, event_sources;
  double rtol = 1e-6;
  SolverKind solver = SolverKind::dormand_prince;
  bool retreats = false;  // another solver may replace the present one
  std::optional<PlannedOdeJacobian> jacobian;
};

// Tables over time that drive inputs of the system, and the times of jumps: each jump has a pair of times, the first
// and the last of times that are equal within rounding.
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
  bool open_end = false;  // parts are not told the stop time, because another run may continue from there
  std::size_t slots = 0;
  std::vector<std::string> signals, types;  // by slot
  std::vector<Slot> integers;
  std::vector<PlannedPart> parts;
  std::vector<Wire> wires, shown_wires;          // shown_wires lead to signals that are only in rows
  std::vector<Slot> recorded;                    // signals in rows, in this order
  std::vector<std::pair<Slot, Demand>> demands;  // ranges of integers that connections narrow
  std::vector<DrivenInput> driven;               // inputs of parts that inputs of the system feed
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
  Index everyone = 0, everything = 0;  // the group of all parts, and the schedule that evaluates everything
  std::vector<Instruction> program;
  std::optional<PlannedOde> ode;
  std::optional<PlannedEventSteps> at_events;
  std::vector<SystemVariable> variables;
  std::vector<ParameterWire> parameter_wires;

  // The events that the integration of the ODE handles.
  [[nodiscard]] const PlannedEventSteps& events_of_ode() const {
    return ode->events ? *ode->events : at_events.value();
  }
};

// The version of the file that this runtime can read.
inline constexpr int plan_version = 2;

// Throws std::runtime_error, which names the file, the place in it, what is there and what must be, for a file that is
// none, of another version, or wrong in itself. What it returns can be used without a check: each index leads to
// something, lists that belong together are of one length, and values are of the types of their variables.
Plan read_plan(const std::string& file);
// The same for a text that is not in a file.
Plan plan_from(const std::string& text);
// Start values of a part of this FMI version, as in its plan.
std::vector<VariableSet> starts_from(const std::string& text, int fmi_major);

}  // namespace ssptool::runtime
