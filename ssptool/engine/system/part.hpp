// The parts of an exported system: FMUs loaded from its resources, and taken through the states of FMI.
#pragma once

#include <cstdarg>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "files.hpp"
#include "log.hpp"
#include "plan.hpp"

namespace ssptool::runtime {

// What still changes after the maximum number of repeated initializations.
enum class Unsettled { nothing, inputs_without_mode, parameters, discrete_signals };

// Facts from which an error message is made: a function of a part and its status; or an operation of the kernel at a
// time [s]; or a loop without solution, by its number in the plan; or variables that do not settle.
struct Refusal {
  std::string part, function;
  int status = 0;
  std::optional<Outcome> outcome;
  double t = 0.0;
  std::optional<Index> loop;
  Unsettled unsettled = Unsettled::nothing;
  std::vector<std::string> names{};  // of these variables; for a part that cannot be reset, of its changed inputs
};

// A part, or the coupled system, cannot do what was requested.
class Refused : public std::runtime_error {
 public:
  Refused(Status status, const std::string& message) : std::runtime_error(message), status(status) {}
  Refused(Status status, const std::string& message, Refusal what)
      : std::runtime_error(message), status(status), refusal(std::move(what)) {}
  Status status;
  Refusal refusal;
};

using Libraries = std::map<std::string, std::shared_ptr<Library>>;

struct Experiment {
  double start = 0.0;
  std::optional<double> stop, tolerance;
};

// All functions throw Refused for a status worse than warning.
class Part {
 public:
  Part(const PlannedPart& plan, std::shared_ptr<Library> library, Log& log);
  // For an existing instance, which its owner frees.
  Part(const PlannedPart& plan, FunctionTable functions, fmi::Component component, Log& log);
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  virtual ~Part() = default;

  // `folder` contains the unpacked FMU.
  virtual void instantiate(const std::string& folder, bool logging) = 0;
  // Sets structural parameters in configuration mode; must be called before all other settings.
  virtual void configure() {}
  virtual void enter_initialization(const Experiment&) = 0;
  virtual void exit_initialization() = 0;
  // The time [s] at which the part ends the simulation, if it does so in the step from t that it has just discarded.
  [[nodiscard]] virtual std::optional<double> end_of_discarded(double) { return {}; }
  virtual void terminate() = 0;
  virtual void reset() = 0;
  virtual void log_from_now_on(bool on) = 0;

  // For an array, with the values of all elements.
  void set(const VariableSet&);
  void set(const PartVariable&, std::vector<Value>);
  [[nodiscard]] std::vector<Value> get(const VariableSet&);
  [[nodiscard]] std::vector<Value> get(const PartVariable&);

  // `size` is the number of scalar unknowns, which counts all elements of an array; the seed counts likewise.
  [[nodiscard]] std::vector<double> directional(const std::vector<fmi::Reference>& unknowns, std::size_t size,
                                                const std::vector<fmi::Reference>& knowns,
                                                const std::vector<double>& seed);

  // The part owns the state until it is released. Refuses if the part cannot save states. The memory of `before`, a
  // state that is replaced, is reused.
  [[nodiscard]] fmi::State save_state(fmi::State before = nullptr);
  void restore_state(fmi::State);
  void release_state(fmi::State) noexcept;
  [[nodiscard]] std::string serialized(fmi::State);
  [[nodiscard]] fmi::State deserialized(const std::string& bytes);

  [[nodiscard]] const PlannedPart& plan() const noexcept { return plan_; }
  [[nodiscard]] const FunctionTable& functions() const noexcept { return functions_; }
  [[nodiscard]] fmi::Component component() const noexcept { return component_; }
  // Whether the part has reached the start time of the present run.
  [[nodiscard]] bool initialized() const noexcept { return initialized_; }

  // For an instance that is the same as that of another part, which frees it.
  void disown() noexcept { component_ = nullptr; }

  // Through it, the kernel provides inputs inside a step.
  Environment* environment = nullptr;

  // Passes a message of the part to the log of the system.
  void note(int status, const char* category, const char* message) const noexcept;
  // The same, with the format and arguments of printf.
  void note_formatted(int status, const char* category, const char* format, std::va_list arguments) const noexcept;

 protected:
  void check(const char* function, int status) const;

  const PlannedPart& plan_;
  std::shared_ptr<Library> library_;  // as long as an instance exists
  FunctionTable functions_;
  fmi::Component component_ = nullptr;
  bool logging_ = false;
  bool adopted_ = false;
  bool initialized_ = false;

 private:
  struct TypeAccess {
    int (Part::*put)(const VariableSet&);
    int (Part::*fetch)(const VariableSet&, std::size_t size, std::vector<Value>&);
  };

  template <class T>
  int put(const VariableSet&);
  template <class T>
  int fetch(const VariableSet&, std::size_t size, std::vector<Value>&);
  int put_binary(const VariableSet&);
  int fetch_binary(const VariableSet&, std::size_t size, std::vector<Value>&);
  [[nodiscard]] const TypeAccess& access(const std::string& suffix) const;
  [[nodiscard]] std::string function(const char* verb, const std::string& suffix) const;
  [[nodiscard]] std::string state_function(const char* fmi2, const char* fmi3) const;

  Log& log_;
};

// The prefix of its functions' names.
std::string prefix_of(int fmi_major);

// The names, separated by commas.
std::string joined(const std::vector<std::string>& names);

// The name of a status in FMI.
const char* word(int status) noexcept;

std::unique_ptr<Part> make_fmi1_part(const PlannedPart&, const std::shared_ptr<Library>&, Log&);
std::unique_ptr<Part> adopted_fmi1_part(const PlannedPart&, FunctionTable, fmi::Component, Log&);

// Throws std::runtime_error if its library is missing or cannot be loaded. Loaded libraries are reused.
std::unique_ptr<Part> load_part(const PlannedPart&, const std::string& resources, Libraries&, Log&);

// A part whose instance was created elsewhere.
std::unique_ptr<Part> adopted_part(const PlannedPart&, FunctionTable, fmi::Component, Log&);

}  // namespace ssptool::runtime
