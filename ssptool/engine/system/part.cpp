#include "part.hpp"

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace ssptool::runtime {

namespace {

#if defined(_WIN32)
constexpr const char *folder_of_fmi2 = "win64", *system_name = "windows", *library_ending = ".dll";
#elif defined(__APPLE__)
constexpr const char *folder_of_fmi2 = "darwin64", *system_name = "darwin", *library_ending = ".dylib";
#else
constexpr const char *folder_of_fmi2 = "linux64", *system_name = "linux", *library_ending = ".so";
#endif
#if defined(__aarch64__)
constexpr const char* machine = "aarch64";
#else
constexpr const char* machine = "x86_64";
#endif

// FMI 2.0 defines names for x86 only; for other platforms, those of FMI 3.0 are used, as other tools do.
std::string platform_folder(int fmi_major) {
  if (fmi_major < 3 && std::string(machine) == "x86_64") return folder_of_fmi2;
  return std::string(machine) + "-" + system_name;
}

constexpr int longest_message = 65536;  // bytes, as in a run; longer messages are cut

// Every function that the runtime or the kernel may use, without prefix.
constexpr std::array life_cycle{"InstantiateSlave",
                                "FreeSlaveInstance",
                                "InitializeSlave",
                                "TerminateSlave",
                                "ResetSlave",
                                "Instantiate",
                                "InstantiateCoSimulation",
                                "FreeInstance",
                                "SetupExperiment",
                                "EnterInitializationMode",
                                "ExitInitializationMode",
                                "Terminate",
                                "Reset",
                                "SetDebugLogging",
                                "DoStep",
                                "GetBooleanStatus",
                                "GetRealStatus",
                                "SetRealInputDerivatives",
                                "GetFMUstate",
                                "SetFMUstate",
                                "FreeFMUstate",
                                "GetFMUState",
                                "SetFMUState",
                                "FreeFMUState",
                                "GetDirectionalDerivative",
                                "SerializedFMUstateSize",
                                "SerializeFMUstate",
                                "DeSerializeFMUstate",
                                "SerializedFMUStateSize",
                                "SerializeFMUState",
                                "DeserializeFMUState",
                                "EnterConfigurationMode",
                                "ExitConfigurationMode",
                                "InstantiateModelExchange",
                                "SetTime",
                                "SetContinuousStates",
                                "GetContinuousStates",
                                "GetDerivatives",
                                "GetContinuousStateDerivatives",
                                "GetEventIndicators",
                                "GetNominalsOfContinuousStates",
                                "EnterEventMode",
                                "EnterContinuousTimeMode",
                                "NewDiscreteStates",
                                "UpdateDiscreteStates",
                                "CompletedIntegratorStep",
                                "GetNumberOfContinuousStates",
                                "GetNumberOfEventIndicators"};
constexpr std::array suffixes{"Real",  "Integer", "Boolean", "String", "Float64", "Float32", "Int8",  "UInt8",
                              "Int16", "UInt16",  "Int32",   "UInt32", "Int64",   "UInt64",  "Binary"};

// Replaces functions that the interface or the library does not have. The kernel looks them up, but may never call
// them; a call is refused.
int refuse_call() { return fmi::error; }

// In FMI 1.0, the names of functions in the library begin with the name of the model.
FunctionTable functions_of(const Library& library, const PlannedPart& plan) {
  const std::string prefix = prefix_of(plan.fmi_major), model = plan.fmi_major < 2 ? plan.identifier + '_' : "";
  std::map<std::string, void*> found;
  const auto look_up = [&](const std::string& name) {
    void* const address = library.find((model + name).c_str());
    const bool needed = address != nullptr || name.find("Instantiate") != std::string::npos;
    found[name] = needed ? address : reinterpret_cast<void*>(&refuse_call);
  };
  for (const char* name : life_cycle) look_up(prefix + name);
  if (plan.fmi_major == 3)
    for (const std::string& name : event_mode_functions()) look_up(name);
  for (const char* suffix : suffixes) {
    look_up(prefix + "Get" + suffix);
    look_up(prefix + "Set" + suffix);
  }
  return FunctionTable(std::move(found), plan.exchange ? reinterpret_cast<void*>(&refuse_call) : nullptr);
}

}  // namespace

std::string joined(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  return all;
}

std::string prefix_of(int fmi_major) { return fmi_major < 2 ? "fmi" : "fmi" + std::to_string(fmi_major); }

namespace {

// --- FMI 2.0 ---------------------------------------------------------------------------------------------------------

extern "C" {
using Logger2 = void(void* environment, const char* instance, int status, const char* category, const char* message,
                     ...);
struct Callbacks2 {
  Logger2* logger;
  void* (*allocate)(std::size_t, std::size_t);
  void (*release)(void*);
  void (*step_finished)(void*, int);
  void* environment;
};

static void forward_message(void* environment, const char*, int status, const char* category, const char* message,
                            ...) {
  va_list arguments;
  va_start(arguments, message);
  static_cast<const Part*>(environment)->note_formatted(status, category, message, arguments);
  va_end(arguments);
}

static void forward_message3(void* environment, int status, const char* category, const char* message) {
  static_cast<const Part*>(environment)->note(status, category, message);
}

static void forward_update(void* environment, double time, bool set_requested, bool get_allowed, bool step_finished,
                           bool can_return_early, bool* early_return_requested, double* early_return_time) {
  ssptool_intermediate_update(static_cast<const Part*>(environment)->environment, time, set_requested, get_allowed,
                              step_finished, can_return_early, early_return_requested, early_return_time);
}
}

class Fmi2Part final : public Part {
 public:
  using Part::Part;
  Fmi2Part(const Fmi2Part&) = delete;
  Fmi2Part& operator=(const Fmi2Part&) = delete;
  ~Fmi2Part() override {
    if (component_ != nullptr && !adopted_) functions_.find<void(void*)>("fmi2FreeInstance")(component_);
  }

  void instantiate(const std::string& folder, bool logging) override {
    using Instantiate = void*(const char*, int, const char*, const char*, const Callbacks2*, int, int);
    const int kind = plan_.exchange ? 0 : 1;
    const std::string resources = uri_of(below(folder, "resources"));
    logging_ = logging;
    component_ = functions_.find<Instantiate>("fmi2Instantiate")(plan_.name.c_str(), kind, plan_.token.c_str(),
                                                                 resources.c_str(), &callbacks_, 0, logging ? 1 : 0);
    if (component_ == nullptr) throw Refused(Status::error, "component " + plan_.name + ": fmi2Instantiate failed");
  }
  void enter_initialization(const Experiment& experiment) override {
    using Setup = int(void*, int, double, double, int, double);
    initialized_ = false;
    check("fmi2SetupExperiment", functions_.find<Setup>("fmi2SetupExperiment")(
                                     component_, experiment.tolerance ? 1 : 0, experiment.tolerance.value_or(0.0),
                                     experiment.start, experiment.stop ? 1 : 0, experiment.stop.value_or(0.0)));
    call("fmi2EnterInitializationMode");
  }
  void exit_initialization() override {
    call("fmi2ExitInitializationMode");
    initialized_ = true;
  }
  std::optional<double> end_of_discarded(double t) override {
    int ends = 0;
    double reached = t;
    const int told =
        functions_.find<fmi::v2::GetBooleanStatus>("fmi2GetBooleanStatus")(component_, fmi::v2::terminated, &ends);
    if (told > fmi::warning || ends == 0) return {};
    if (functions_.find<fmi::v2::GetRealStatus>("fmi2GetRealStatus")(component_, fmi::v2::last_successful_time,
                                                                     &reached) > fmi::warning)
      return t;
    return std::max(t, reached);
  }
  void terminate() override { call("fmi2Terminate"); }
  void reset() override { call("fmi2Reset"); }
  void log_from_now_on(bool on) override {
    using Set = int(void*, int, std::size_t, const char* const*);
    logging_ = on;
    functions_.find<Set>("fmi2SetDebugLogging")(component_, on ? 1 : 0, 0, nullptr);
  }

 private:
  void call(const char* function) { check(function, functions_.find<int(void*)>(function)(component_)); }

  const Callbacks2 callbacks_{&forward_message, &std::calloc, &std::free, nullptr, this};
};

// --- FMI 3.0 ---------------------------------------------------------------------------------------------------------

class Fmi3Part final : public Part {
 public:
  using Part::Part;
  Fmi3Part(const Fmi3Part&) = delete;
  Fmi3Part& operator=(const Fmi3Part&) = delete;
  ~Fmi3Part() override {
    if (component_ != nullptr && !adopted_) functions_.find<void(void*)>("fmi3FreeInstance")(component_);
  }

  void instantiate(const std::string& folder, bool logging) override {
    using Instantiate =
        void*(const char*, const char*, const char*, bool, bool, bool, bool, const fmi::Reference*, std::size_t, void*,
              void (*)(void*, int, const char*, const char*), fmi::v3::IntermediateUpdate*);
    logging_ = logging;
    const std::string resources = below(folder, "resources") + separator;
    if (plan_.exchange) return instantiate_exchange(resources);
    component_ = functions_.find<Instantiate>("fmi3InstantiateCoSimulation")(
        plan_.name.c_str(), plan_.token.c_str(), resources.c_str(), false, logging, plan_.event_mode,
        plan_.returns_early, plan_.moving.data(), plan_.moving.size(), this, &forward_message3,
        plan_.moving.empty() ? nullptr : &forward_update);
    if (component_ == nullptr)
      throw Refused(Status::error, "component " + plan_.name + ": fmi3InstantiateCoSimulation failed");
  }
  void configure() override {
    if (plan_.structure.empty()) return;
    call("fmi3EnterConfigurationMode");
    for (const VariableSet& structural : plan_.structure) set(structural);
    call("fmi3ExitConfigurationMode");
  }
  void enter_initialization(const Experiment& experiment) override {
    using Enter = int(void*, bool, double, double, bool, double);
    initialized_ = false;
    check("fmi3EnterInitializationMode",
          functions_.find<Enter>("fmi3EnterInitializationMode")(
              component_, experiment.tolerance.has_value(), experiment.tolerance.value_or(0.0), experiment.start,
              experiment.stop.has_value(), experiment.stop.value_or(0.0)));
  }
  void exit_initialization() override {
    call("fmi3ExitInitializationMode");
    initialized_ = true;
  }
  void terminate() override { call("fmi3Terminate"); }
  void reset() override { call("fmi3Reset"); }
  void log_from_now_on(bool on) override {
    using Set = int(void*, bool, std::size_t, const char* const*);
    logging_ = on;
    functions_.find<Set>("fmi3SetDebugLogging")(component_, on, 0, nullptr);
  }

 private:
  void instantiate_exchange(const std::string& folder) {
    using Instantiate =
        void*(const char*, const char*, const char*, bool, bool, void*, void (*)(void*, int, const char*, const char*));
    component_ = functions_.find<Instantiate>("fmi3InstantiateModelExchange")(
        plan_.name.c_str(), plan_.token.c_str(), folder.c_str(), false, logging_, this, &forward_message3);
    if (component_ == nullptr)
      throw Refused(Status::error, "component " + plan_.name + ": fmi3InstantiateModelExchange failed");
  }
  void call(const char* function) { check(function, functions_.find<int(void*)>(function)(component_)); }
};

}  // namespace

const char* word(int status) noexcept {
  constexpr std::array words{"ok", "warning", "discard", "error", "fatal", "pending"};
  return status >= 0 && static_cast<std::size_t>(status) < words.size() ? words[static_cast<std::size_t>(status)]
                                                                        : "a status that FMI does not know";
}

Part::Part(const PlannedPart& plan, std::shared_ptr<Library> library, Log& log)
    : plan_(plan), library_(std::move(library)), functions_(functions_of(*library_, plan)), log_(log) {}

Part::Part(const PlannedPart& plan, FunctionTable functions, fmi::Component component, Log& log)
    : plan_(plan), functions_(std::move(functions)), component_(component), adopted_(true), log_(log) {}

void Part::check(const char* function, int status) const {
  if (status <= fmi::warning) return;
  const auto as_stated = status >= 0 && status <= 4 ? static_cast<Status>(status) : Status::error;
  throw Refused(as_stated, "component " + plan_.name + ": " + function + " returned " + word(status),
                {plan_.name, function, status, {}, 0.0, {}});
}

void Part::note(int status, const char* category, const char* message) const noexcept {
  if (!logging_ && status == 0) return;
  try {
    const std::string text = plan_.name + ": " + (message == nullptr ? "" : message);
    log_.write(status >= 0 && status <= 5 ? static_cast<Status>(status) : Status::error,
               category == nullptr ? "" : category, text);
  } catch (...) {  // without memory, there is no message
  }
}

void Part::note_formatted(int status, const char* category, const char* format, va_list arguments) const noexcept {
  if (!logging_ && status == 0) return;
  va_list again;
  va_copy(again, arguments);
  try {
    const int size = format == nullptr ? 0 : std::vsnprintf(nullptr, 0, format, arguments);
    std::string text(static_cast<std::size_t>(std::clamp(size, 0, longest_message)), '\0');
    if (size > 0) std::vsnprintf(text.data(), text.size() + 1, format, again);
    // A negative size means an argument that cannot be converted.
    note(status, category, size < 0 ? format : text.c_str());
  } catch (...) {  // without memory, there is no message
  }
  va_end(again);
}

std::vector<double> Part::directional(const std::vector<fmi::Reference>& unknowns, std::size_t size,
                                      const std::vector<fmi::Reference>& knowns, const std::vector<double>& seed) {
  std::vector<double> found(size);
  const bool sized = plan_.fmi_major >= 3;
  const char* const name = sized ? "fmi3GetDirectionalDerivative" : "fmi2GetDirectionalDerivative";
  check(name, sized ? functions_.find<fmi::v3::GetDirectionalDerivative>(name)(
                          component_, unknowns.data(), unknowns.size(), knowns.data(), knowns.size(), seed.data(),
                          seed.size(), found.data(), found.size())
                    : functions_.find<fmi::v2::GetDirectionalDerivative>(name)(
                          component_, unknowns.data(), unknowns.size(), knowns.data(), knowns.size(), seed.data(),
                          found.data()));
  return found;
}

// In FMI 3.0, these names have one more capital letter.
std::string Part::state_function(const char* fmi2, const char* fmi3) const {
  return plan_.fmi_major < 3 ? std::string("fmi2") + fmi2 : std::string("fmi3") + fmi3;
}

fmi::State Part::save_state(fmi::State state) {
  const std::string name = state_function("GetFMUstate", "GetFMUState");
  check(name.c_str(), functions_.find<fmi::v2::GetState>(name.c_str())(component_, &state));
  return state;
}

void Part::restore_state(fmi::State state) {
  const std::string name = state_function("SetFMUstate", "SetFMUState");
  check(name.c_str(), functions_.find<fmi::v2::SetState>(name.c_str())(component_, state));
}

void Part::release_state(fmi::State state) noexcept {
  try {
    const std::string name = state_function("FreeFMUstate", "FreeFMUState");
    functions_.find<fmi::v2::FreeState>(name.c_str())(component_, &state);
  } catch (...) {  // if the function does not exist, nothing was saved
  }
}

std::string Part::serialized(fmi::State state) {
  const std::string size_of = state_function("SerializedFMUstateSize", "SerializedFMUStateSize");
  const std::string serialize = state_function("SerializeFMUstate", "SerializeFMUState");
  std::size_t size = 0;
  check(size_of.c_str(),
        functions_.find<int(void*, fmi::State, std::size_t*)>(size_of.c_str())(component_, state, &size));
  std::string bytes(size, '\0');
  check(serialize.c_str(), functions_.find<int(void*, fmi::State, char*, std::size_t)>(serialize.c_str())(
                               component_, state, bytes.data(), size));
  return bytes;
}

fmi::State Part::deserialized(const std::string& bytes) {
  const std::string name = state_function("DeSerializeFMUstate", "DeserializeFMUState");
  fmi::State state = nullptr;
  check(name.c_str(), functions_.find<int(void*, const char*, std::size_t, fmi::State*)>(name.c_str())(
                          component_, bytes.data(), bytes.size(), &state));
  return state;
}

std::unique_ptr<Part> load_part(const PlannedPart& plan, const std::string& resources, Libraries& libraries, Log& log) {
  const std::string file = below(
      resources, plan.folder + "/binaries/" + platform_folder(plan.fmi_major) + "/" + plan.identifier + library_ending);
  auto& library = libraries[file];
  if (library == nullptr) library = std::make_shared<Library>(file);
  if (plan.fmi_major == 1) return make_fmi1_part(plan, library, log);
  if (plan.fmi_major == 2) return std::make_unique<Fmi2Part>(plan, library, log);
  if (plan.fmi_major == 3) return std::make_unique<Fmi3Part>(plan, library, log);
  throw std::runtime_error("component " + plan.name + ": FMI " + std::to_string(plan.fmi_major) +
                           ".0 is not supported in exported systems");
}

std::unique_ptr<Part> adopted_part(const PlannedPart& plan, FunctionTable functions, fmi::Component component,
                                   Log& log) {
  if (plan.fmi_major == 1) return adopted_fmi1_part(plan, std::move(functions), component, log);
  if (plan.fmi_major == 2) return std::make_unique<Fmi2Part>(plan, std::move(functions), component, log);
  return std::make_unique<Fmi3Part>(plan, std::move(functions), component, log);
}

}  // namespace ssptool::runtime
