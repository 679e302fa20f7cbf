// The functions of FMI 3.0 that an importer calls, and those whose names it only looks up.
#include <cmath>
#include <cstring>
#include <utility>

#include "model_exchange.hpp"

namespace ssptool::runtime {

namespace {

using Logger = void(void* environment, int status, const char* category, const char* message);

class Fmi3Importer final : public Importer {
 public:
  Fmi3Importer(Logger* logger, void* environment, bool logging)
      : Importer(logging), logger_(logger), environment_(environment) {}

 private:
  void send(Status status, const char* category, const std::string& message) noexcept override {
    if (logger_ != nullptr) logger_(environment_, static_cast<int>(status), category, message.c_str());
  }

  Logger* const logger_;
  void* const environment_;
};

// Enumerations are got and set as 64-bit integers (FMI 3.0, 2.2.6.2).
bool carries_in_fmi3(const std::string& own, const char* type) {
  return own == type || (own == "Enumeration" && std::strcmp(type, "Int64") == 0);
}

void* refused(Importer&& importer, const char* function, const char* why) {
  importer.write(Status::error, "logStatusError", std::string(function) + ": " + why);
  return nullptr;
}

}  // namespace

SSPTOOL_EXPORT const char* fmi3GetVersion() { return "3.0"; }

SSPTOOL_EXPORT int fmi3SetDebugLogging(void* c, bool on, std::size_t, const char* const*) {
  return set_logging(c, "fmi3SetDebugLogging", on);
}

// --- instances -------------------------------------------------------------------------------------------------------

SSPTOOL_EXPORT void* fmi3InstantiateModelExchange(const char*, const char* token, const char* resources, bool,
                                                  bool logging, void* environment, Logger* logger) {
  constexpr const char* function = "fmi3InstantiateModelExchange";
  if (resources == nullptr)
    return refused(Fmi3Importer(logger, environment, logging), function, "the path of the resources is needed");
  return instantiate({function, "instantiation token", Kind::model_exchange},
                     std::make_shared<Fmi3Importer>(logger, environment, logging), token, resources);
}

SSPTOOL_EXPORT void* fmi3InstantiateScheduledExecution(const char*, const char*, const char*, bool, bool logging,
                                                       void* environment, Logger* logger, void (*)(void*), void (*)(),
                                                       void (*)()) {
  return refused(Fmi3Importer(logger, environment, logging), "fmi3InstantiateScheduledExecution",
                 "this FMU offers no scheduled execution");
}

SSPTOOL_EXPORT void* fmi3InstantiateCoSimulation(const char*, const char* token, const char* resources, bool,
                                                 bool logging, bool event_mode, bool early_return,
                                                 const fmi::Reference*, std::size_t intermediate, void* environment,
                                                 Logger* logger, fmi::v3::IntermediateUpdate*) {
  constexpr const char* function = "fmi3InstantiateCoSimulation";
  const auto importer = std::make_shared<Fmi3Importer>(logger, environment, logging);
  const auto no = [&](const char* why) { return refused(Fmi3Importer(logger, environment, logging), function, why); };
  if (resources == nullptr) return no("the path of the resources is needed");
  if (intermediate > 0) return no("this FMU has no variables with intermediateUpdate");
  return instantiate({function, "instantiation token", Kind::co_simulation, {event_mode, early_return}}, importer,
                     token, path_of(resources));
}

SSPTOOL_EXPORT void fmi3FreeInstance(void* c) { free_instance(c); }

// --- states ----------------------------------------------------------------------------------------------------------

SSPTOOL_EXPORT int fmi3EnterInitializationMode(void* c, bool tolerance_defined, double tolerance, double start,
                                               bool stop_defined, double stop) {
  return guarded(c, instantiated, "fmi3EnterInitializationMode", [&](Instance& instance) {
    Experiment experiment{start, {}, {}};
    if (stop_defined) experiment.stop = stop;
    if (tolerance_defined) experiment.tolerance = tolerance;
    instance.system.set_up(experiment);
    instance.system.enter_initialization();
    instance.state = initialization;
  });
}

SSPTOOL_EXPORT int fmi3ExitInitializationMode(void* c) { return exit_initialization(c, "fmi3ExitInitializationMode"); }
SSPTOOL_EXPORT int fmi3Terminate(void* c) { return terminate(c, "fmi3Terminate"); }
SSPTOOL_EXPORT int fmi3Reset(void* c) { return reset(c, "fmi3Reset"); }

SSPTOOL_EXPORT int fmi3DoStep(void* c, double t, double h, bool, bool* event, bool* end, bool* early, double* reached) {
  StepEnd found;
  const int status = do_step(c, "fmi3DoStep", t, h, &found);
  const bool went_on = c != nullptr && status <= static_cast<int>(Status::discard);
  const bool ends = went_on && static_cast<Instance*>(c)->system.asks_to_end();
  for (const auto& [place, value] :
       {std::pair{event, found.event}, std::pair{end, ends}, std::pair{early, found.early}})
    if (place != nullptr) *place = value;
  if (c != nullptr && reached != nullptr) *reached = static_cast<Instance*>(c)->system.time();
  return status;
}

// --- values ----------------------------------------------------------------------------------------------------------

// fmi3GetFloat64 and similar functions; `in_c` is the type in FMI's headers.
#define SSPTOOL_ACCESS(type, in_c)                                                                                   \
  SSPTOOL_EXPORT int fmi3Get##type(void* c, const fmi::Reference* references, std::size_t count, in_c* values,       \
                                   std::size_t size) {                                                               \
    return get(c, {"fmi3Get" #type, #type, carries_in_fmi3, readable_in_fmi3}, {references, count}, values, size);   \
  }                                                                                                                  \
  SSPTOOL_EXPORT int fmi3Set##type(void* c, const fmi::Reference* references, std::size_t count, const in_c* values, \
                                   std::size_t size) {                                                               \
    return set(c, {"fmi3Set" #type, #type, carries_in_fmi3, settable}, {references, count}, values, size);           \
  }

SSPTOOL_ACCESS(Float64, double)
SSPTOOL_ACCESS(Float32, float)
SSPTOOL_ACCESS(Int8, std::int8_t)
SSPTOOL_ACCESS(UInt8, std::uint8_t)
SSPTOOL_ACCESS(Int16, std::int16_t)
SSPTOOL_ACCESS(UInt16, std::uint16_t)
SSPTOOL_ACCESS(Int32, std::int32_t)
SSPTOOL_ACCESS(UInt32, std::uint32_t)
SSPTOOL_ACCESS(Int64, std::int64_t)
SSPTOOL_ACCESS(UInt64, std::uint64_t)
SSPTOOL_ACCESS(Boolean, bool)
#undef SSPTOOL_ACCESS

SSPTOOL_EXPORT int fmi3GetString(void* c, const fmi::Reference* references, std::size_t count, const char** values,
                                 std::size_t size) {
  return get_texts(c, {"fmi3GetString", "String", carries_in_fmi3, readable_in_fmi3}, {references, count}, values,
                   size);
}
SSPTOOL_EXPORT int fmi3SetString(void* c, const fmi::Reference* references, std::size_t count,
                                 const char* const* values, std::size_t size) {
  return set_texts(c, {"fmi3SetString", "String", carries_in_fmi3, settable}, {references, count}, values, size);
}

SSPTOOL_EXPORT int fmi3GetBinary(void* c, const fmi::Reference* references, std::size_t count, std::size_t* sizes,
                                 const std::uint8_t** values, std::size_t size) {
  return get_binaries(c, {"fmi3GetBinary", "Binary", carries_in_fmi3, readable_in_fmi3}, {references, count}, sizes,
                      values, size);
}
SSPTOOL_EXPORT int fmi3SetBinary(void* c, const fmi::Reference* references, std::size_t count, const std::size_t* sizes,
                                 const std::uint8_t* const* values, std::size_t size) {
  return set_binaries(c, {"fmi3SetBinary", "Binary", carries_in_fmi3, settable}, {references, count}, sizes, values,
                      size);
}

// --- saved states and derivatives ------------------------------------------------------------------------------------

SSPTOOL_EXPORT int fmi3GetFMUState(void* c, void** state) { return save_state(c, "fmi3GetFMUState", state); }
SSPTOOL_EXPORT int fmi3SetFMUState(void* c, void* state) { return restore_state(c, "fmi3SetFMUState", state); }
SSPTOOL_EXPORT int fmi3FreeFMUState(void* c, void** state) { return release_state(c, "fmi3FreeFMUState", state); }
SSPTOOL_EXPORT int fmi3SerializedFMUStateSize(void* c, void* state, std::size_t* size) {
  return serialized_size(c, "fmi3SerializedFMUStateSize", state, size);
}
SSPTOOL_EXPORT int fmi3SerializeFMUState(void* c, void* state, char* bytes, std::size_t size) {
  return serialize(c, "fmi3SerializeFMUState", state, bytes, size);
}
SSPTOOL_EXPORT int fmi3DeserializeFMUState(void* c, const char* bytes, std::size_t size, void** state) {
  return deserialize(c, "fmi3DeserializeFMUState", bytes, size, state);
}
SSPTOOL_EXPORT int fmi3GetDirectionalDerivative(void* c, const fmi::Reference* unknowns, std::size_t unknown_count,
                                                const fmi::Reference* knowns, std::size_t known_count,
                                                const double* seed, std::size_t seed_size, double* sensitivity,
                                                std::size_t sensitivity_size) {
  return directional(c, "fmi3GetDirectionalDerivative", {unknowns, unknown_count}, {knowns, known_count},
                     {seed, seed_size}, {sensitivity, sensitivity_size});
}

SSPTOOL_EXPORT int fmi3GetAdjointDerivative(void* c, const fmi::Reference* unknowns, std::size_t unknown_count,
                                            const fmi::Reference* knowns, std::size_t known_count, const double* seed,
                                            std::size_t seed_size, double* sensitivity, std::size_t sensitivity_size) {
  return adjoint(c, "fmi3GetAdjointDerivative", {unknowns, unknown_count}, {knowns, known_count}, {seed, seed_size},
                 {sensitivity, sensitivity_size});
}

// --- model exchange --------------------------------------------------------------------------------------------------

SSPTOOL_EXPORT int fmi3EnterEventMode(void* c) { return enter_event_mode(c, "fmi3EnterEventMode"); }
SSPTOOL_EXPORT int fmi3UpdateDiscreteStates(void* c, bool* again, bool* terminate, bool* nominals_changed,
                                            bool* states_changed, bool* next_time_defined, double* next_time) {
  DiscreteUpdate found;
  const int status = update_discrete_states(c, "fmi3UpdateDiscreteStates", found);
  const bool defined = std::isfinite(found.next_time);
  for (const auto& [place, value] :
       {std::pair{again, found.again}, std::pair{terminate, found.terminate},
        std::pair{nominals_changed, found.nominals_changed}, std::pair{states_changed, found.states_changed},
        std::pair{next_time_defined, defined}})
    if (place != nullptr) *place = value;
  if (next_time != nullptr) *next_time = defined ? found.next_time : 0.0;
  return status;
}
SSPTOOL_EXPORT int fmi3EnterContinuousTimeMode(void* c) {
  return leave_event_mode(c, "fmi3EnterContinuousTimeMode", Kind::model_exchange);
}
SSPTOOL_EXPORT int fmi3CompletedIntegratorStep(void* c, bool, bool* event, bool* terminate) {
  CompletedStep found;
  const int status = complete_step(c, "fmi3CompletedIntegratorStep", found);
  if (event != nullptr) *event = found.event;
  if (terminate != nullptr) *terminate = found.terminate;
  return status;
}
SSPTOOL_EXPORT int fmi3SetTime(void* c, double t) { return set_time(c, "fmi3SetTime", t); }
SSPTOOL_EXPORT int fmi3SetContinuousStates(void* c, const double* states, std::size_t count) {
  return set_states(c, "fmi3SetContinuousStates", states, count);
}
SSPTOOL_EXPORT int fmi3GetContinuousStates(void* c, double* states, std::size_t count) {
  return get_states(c, "fmi3GetContinuousStates", states, count);
}
SSPTOOL_EXPORT int fmi3GetContinuousStateDerivatives(void* c, double* derivatives, std::size_t count) {
  return get_slopes(c, "fmi3GetContinuousStateDerivatives", derivatives, count);
}
SSPTOOL_EXPORT int fmi3GetEventIndicators(void* c, double* indicators, std::size_t count) {
  return get_indicators(c, "fmi3GetEventIndicators", indicators, count);
}
SSPTOOL_EXPORT int fmi3GetNominalsOfContinuousStates(void* c, double* nominals, std::size_t count) {
  return get_nominals(c, "fmi3GetNominalsOfContinuousStates", nominals, count);
}
SSPTOOL_EXPORT int fmi3GetNumberOfContinuousStates(void* c, std::size_t* count) {
  return guarded(c, alive, "fmi3GetNumberOfContinuousStates",
                 [&](Instance& instance) { *count = instance.system.states(); });
}
SSPTOOL_EXPORT int fmi3GetNumberOfEventIndicators(void* c, std::size_t* count) {
  return guarded(c, alive, "fmi3GetNumberOfEventIndicators",
                 [&](Instance& instance) { *count = instance.system.indicators(); });
}

// --- clocks ----------------------------------------------------------------------------------------------------------

SSPTOOL_EXPORT int fmi3EnterStepMode(void* c) { return leave_event_mode(c, "fmi3EnterStepMode", Kind::co_simulation); }

SSPTOOL_EXPORT int fmi3GetClock(void* c, const fmi::Reference* references, std::size_t count, bool* values) {
  return guarded(c, event_mode, "fmi3GetClock", [&](Instance& instance) {
    for (std::size_t i = 0; i < count; ++i) values[i] = instance.system.clock_ticks(references[i]);
  });
}

SSPTOOL_EXPORT int fmi3SetClock(void* c, const fmi::Reference* references, std::size_t count, const bool* values) {
  return guarded(c, event_mode, "fmi3SetClock", [&](Instance& instance) {
    for (std::size_t i = 0; i < count; ++i) instance.system.set_clock(references[i], values[i]);
  });
}

namespace {

constexpr unsigned asks_for_times = initialization | event_mode;

// Gets times of clocks, which the model description states.
template <class Take>
int get_times(void* c, const char* function, References references, std::optional<Fraction> SystemClock::* time,
              const Take& take) {
  return guarded(c, asks_for_times, function, [&](Instance& instance) {
    for (std::size_t i = 0; i < references.size(); ++i) {
      const SystemClock& clock = instance.system.clock(references[i]);
      if (clock.variability == IntervalVariability::triggered)
        throw Refused(Status::error, std::string(function) + ": " + instance.system.variable(references[i]).name +
                                         " is a triggered clock, which ticks at no known times");
      take(i, (clock.*time).value_or(Fraction()));
    }
  });
}

}  // namespace

SSPTOOL_EXPORT int fmi3GetIntervalDecimal(void* c, const fmi::Reference* references, std::size_t count,
                                          double* intervals, int* qualifiers) {
  return get_times(c, "fmi3GetIntervalDecimal", {references, count}, &SystemClock::interval,
                   [&](std::size_t i, const Fraction& time) {
                     intervals[i] = time.number();
                     qualifiers[i] = static_cast<int>(Qualifier::unchanged);
                   });
}
SSPTOOL_EXPORT int fmi3GetIntervalFraction(void* c, const fmi::Reference* references, std::size_t count,
                                           std::uint64_t* counters, std::uint64_t* resolutions, int* qualifiers) {
  return get_times(c, "fmi3GetIntervalFraction", {references, count}, &SystemClock::interval,
                   [&](std::size_t i, const Fraction& time) {
                     counters[i] = time.numerator().low();
                     resolutions[i] = time.denominator().low();
                     qualifiers[i] = static_cast<int>(Qualifier::unchanged);
                   });
}
SSPTOOL_EXPORT int fmi3GetShiftDecimal(void* c, const fmi::Reference* references, std::size_t count, double* shifts) {
  return get_times(c, "fmi3GetShiftDecimal", {references, count}, &SystemClock::shift,
                   [&](std::size_t i, const Fraction& time) { shifts[i] = time.number(); });
}
SSPTOOL_EXPORT int fmi3GetShiftFraction(void* c, const fmi::Reference* references, std::size_t count,
                                        std::uint64_t* counters, std::uint64_t* resolutions) {
  return get_times(c, "fmi3GetShiftFraction", {references, count}, &SystemClock::shift,
                   [&](std::size_t i, const Fraction& time) {
                     counters[i] = time.numerator().low();
                     resolutions[i] = time.denominator().low();
                   });
}

// --- what the model description says is not there --------------------------------------------------------------------

// Importers look up all names when they load the library. In C, unused arguments need not be declared.
#define SSPTOOL_NOT_SUPPORTED(name) \
  SSPTOOL_EXPORT int name(void* c) { return not_supported(c, #name); }

SSPTOOL_NOT_SUPPORTED(fmi3GetNumberOfVariableDependencies)
SSPTOOL_NOT_SUPPORTED(fmi3GetVariableDependencies)
SSPTOOL_NOT_SUPPORTED(fmi3GetOutputDerivatives)
SSPTOOL_NOT_SUPPORTED(fmi3EnterConfigurationMode)
SSPTOOL_NOT_SUPPORTED(fmi3ExitConfigurationMode)
SSPTOOL_NOT_SUPPORTED(fmi3SetIntervalDecimal)
SSPTOOL_NOT_SUPPORTED(fmi3SetIntervalFraction)
SSPTOOL_NOT_SUPPORTED(fmi3SetShiftDecimal)
SSPTOOL_NOT_SUPPORTED(fmi3SetShiftFraction)
SSPTOOL_NOT_SUPPORTED(fmi3EvaluateDiscreteStates)
SSPTOOL_NOT_SUPPORTED(fmi3ActivateModelPartition)

}  // namespace ssptool::runtime
