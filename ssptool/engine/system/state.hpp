// The complete state of an exported system between two calls, in memory and as bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "../kernel/core/integration.hpp"
#include "../kernel/core/zeno.hpp"
#include "continuous.hpp"
#include "ode.hpp"
#include "part.hpp"

namespace ssptool::runtime {

// `exchange` follows initialization, for an importer that integrates.
enum class Phase : std::uint8_t { instantiated, initialization, stepping, exchange };

// Values of all slots; slots of texts contain an index into `texts`, because kernels number texts differently.
struct SlotContents {
  std::vector<double> values;
  std::vector<std::string> texts;
};

struct SavedPoint {
  double t = 0.0;
  bool after_event = false, replaces = false;
  SlotContents contents;
};

struct SavedLoop {
  double rtol = 0.0;
  std::vector<double> chord;
};

struct SavedIteration {
  IterationMemory memory;
  AcceptedSteps accepted;
};

// An ODE that is integrated internally; if there are other parts, slots and loops are those of its own kernel.
struct SavedOde {
  OdeComponentState component;
  SlotContents slots;
  std::vector<SavedLoop> loops;
  std::vector<std::pair<double, std::vector<double>>> rows;  // of events in a macro step that ends at this time [s]
};

// State of step size control: numbers, numbers of each signal or bond, and past values at times [s].
struct SavedSizes {
  std::vector<double> numbers, of_each;
  std::vector<std::pair<double, std::vector<double>>> past;
};

// A run of a system that consists only of an ODE; names as in OdeAlone.
struct SavedAlone {
  std::int64_t point = 1;
  bool at_point = true;
  double reached = 0.0;  // [s]
  std::vector<double> last;
};

// Parameters that an importer has set, the latest last: value reference and values of all elements.
using GivenValues = std::vector<std::pair<std::size_t, std::vector<Value>>>;

// For an event that an importer handles.
struct SavedOpenEvent {
  std::vector<ClockPlace> active, waiting;
  std::vector<std::size_t> ticked;
  bool settled = false;
};

// For parts in event mode.
struct SavedEvents {
  std::vector<std::string> clocks;
  std::vector<double> next_times;    // by member
  std::vector<std::uint8_t> wanted;  // by member
  std::vector<std::pair<Cause, EventHistory>> seen;
  std::vector<ClockPlace> untold;  // as in a System
  std::optional<SavedOpenEvent> open;
};

// Derivatives of an input, set by an importer.
struct ToldRates {
  double first = 0.0, second = 0.0;
};

struct SystemState {
  Phase phase = Phase::instantiated;
  Experiment experiment;
  double now = 0.0;
  bool changed = false, jumps = false;
  std::vector<Index> retuned;
  std::size_t segment = 0;
  std::map<Slot, ToldRates> told_rates;
  std::map<Slot, double> input_reaches;
  GivenValues given;
  std::map<Slot, double> second_guesses;
  SlotContents slots;
  std::vector<double> input_value, input_rates;
  std::vector<SavedPoint> points;
  std::vector<SavedLoop> loops;
  std::vector<SavedIteration> iterations;
  std::vector<InstanceMemory> instances;
  std::optional<ContinuousState> continuous;
  std::optional<SavedOde> ode;
  SavedEvents events;
  // Only in runs.
  std::optional<SavedSizes> sizes;
  std::optional<SavedAlone> alone;
  std::vector<fmi::State> parts;  // of the parts, which own the memory
};

// The states of parts are separate byte strings. `token` identifies the FMU whose state it is.
std::string to_bytes(const SystemState&, const std::vector<std::string>& parts, const std::string& token);

// Throws std::runtime_error if the bytes are not a state of this FMU.
SystemState from_bytes(const std::string& bytes, std::vector<std::string>& parts, const std::string& token);

}  // namespace ssptool::runtime
