// Instances of model exchange as one right-hand side x' = f(t, x) with event indicators g(t, x): what an integrator
// calls, and what goes through events with it.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "continuous_model.hpp"
#include "kernel.hpp"
#include "ode_solvers.hpp"
#include "slopes.hpp"
#include "stopped.hpp"

namespace ssptool {

// A component ends the simulation at this time [s].
IntegrationStopped ended_by(const std::string& component, double t);

// The state vector is that of all instances, one after the other. A system without states gets one that is constant,
// because an integrator needs one to follow indicators and time.
class OdeSystem final : public OdeProblem {
 public:
  // Schedules of the kernel: over everything, and over what derivatives and indicators need.
  struct Schedules {
    Index whole, slopes;
  };
  // What an outcome of the kernel at a time [s] means, in words.
  using Explain = std::function<IntegrationStopped(const Outcome&, double t)>;

  // `models[i]` is the instance `instances[i]` of the kernel; `inputs` are the slots of input polynomials.
  OdeSystem(Kernel&, std::vector<ContinuousModel> models, std::vector<Index> instances, Schedules,
            std::vector<Slot> inputs, Explain);
  OdeSystem(const OdeSystem&) = delete;
  OdeSystem& operator=(const OdeSystem&) = delete;
  ~OdeSystem() override = default;

  [[nodiscard]] std::size_t size() const noexcept { return size_ == 0 ? 1 : size_; }
  [[nodiscard]] std::size_t states() const noexcept { return size_; }
  [[nodiscard]] std::size_t indicator_count() const noexcept { return indicators_; }
  [[nodiscard]] const std::vector<ContinuousModel>& models() const noexcept { return models_; }
  [[nodiscard]] bool reports_steps() const noexcept;
  // "event indicator 1 of ball", by their number among all.
  [[nodiscard]] const ContinuousModel& model_of_indicator(std::size_t number) const noexcept;
  [[nodiscard]] std::string name_of_indicator(std::size_t number) const;

  // False where the integrator can avoid the point; `last_failure` says why. Both throw IntegrationStopped for what
  // ends the run.
  bool slopes(double t, const double* x, double* slopes) override;
  // Zero counts as negative: an event is a change between z > 0 and z ≤ 0 (FMI 2.0.4, 3.1.1; FMI 3.0, 3.2.1).
  bool indicators(double t, const double* x, double* found) override;

  // The same in parts: go to (t, x), with consistent inputs, and with all outputs if `whole`; then get the rest.
  bool reach(double t, const double* x, bool whole);
  bool present_slopes(double t, double* slopes);
  bool present_indicators(double t, double* found);

  // Go to (t, x), with all outputs consistent. These throw IntegrationStopped.
  void place(double t, const double* x);
  // Inputs and outputs where the instances are.
  void settle(double t);
  [[nodiscard]] std::vector<double> indicators_at(double t, const double* x);
  [[nodiscard]] std::vector<double> indicators_here(double t);
  void read_states(double t, double* x);
  // The usual sizes of the states, positive.
  void read_nominals(double t, double* found);
  void enter_event_mode(double t);
  void enter_continuous_time(double t);
  [[nodiscard]] std::vector<DiscreteUpdate> update_discrete_states(double t);
  [[nodiscard]] CompletedStep complete_step(std::size_t model, double t);

  // A failure at a point that the integrator can avoid.
  std::optional<IntegrationStopped> last_failure;
  InputPolynomials input_polynomials;

 private:
  bool evaluated(double t, Index schedule);
  bool finite(double t, std::span<const double> values, bool of_slopes);
  bool avoid(const ContinuousModel&, const Failure&, double t);
  // Throws.
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
  std::vector<std::size_t> first_state_, first_indicator_;  // of each model among all
  std::size_t size_ = 0, indicators_ = 0;
};

}  // namespace ssptool
