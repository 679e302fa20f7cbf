// The parts of an exported system: FMUs loaded from its resources, and led through the states that FMI gives them.
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

// What still changes when initialization has been repeated often enough.
enum class Unsettled { nothing, inputs_without_mode, parameters, discrete_signals };

// Facts behind a message, for whoever words them: a function of a part and what it returned; or an operation of the
// kernel at a time [s]; or a loop without solution, by its number in the plan; or variables that do not settle.
struct Refusal {
  std::string part, function;
  int status = 0;
  std::optional<Outcome> outcome;
  double t = 0.0;
  std::optional<Index> loop;
  Unsettled unsettled = Unsettled::nothing;
  std::vector<std::string> names{};  // of these; of a part that cannot be reset, its inputs that have changed
};

// A part, or the coupled system, cannot do what it was asked to do.
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

// The functions throw Refused for a status worse than a warning.
class Part {
 public:
  Part(const PlannedPart& plan, std::shared_ptr<Library> library, Log& log);
  // Of an instance that belongs to somebody else, who frees it.
  Part(const PlannedPart& plan, FunctionTable functions, fmi::Component component, Log& log);
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  virtual ~Part() = default;

  // `folder` holds the unpacked FMU.
  virtual void instantiate(const std::string& folder, bool logging) = 0;
  // Sets structural parameters, in configuration mode; before everything else.
  virtual void configure() {}
  virtual void enter_initialization(const Experiment&) = 0;
  virtual void exit_initialization() = 0;
  // Whether it ends the simulation with the step from t that it has just discarded, and where [s].
  [[nodiscard]] virtual std::optional<double> end_of_discarded(double) { return {}; }
  virtual void terminate() = 0;
  virtual void reset() = 0;
  virtual void log_from_now_on(bool on) = 0;

  // Of an array all elements.
  void set(const VariableSet&);
  void set(const PartVariable&, std::vector<Value>);
  [[nodiscard]] std::vector<Value> get(const VariableSet&);
  [[nodiscard]] std::vector<Value> get(const PartVariable&);

  // `size` is the number of scalar unknowns: of an array all elements, likewise in the seed.
  [[nodiscard]] std::vector<double> directional(const std::vector<fmi::Reference>& unknowns, std::size_t size,
                                                const std::vector<fmi::Reference>& knowns,
                                                const std::vector<double>& seed);

  // A state stays the part's until it is released; where it cannot save any, it refuses.
  // With a state of before, which is replaced, the memory of that is used again.
  [[nodiscard]] fmi::State save_state(fmi::State before = nullptr);
  void restore_state(fmi::State);
  void release_state(fmi::State) noexcept;
  [[nodiscard]] std::string serialized(fmi::State);
  [[nodiscard]] fmi::State deserialized(const std::string& bytes);

  [[nodiscard]] const PlannedPart& plan() const noexcept { return plan_; }
  [[nodiscard]] const FunctionTable& functions() const noexcept { return functions_; }
  [[nodiscard]] fmi::Component component() const noexcept { return component_; }
  // Whether it has been led to the start time of the present run.
  [[nodiscard]] bool initialized() const noexcept { return initialized_; }

  // Of an instance that is in truth that of another part, which frees it.
  void disown() noexcept { component_ = nullptr; }

  // Through which the kernel gives it inputs inside a step.
  Environment* environment = nullptr;

  // A message from it, for whoever reads the log of the system.
  void note(int status, const char* category, const char* message) const noexcept;
  // Likewise, with the format and arguments of printf.
  void note_formatted(int status, const char* category, const char* format, std::va_list arguments) const noexcept;

 protected:
  void check(const char* function, int status) const;

  const PlannedPart& plan_;
  std::shared_ptr<Library> library_;  // as long as there is an instance
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

// What the names of its functions begin with.
std::string prefix_of(int fmi_major);

// Names with commas between them.
std::string joined(const std::vector<std::string>& names);

// The word of FMI for a status.
const char* word(int status) noexcept;

std::unique_ptr<Part> make_fmi1_part(const PlannedPart&, const std::shared_ptr<Library>&, Log&);
std::unique_ptr<Part> adopted_fmi1_part(const PlannedPart&, FunctionTable, fmi::Component, Log&);

// Throws std::runtime_error if its library is missing or cannot be loaded. Libraries that are there are used again.
std::unique_ptr<Part> load_part(const PlannedPart&, const std::string& resources, Libraries&, Log&);

// A part that somebody else has instantiated.
std::unique_ptr<Part> adopted_part(const PlannedPart&, FunctionTable, fmi::Component, Log&);

}  // namespace ssptool::runtime
