#include "instance.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "../../engine/kernel/core/dense.hpp"
#include "../../engine/kernel/core/digits.hpp"

namespace ssptool::runtime {

namespace {

constexpr const char* category_of(Status status) {
  switch (status) {
    case Status::warning: return "logStatusWarning";
    case Status::discard: return "logStatusDiscard";
    case Status::fatal: return "logStatusFatal";
    default: return "logStatusError";
  }
}

InstanceState& saved(void* state, const char* function) {
  if (state == nullptr) throw Refused(Status::error, std::string(function) + ": the state is null");
  return *static_cast<InstanceState*>(state);
}

}  // namespace

void* instantiate(const Instantiation& call, const std::shared_ptr<Importer>& importer, const char* token,
                  const std::string& resources) noexcept {
  const std::string function = call.function;
  const auto refused = [&](const std::string& why) -> void* {
    importer->write(Status::error, category_of(Status::error), function + ": " + why);
    return nullptr;
  };
  const KeptFloatingPoint kept;
  try {
    auto instance = std::make_unique<Instance>(importer, resources, call.kind, call.use);
    if (token == nullptr || instance->system.token() != token)
      return refused(std::string("the ") + call.word_for_token + " is not that of this FMU");
    return instance.release();
  } catch (const std::exception& error) {
    return refused(error.what());
  }
}

void free_instance(void* component) noexcept {
  const KeptFloatingPoint kept;
  auto* const instance = static_cast<Instance*>(component);
  if (instance != nullptr && instance->state != dead) delete instance;
}

int refuse(Instance& instance, Status status, const std::string& message) noexcept {
  instance.importer->write(status, category_of(status), message);
  if (status == Status::error) instance.state = failed;
  if (status == Status::fatal) instance.state = dead;
  return static_cast<int>(status);
}

int guarded(void* component, unsigned states, const char* function, const void* act,
            void (*call)(const void* act, Instance&)) noexcept {
  if (component == nullptr) return static_cast<int>(Status::error);
  Instance& instance = *static_cast<Instance*>(component);
  if (instance.state == dead) return static_cast<int>(Status::fatal);
  const KeptFloatingPoint kept;
  try {
    if ((instance.state & states) == 0)
      return refuse(instance, Status::error, std::string(function) + " is not allowed in this state");
    call(act, instance);
    return static_cast<int>(Status::ok);
  } catch (const Refused& refused) {
    return refuse(instance, refused.status, refused.what());
  } catch (const IntegrationStopped& stopped) {
    return refuse(instance, status_of(instance.kind, stopped), std::string(function) + ": " + stopped.what());
  } catch (const std::exception& error) {
    return refuse(instance, Status::error, std::string(function) + ": " + error.what());
  } catch (...) {
    return refuse(instance, Status::error, std::string(function) + " failed");
  }
}

Status status_of(Kind kind, const IntegrationStopped& stopped) noexcept {
  const bool avoidable = stopped.recoverable || stopped.ending == Ending::nonfinite;
  if (stopped.ending == Ending::terminated) return Status::discard;
  return kind == Kind::model_exchange && avoidable ? Status::discard : Status::error;
}

int set_logging(void* component, const char* function, bool on) noexcept {
  return guarded(component, alive, function, [&](Instance& instance) {
    instance.importer->logging = on;
    instance.system.log_from_now_on(on);
  });
}

int exit_initialization(void* component, const char* function) noexcept {
  return guarded(component, initialization, function, [](Instance& instance) {
    instance.system.exit_initialization();
    const bool events = instance.kind == Kind::model_exchange || instance.system.uses_event_mode();
    instance.state = events ? event_mode : stepping;
  });
}

int do_step(void* component, const char* function, double t, double h, StepEnd* found) noexcept {
  return guarded(component, stepping, function, [&](Instance& instance) {
    System& system = instance.system;
    const std::string name = function;
    if (!(h > 0.0)) throw Refused(Status::error, name + ": the step size must be greater than 0");
    if (!system.is_at(t))
      throw Refused(Status::error, name + ": the communication point is " + seconds(t) + ", but the system is at " +
                                       seconds(system.time()));
    const StepEnd end = system.step(t, h);
    if (found != nullptr) *found = end;
  });
}

int terminate(void* component, const char* function) noexcept {
  return guarded(component, stepping | exchanging, function, [](Instance& instance) {
    instance.state = terminated;
    instance.system.terminate();
  });
}

int reset(void* component, const char* function) noexcept {
  return guarded(component, alive, function, [](Instance& instance) {
    instance.system.reset();
    instance.state = instantiated;
  });
}

int not_supported(void* component, const char* function) noexcept {
  return guarded(component, alive, function, [&](Instance&) {
    throw Refused(Status::error, std::string(function) + " is not supported: the model description says so");
  });
}

// --- saved states and derivatives ------------------------------------------------------------------------------------

void Instance::release(InstanceState* saved) noexcept {
  const std::unique_ptr<InstanceState> owned(saved);
  if (owned != nullptr) system.release(*owned->system);
}

// The last byte is the state in FMI.
const std::string& Instance::bytes(InstanceState& saved) {
  if (saved.bytes.empty()) saved.bytes = system.serialized(*saved.system) + static_cast<char>(saved.state);
  return saved.bytes;
}

int save_state(void* component, const char* function, void** state) noexcept {
  return guarded(component, alive, function, [&](Instance& instance) {
    auto found = std::make_unique<InstanceState>(InstanceState{instance.state, instance.system.save(), {}});
    instance.release(static_cast<InstanceState*>(*state));
    *state = found.release();
  });
}

int restore_state(void* component, const char* function, void* state) noexcept {
  return guarded(component, alive, function, [&](Instance& instance) {
    const InstanceState& wanted = saved(state, function);
    instance.system.restore(*wanted.system);
    instance.state = wanted.state;
  });
}

int release_state(void* component, const char* function, void** state) noexcept {
  return guarded(component, alive, function, [&](Instance& instance) {
    if (state != nullptr) instance.release(static_cast<InstanceState*>(std::exchange(*state, nullptr)));
  });
}

int serialized_size(void* component, const char* function, void* state, std::size_t* size) noexcept {
  return guarded(component, alive, function,
                 [&](Instance& instance) { *size = instance.bytes(saved(state, function)).size(); });
}

int serialize(void* component, const char* function, void* state, char* bytes, std::size_t size) noexcept {
  return guarded(component, alive, function, [&](Instance& instance) {
    const std::string& all = instance.bytes(saved(state, function));
    if (size < all.size())
      throw Refused(Status::error, std::string(function) + ": the buffer is too small for the state");
    std::memcpy(bytes, all.data(), all.size());
  });
}

int deserialize(void* component, const char* function, const char* bytes, std::size_t size, void** state) noexcept {
  return guarded(component, alive, function, [&](Instance& instance) {
    const unsigned in_fmi = size == 0 ? 0U : static_cast<unsigned char>(bytes[size - 1]);
    if (!std::has_single_bit(in_fmi) || (in_fmi & alive) == 0)
      throw Refused(Status::error, std::string(function) + ": the bytes are not a state of this FMU");
    auto found = std::make_unique<InstanceState>(
        InstanceState{static_cast<State>(in_fmi), instance.system.deserialized(std::string(bytes, size - 1)), {}});
    instance.release(static_cast<InstanceState*>(*state));
    *state = found.release();
  });
}

namespace {

// Number of scalar variables and elements of arrays.
std::size_t elements(const Instance& instance, References references) {
  std::size_t count = 0;
  for (const fmi::Reference reference : references) count += instance.system.variable(reference).size;
  return count;
}

}  // namespace

int directional(void* component, const char* function, References unknowns, References knowns,
                std::span<const double> seed, std::span<double> sensitivity) noexcept {
  return guarded(component, running, function, [&](Instance& instance) {
    if (seed.size() != elements(instance, knowns) || sensitivity.size() != elements(instance, unknowns))
      throw Refused(Status::error, std::string(function) + ": there must be as many numbers as scalar variables");
    std::ranges::copy(instance.system.directional(unknowns, knowns, seed), sensitivity.begin());
  });
}

// Computes one input after the other: an interface has few of them, and parts then only need directional derivatives.
int adjoint(void* component, const char* function, References unknowns, References knowns, std::span<const double> seed,
            std::span<double> sensitivity) noexcept {
  return guarded(component, running, function, [&](Instance& instance) {
    if (seed.size() != elements(instance, unknowns) || sensitivity.size() != elements(instance, knowns))
      throw Refused(Status::error, std::string(function) + ": there must be as many numbers as scalar variables");
    std::vector<double> unit(sensitivity.size());
    for (std::size_t i = 0; i < unit.size(); ++i) {
      unit[i] = 1.0;
      sensitivity[i] = dot(seed, instance.system.directional(unknowns, knowns, unit));
      unit[i] = 0.0;
    }
  });
}

// --- values ----------------------------------------------------------------------------------------------------------

void check(const Instance& instance, const Access& access, References references, std::size_t size) {
  std::size_t wanted = 0;
  for (const fmi::Reference reference : references) {
    const SystemVariable& variable = instance.system.variable(reference);
    wanted += variable.size;
    if (!access.accepts(variable.type, access.type))
      throw Refused(Status::error, std::string(access.function) + ": " + variable.name + " is of type " +
                                       variable.type + ", not " + access.type);
  }
  if (size != wanted)
    throw Refused(Status::error, std::string(access.function) + ": " + std::to_string(size) + " values for " +
                                     std::to_string(wanted) + " scalar variables");
}

int get_texts(void* component, const Access& access, References references, const char** values,
              std::size_t size) noexcept {
  return get_values(component, access, references, size, [&](Instance& instance, std::size_t place, Value value) {
    instance.texts.resize(size);
    instance.texts[place] = std::get<std::string>(std::move(value));
    values[place] = instance.texts[place].c_str();
  });
}

int set_texts(void* component, const Access& access, References references, const char* const* values,
              std::size_t size) noexcept {
  return set_values(component, access, references, size, [&](std::size_t place) {
    return Value(std::string(values[place] == nullptr ? "" : values[place]));
  });
}

int get_binaries(void* component, const Access& access, References references, std::size_t* sizes,
                 const std::uint8_t** values, std::size_t size) noexcept {
  return get_values(component, access, references, size, [&](Instance& instance, std::size_t place, Value value) {
    instance.binaries.resize(size);
    std::string& bytes = instance.binaries[place] = std::get<std::string>(std::move(value));
    sizes[place] = bytes.size();
    values[place] = reinterpret_cast<const std::uint8_t*>(bytes.data());
  });
}

int set_binaries(void* component, const Access& access, References references, const std::size_t* sizes,
                 const std::uint8_t* const* values, std::size_t size) noexcept {
  return set_values(component, access, references, size, [&](std::size_t place) {
    return Value(sizes[place] == 0 ? std::string()
                                   : std::string(reinterpret_cast<const char*>(values[place]), sizes[place]));
  });
}

}  // namespace ssptool::runtime
