// The parts of model exchange evaluated at points that no integration comes to: for linear models and steady states.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "../kernel/core/ode_system.hpp"

namespace ssptool::runtime {

// Values that were put into slots that nothing feeds stay there, while tables drive none. The parts are left wherever
// the last evaluation has led them. All functions throw IntegrationStopped, or CallRefused.
class OdeProbe {
 public:
  // `parts[i]` is the number of the model i.
  OdeProbe(OdeSystem& system, std::vector<Index> parts) : system_(system), parts_(std::move(parts)) {}

  // Slots of inputs, or of outputs, of a model that are real numbers.
  [[nodiscard]] std::vector<Slot> real_slots(std::size_t model, bool inputs) const;
  [[nodiscard]] std::size_t states(std::size_t model) const { return system_.models().at(model).states(); }
  // Of all models, one after the other: where they are, and their usual sizes.
  [[nodiscard]] std::vector<double> present_states(double t);
  [[nodiscard]] std::vector<double> nominal_states(double t);

  // Go to (t, x), with these values in these slots and all outputs consistent; x'.
  [[nodiscard]] std::vector<double> evaluate(double t, std::span<const double> x, const std::vector<Slot>& slots,
                                             std::span<const double> values);
  // One model alone at the last time, with these states and real inputs, while the others stay as they are: its x', and
  // then its real outputs.
  [[nodiscard]] std::vector<double> evaluate_part(std::size_t model, double t, std::span<const double> x,
                                                  std::span<const double> inputs);
  // ∂unknowns/∂knowns · seed of one model where it is; the FMU must have the function.
  [[nodiscard]] std::vector<double> derivative(std::size_t model, std::span<const fmi::Reference> unknowns,
                                               std::span<const fmi::Reference> knowns, std::span<const double> seed);

 private:
  [[nodiscard]] Variables reals(std::size_t model, bool inputs, Type type) const;
  void set_inputs(std::size_t model, const std::vector<Slot>& slots, double t);
  void check(std::size_t model, const Failure&) const;
  [[noreturn]] void not_exchanged(std::size_t model, double t) const;

  OdeSystem& system_;
  const std::vector<Index> parts_;
};

}  // namespace ssptool::runtime
