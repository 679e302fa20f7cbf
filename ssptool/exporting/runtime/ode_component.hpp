// The ODE of an exported system beside its parts of co-simulation: one more instance of their kernel, which can be set
// back to the start of a step.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "ode.hpp"

namespace ssptool::runtime {

// What a saved state has of the ODE beside the states of the parts.
struct OdeComponentState {
  IntegrationState position;
  InputPolynomials inputs;
  std::vector<double> signs;
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

  [[nodiscard]] InstanceTable table();
  // The functions of a part with steps that do nothing and states that are not saved: the ODE does both.
  [[nodiscard]] static FunctionTable idle(const FunctionTable&, int fmi_major);

  // `ode` is integrated in a kernel `inside`, of which the slots have the same values.
  void attach(RunningOde& ode, Kernel& inside, const std::vector<std::unique_ptr<Part>>&);
  // From initialized parts, which are in event mode, to the first instant.
  void begin();

  // What ended the last step.
  std::optional<IntegrationStopped> failure;

  [[nodiscard]] OdeComponentState save(double t);
  void restore(const OdeComponentState&);

 private:
  // Where it was; states of the parts are kept before the first event after it only.
  struct Snapshot {
    OdeComponentState state;
    std::vector<std::pair<Part*, fmi::State>> parts;
    bool has_parts = false;
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

  const Plan& plan_;
  Kernel& outside_;
  RunningOde* ode_ = nullptr;
  Kernel* inside_ = nullptr;
  std::vector<Part*> parts_;
  std::vector<double> signs_;  // indicators at the end of the last step
  std::vector<Snapshot*> snapshots_;
};

}  // namespace ssptool::runtime
