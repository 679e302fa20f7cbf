// FMI 2.0 co-simulation.
#include <algorithm>
#include <utility>

#include "instance.hpp"

namespace ssptool {

namespace {

class Fmi2Instance final : public Instance {
 public:
  Fmi2Instance(const FunctionTable& functions, fmi::Component component, std::vector<fmi::Reference> inputs,
               std::span<const Type> types)
      : Instance(RealAccess(component, functions.find<fmi::v2::SetReal>("fmi2SetReal"),
                            functions.find<fmi::v2::GetReal>("fmi2GetReal"))),
        component_(component),
        set_rates_(functions.find<fmi::v2::SetRealInputDerivatives>("fmi2SetRealInputDerivatives")),
        do_step_(functions.find<fmi::v2::DoStep>("fmi2DoStep")),
        directional_(functions.find<fmi::v2::GetDirectionalDerivative>("fmi2GetDirectionalDerivative")),
        state_(component, functions.find<fmi::v2::GetState>("fmi2GetFMUstate"),
               functions.find<fmi::v2::SetState>("fmi2SetFMUstate"),
               functions.find<fmi::v2::FreeState>("fmi2FreeFMUstate")),
        access_(functions, types),
        inputs_(std::move(inputs)),
        rate_references_(2 * inputs_.size()),
        rate_orders_(2 * inputs_.size()),
        rates_(2 * inputs_.size()) {
    const std::size_t n = inputs_.size();
    for (std::size_t i = 0; i < 2 * n; ++i) {
      rate_references_[i] = inputs_[i % n];
      rate_orders_[i] = i < n ? 1 : 2;
    }
  }

  [[nodiscard]] const char* set_function() const noexcept override { return "fmi2SetReal"; }
  [[nodiscard]] const char* get_function() const noexcept override { return "fmi2GetReal"; }
  [[nodiscard]] bool has_saved_state() const noexcept override { return static_cast<bool>(state_); }

  Failure set(Typed& typed) noexcept override { return access_.set(component_, typed); }
  Failure get(Typed& typed) noexcept override { return access_.get(component_, typed); }
  [[nodiscard]] const char* set_function(Type type) const noexcept override { return access_names(type, 2).set; }
  [[nodiscard]] const char* get_function(Type type) const noexcept override { return access_names(type, 2).get; }

  Failure step(double t, double h, const Motion& motion) noexcept override {
    if (!inputs_.empty()) {
      if (const Failure failure = checked(set_function(), reals.set(inputs_, motion.value))) return failure;
      if (const Failure failure = set_rates(motion)) return failure;
    }
    return checked("fmi2DoStep", do_step_(component_, t, h, state_ ? 0 : 1));
  }

  Failure directional(References unknowns, References knowns, std::span<const double> seed,
                      std::span<double> sensitivity) noexcept override {
    const int status = directional_(component_, unknowns.data(), unknowns.size(), knowns.data(), knowns.size(),
                                    seed.data(), sensitivity.data());
    return checked("fmi2GetDirectionalDerivative", status);
  }

  Failure save() noexcept override {
    told_order_saved_ = told_order_;
    return checked("fmi2GetFMUstate", state_.save());
  }

  Failure restore() noexcept override {
    // Whether a state includes the input derivatives is the FMU's secret, so expect either.
    told_order_ = std::max(told_order_, told_order_saved_);
    return checked("fmi2SetFMUstate", state_.restore());
  }

  void release() noexcept override { state_.release(); }

 private:
  Failure set_rates(const Motion& motion) noexcept {
    // An order that was in effect is told once more, as zero: else the FMU might keep following it.
    const int order = motion.order();
    const int told = std::max(order, told_order_);
    if (told == 0) return {};
    told_order_ = order;
    const std::size_t n = inputs_.size();
    const double* rates = motion.first.data();
    if (told == 2) {
      std::copy(motion.first.begin(), motion.first.end(), rates_.begin());
      std::copy(motion.second.begin(), motion.second.end(), rates_.begin() + static_cast<std::ptrdiff_t>(n));
      rates = rates_.data();
    }
    const int status =
        set_rates_(component_, rate_references_.data(), static_cast<std::size_t>(told) * n, rate_orders_.data(), rates);
    return checked("fmi2SetRealInputDerivatives", status);
  }

  fmi::Component component_;
  fmi::v2::SetRealInputDerivatives* set_rates_;
  fmi::v2::DoStep* do_step_;
  fmi::v2::GetDirectionalDerivative* directional_;
  SavedState state_;
  Access<2> access_;
  std::vector<fmi::Reference> inputs_;
  std::vector<fmi::Reference> rate_references_;
  std::vector<int> rate_orders_;
  std::vector<double> rates_;
  int told_order_ = 0;  // the highest input derivative that the FMU may still act on
  int told_order_saved_ = 0;
};

}  // namespace

std::unique_ptr<Instance> make_fmi2(const FunctionTable& functions, fmi::Component component,
                                    std::vector<fmi::Reference> inputs, std::span<const Type> types) {
  return std::make_unique<Fmi2Instance>(functions, component, std::move(inputs), types);
}

}  // namespace ssptool
