// Parts of FMI 1.0: slaves without an initialization mode.
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <utility>

#include "part.hpp"

namespace ssptool::runtime {

namespace {

// Receivers of messages. The logger of FMI 1.0 gets the instance but no environment, and the instance is not yet known
// while it is being created.
class Recipients {
 public:
  void add(void* component, const Part* part) {
    const std::lock_guard lock(mutex_);
    all_[component] = part;
  }
  void remove(void* component) {
    const std::lock_guard lock(mutex_);
    all_.erase(component);
  }
  const Part* find(void* component) {
    const std::lock_guard lock(mutex_);
    const auto known = all_.find(component);
    return known != all_.end() ? known->second : being_made;
  }

  static thread_local const Part* being_made;

 private:
  std::mutex mutex_;
  std::map<void*, const Part*> all_;
};

thread_local const Part* Recipients::being_made = nullptr;

Recipients& recipients() {
  static Recipients all;
  return all;
}

extern "C" {
using Logger1 = void(void* component, const char* instance, int status, const char* category, const char* message, ...);
struct Callbacks1 {
  Logger1* logger;
  void* (*allocate)(std::size_t, std::size_t);
  void (*release)(void*);
  void (*step_finished)(void*, int);
};

static void forward_message1(void* component, const char*, int status, const char* category, const char* message, ...) {
  const Part* const part = recipients().find(component);
  if (part == nullptr) return;
  va_list arguments;
  va_start(arguments, message);
  part->note_formatted(status, category, message, arguments);
  va_end(arguments);
}
}

class Fmi1Part final : public Part {
 public:
  using Part::Part;
  Fmi1Part(const Fmi1Part&) = delete;
  Fmi1Part& operator=(const Fmi1Part&) = delete;
  ~Fmi1Part() override {
    if (component_ == nullptr || adopted_) return;
    functions_.find<void(void*)>("fmiFreeSlaveInstance")(component_);
    recipients().remove(component_);
  }

  void instantiate(const std::string& folder, bool logging) override {
    using Instantiate =
        void*(const char*, const char*, const char*, const char*, double timeout, char, char, Callbacks1, char);
    logging_ = logging;
    Recipients::being_made = this;
    component_ = functions_.find<Instantiate>("fmiInstantiateSlave")(
        plan_.name.c_str(), plan_.token.c_str(), uri_of(folder).c_str(), "application/x-fmu-sharedlibrary", 0.0, no, no,
        {&forward_message1, &std::calloc, &std::free, nullptr}, logging ? yes : no);
    Recipients::being_made = nullptr;
    if (component_ == nullptr) throw Refused(Status::error, "component " + plan_.name + ": fmiInstantiateSlave failed");
    recipients().add(component_, this);
  }
  // Start values and inputs have been set before; afterwards the part is at the start time.
  void enter_initialization(const Experiment& experiment) override {
    using Initialize = int(void*, double, char, double);
    check("fmiInitializeSlave",
          functions_.find<Initialize>("fmiInitializeSlave")(component_, experiment.start, experiment.stop ? yes : no,
                                                            experiment.stop.value_or(0.0)));
    initialized_ = true;
  }
  void exit_initialization() override {}
  void terminate() override { call("fmiTerminateSlave"); }
  // An instance that was never initialized needs no reset.
  void reset() override {
    if (std::exchange(initialized_, false)) call("fmiResetSlave");
  }
  void log_from_now_on(bool on) override {
    logging_ = on;
    check("fmiSetDebugLogging", functions_.find<int(void*, char)>("fmiSetDebugLogging")(component_, on ? yes : no));
  }

 private:
  static constexpr char no = 0, yes = 1;

  void call(const char* function) { check(function, functions_.find<int(void*)>(function)(component_)); }
};

}  // namespace

std::unique_ptr<Part> make_fmi1_part(const PlannedPart& plan, const std::shared_ptr<Library>& library, Log& log) {
  return std::make_unique<Fmi1Part>(plan, library, log);
}

std::unique_ptr<Part> adopted_fmi1_part(const PlannedPart& plan, FunctionTable functions, fmi::Component component,
                                        Log& log) {
  return std::make_unique<Fmi1Part>(plan, std::move(functions), component, log);
}

}  // namespace ssptool::runtime
