// Model exchange instances as one right-hand side x' = f(t, x) with event indicators g(t, x), for an integrator and for
// the handling of events.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "continuous_model.hpp"
#include "kernel.hpp"
#include "ode_solvers.hpp"
#include "stopped.hpp"

namespace ssptool {

// Inputs that others feed, as polynomials in the time since `start` [s]: value, first and second derivative at the
// start. Empty if there are no such inputs.
struct InputPolynomials {
  double start = 0.0;
  std::vector<double> value, first, second;

  [[nodiscard]] double at(std::size_t i, double t) const noexcept {
    const double past = t - start;
    return value[i] + past * (first[i] + (0.5 * past) * second[i]);
  }
};

// External influences on an ODE over time; within segments they are smooth, between segments they may jump. All
// functions throw IntegrationStopped.
class OdeStimuli {
 public:
  OdeStimuli() = default;
  OdeStimuli(const OdeStimuli&) = delete;
  OdeStimuli& operator=(const OdeStimuli&) = delete;
  virtual ~OdeStimuli() = default;

  virtual void write(double t) = 0;
  // The time that a step from t [s] must not exceed.
  [[nodiscard]] virtual double limit(double t) = 0;
  // The end of the present segment [s].
  [[nodiscard]] virtual double end() = 0;
  // Goes to the next segment, with all instances in event mode.
  virtual void jump(double t) = 0;
};

class OdeJacobian;

// The state vector consists of the states of all instances, one after the other. A system without states gets a
// constant one, because an integrator needs a state to follow indicators and time.
class OdeSystem final : public OdeProblem {
 public:
  // Schedules of the kernel: for all signals, and for those that derivatives and indicators need.
  struct Schedules {
    Index whole, slopes;
  };
  // Describes an outcome of the kernel at a time [s].
  using Explain = std::function<IntegrationStopped(const Outcome&, double t)>;
  // Finishes the evaluation of a schedule that has stopped at a loop; returns the reason if this fails.
  using Rescue = std::function<std::optional<IntegrationStopped>(Index schedule, double t)>;

  // `models[i]` is the instance `instances[i]` of the kernel; `inputs` are the slots of input polynomials. Default
  // rescue: that of the kernel.
  OdeSystem(Kernel&, std::vector<ContinuousModel> models, std::vector<Index> instances, Schedules,
            std::vector<Slot> inputs, Explain, Rescue = {});
  OdeSystem(const OdeSystem&) = delete;
  OdeSystem& operator=(const OdeSystem&) = delete;
  ~OdeSystem() override = default;

  [[nodiscard]] std::size_t size() const noexcept { return size_ == 0 ? 1 : size_; }
  [[nodiscard]] std::size_t states() const noexcept { return size_; }
  [[nodiscard]] std::size_t indicator_count() const noexcept { return indicators_; }
  [[nodiscard]] Kernel& kernel() const noexcept { return kernel_; }
  [[nodiscard]] const std::vector<ContinuousModel>& models() const noexcept { return models_; }
  [[nodiscard]] const std::vector<Slot>& inputs() const noexcept { return inputs_; }
  [[nodiscard]] bool reports_steps() const noexcept;
  // The model of an indicator, and the number of the indicator in this model.
  [[nodiscard]] std::pair<const ContinuousModel*, std::size_t> own_indicator(std::size_t number) const noexcept;

  // False if the integrator can avoid the point; `last_failure` gives the reason. Both functions throw
  // IntegrationStopped for failures that end the run.
  bool slopes(double t, const double* x, double* slopes) override;
  // Zero counts as negative: an event is a change between z > 0 and z ≤ 0 (FMI 2.0.4, 3.1.1; FMI 3.0, 3.2.1).
  bool indicators(double t, const double* x, double* found) override;
  [[nodiscard]] bool has_jacobian() const override { return jacobian_of != nullptr; }
  bool jacobian(double t, const double* x, double* columns) override;

  // The same in parts: `reach` goes to (t, x) with consistent inputs, and with all outputs if `whole`; the others get
  // the rest.
  bool reach(double t, const double* x, bool whole);
  bool present_slopes(double t, double* slopes);
  bool present_indicators(double t, double* found);

  // ∂unknowns/∂knowns · seed of one model at its present point; false as above.
  bool directional_derivative(std::size_t model, std::span<const fmi::Reference> unknowns,
                              std::span<const fmi::Reference> knowns, std::span<const double> seed,
                              std::span<double> found, double t);

  // Goes to (t, x) and makes all outputs consistent. These functions throw IntegrationStopped.
  void place(double t, const double* x);
  // Makes inputs and outputs consistent at the present point of the instances.
  void settle(double t);
  [[nodiscard]] std::vector<double> indicators_at(double t, const double* x);
  [[nodiscard]] std::vector<double> indicators_here(double t);
  void read_states(double t, double* x);
  // The usual sizes of the states (positive).
  void read_nominals(double t, double* found);
  void enter_event_mode(double t);
  void enter_continuous_time(double t);
  [[nodiscard]] std::vector<DiscreteUpdate> update_discrete_states(double t);
  [[nodiscard]] CompletedStep complete_step(std::size_t model, double t);

  // Internal states of the models that can save them, by model; null for others.
  [[nodiscard]] std::vector<fmi::State> save_states(double t);
  void restore_states(const std::vector<fmi::State>&, double t);
  void release_states(const std::vector<fmi::State>&) const noexcept;

  // A failure at a point that the integrator can avoid.
  std::optional<IntegrationStopped> last_failure;
  InputPolynomials input_polynomials;
  // The owner must set this before any evaluation.
  OdeStimuli* stimuli = nullptr;
  OdeJacobian* jacobian_of = nullptr;

 private:
  bool evaluated(double t, Index schedule);
  bool finite(double t, std::span<const double> values, bool of_slopes);
  bool avoid(const ContinuousModel&, const Failure&, double t);
  // Throws if there is a failure.
  void require(const ContinuousModel&, const Failure&, double t);
  [[noreturn]] void stop() const;

  template <class Get>
  bool gather(double t, const std::vector<std::size_t>& firsts, double* place, const Get& get);

  Kernel& kernel_;
  std::vector<ContinuousModel> models_;
  std::vector<Index> instances_;
  Schedules schedules_;
  std::vector<Slot> inputs_;
  Explain explain_;
  Rescue rescue_;
  std::vector<std::size_t> first_state_, first_indicator_;  // by model
  std::size_t size_ = 0, indicators_ = 0;
};

}  // namespace ssptool
