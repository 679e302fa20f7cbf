// The ODE of an exported system beside its parts of co-simulation: one more instance of their kernel, which can be set
// back to the start of a step.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ode.hpp"

namespace ssptool::runtime {

// What a saved state has of the ODE beside the states of the parts.
struct OdeComponentState {
  IntegrationState position;
  InputPolynomials inputs;
  std::vector<double> signs;
  std::vector<std::string> clocks;
  std::vector<double> values;  // of the slots inside, from which loop solvers go on
};

// Functions of an FMI 3.0 instance of co-simulation without variables, called by the kernel outside. Inside is a kernel
// of its own, which knows all parts by the same numbers, and has the same slots.
class OdeComponent {
 public:
  // `outside` is the kernel that steps it.
  OdeComponent(const Plan& plan, Kernel& outside) : plan_(plan), outside_(outside) {}
  OdeComponent(const OdeComponent&) = delete;
  OdeComponent& operator=(const OdeComponent&) = delete;
  ~OdeComponent() = default;

  // With a report, steps end at each event, which is one of the whole system.
  [[nodiscard]] InstanceTable table(StepReport* report);
  // The functions of a part with steps that do nothing and states that are not saved: the ODE does both.
  [[nodiscard]] static FunctionTable idle(const FunctionTable&, int fmi_major);

  // `ode` is integrated in a kernel `inside`.
  void attach(RunningOde& ode, Kernel& inside, const std::vector<std::unique_ptr<Part>>&);
  // From initialized parts, which are in event mode, to the first instant, or to the first event of the whole system.
  void begin();

  // Something is done to the parts, in event mode; what follows from it is in the kernel outside.
  void intervene(const std::function<void()>& action);
  // Signals from outside are taken at events only.
  [[nodiscard]] bool takes_event_signals() const noexcept { return !plan_.ode->event_sources.empty(); }
  // They have changed since the last event.
  [[nodiscard]] bool event_pending();

  // In events of the whole system.
  [[nodiscard]] double next_time() const noexcept { return ode_->integration->next_time(); }
  void enter();
  [[nodiscard]] std::vector<Updated> update(double t) { return ode_->events.update(t); }
  void leave(bool changed, bool first);

  // What ended the last step.
  std::optional<IntegrationStopped> failure;

  [[nodiscard]] OdeComponentState save(double t);
  void restore(const OdeComponentState&);
  // Where a step begins, in place of what was kept there.
  void keep(fmi::State&);
  void go_back(fmi::State);
  void forget(fmi::State&) noexcept;

 private:
  // Where it was; states of the parts are kept before the first event after it only.
  struct Snapshot {
    OdeComponentState state;
    std::vector<std::pair<Part*, fmi::State>> parts;
    std::optional<double> event;  // the time of that event [s]
  };

  template <class Act>
  int guarded(const Act&) noexcept;
  static int do_step(void* own, double t, double h, bool, bool* event, bool* terminate, bool* early, double* reached);
  static int get_state(void* own, fmi::State* state);
  static int set_state(void* own, fmi::State state);
  static int free_state(void* own, fmi::State* state);

  void step(double t, double h);
  [[nodiscard]] std::optional<InputPolynomials> polynomials(double t) const;
  [[nodiscard]] bool continues(const InputPolynomials& before, const InputPolynomials& now) const;
  void keep_part_states();
  static void release(Snapshot&) noexcept;
  [[noreturn]] void cannot_restore(const Part&, double t) const;
  // Between the kernels.
  void copy(const SlotValues& from, SlotValues& to, const std::vector<Slot>&) const;
  void read_inputs();
  void read_event_signals();
  void write_event_signals();

  const Plan& plan_;
  Kernel& outside_;
  RunningOde* ode_ = nullptr;
  Kernel* inside_ = nullptr;
  std::vector<Part*> parts_;
  std::vector<Slot> inputs_, everything_;  // continuous inputs of all of them; all that they exchange
  std::vector<double> signs_;              // indicators at the end of the last step
  std::vector<Snapshot*> snapshots_;
};

}  // namespace ssptool::runtime
