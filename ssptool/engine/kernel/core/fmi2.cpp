// FMI 2.0 co-simulation.
#include <algorithm>

#include "instance.hpp"
#include "rates.hpp"

namespace ssptool {

namespace {

class Fmi2Instance final : public Instance {
 public:
  Fmi2Instance(Memory& memory, const FunctionTable& functions, fmi::Component component, References inputs,
               std::span<const Type> types)
      : Instance(RealAccess(component, functions.find<fmi::v2::SetReal>("fmi2SetReal"),
                            functions.find<fmi::v2::GetReal>("fmi2GetReal"))),
        do_step_(functions.find<fmi::v2::DoStep>(fmi::v2::do_step)),
        inputs_(inputs.begin(), inputs.end(), &memory),
        state_(component, functions.find<fmi::v2::GetState>("fmi2GetFMUstate"),
               functions.find<fmi::v2::SetState>("fmi2SetFMUstate"),
               functions.find<fmi::v2::FreeState>("fmi2FreeFMUstate")),
        rates_(functions.find<fmi::v2::SetRealInputDerivatives>(set_rates), inputs_),
        directional_(functions.find<fmi::v2::GetDirectionalDerivative>("fmi2GetDirectionalDerivative")),
        access_(functions, types) {}

  [[nodiscard]] const char* set_function() const noexcept override { return "fmi2SetReal"; }
  [[nodiscard]] const char* get_function() const noexcept override { return "fmi2GetReal"; }
  [[nodiscard]] bool has_saved_state() const noexcept override { return static_cast<bool>(state_); }

  Failure set(Typed& typed) noexcept override { return access_.set(reals.component(), typed); }
  Failure get(Typed& typed) noexcept override { return access_.get(reals.component(), typed); }
  [[nodiscard]] const char* set_function(Type type) const noexcept override { return access_names(type, 2).set; }
  [[nodiscard]] const char* get_function(Type type) const noexcept override { return access_names(type, 2).get; }

  Failure step(double t, double h, const Motion& motion) noexcept override {
    if (!inputs_.empty())
      if (const Failure failure = rates_.lead(reals, t, h, motion, set_function(), set_rates)) return failure;
    return checked(fmi::v2::do_step, do_step_(reals.component(), t, h, state_ ? 0 : 1));
  }
  [[nodiscard]] fmi::v2::DoStep* plain_step() const noexcept override { return do_step_; }
  Failure tell(double t, const double* first, bool moving) noexcept override {
    return rates_.tell(reals.component(), t, first, moving, set_rates);
  }

  Failure directional(References unknowns, References knowns, std::span<const double> seed,
                      std::span<double> sensitivity) noexcept override {
    const int status = directional_(reals.component(), unknowns.data(), unknowns.size(), knowns.data(), knowns.size(),
                                    seed.data(), sensitivity.data());
    return checked("fmi2GetDirectionalDerivative", status);
  }

  Failure save() noexcept override {
    told_order_saved_ = rates_.told_order;
    return checked("fmi2GetFMUstate", state_.save());
  }

  Failure restore() noexcept override {
    // Whether a state includes the input derivatives is the FMU's secret, so expect either.
    rates_.told_order = std::max(rates_.told_order, told_order_saved_);
    return checked("fmi2SetFMUstate", state_.restore());
  }

  [[nodiscard]] Following& following() noexcept override { return rates_.following; }
  void release() noexcept override { state_.release(); }

 private:
  static constexpr const char* set_rates = "fmi2SetRealInputDerivatives";

  fmi::v2::DoStep* do_step_;
  std::pmr::vector<fmi::Reference> inputs_;
  SavedState state_;
  InputRates rates_;
  int told_order_saved_ = 0;
  fmi::v2::GetDirectionalDerivative* directional_;
  Access<2> access_;
};

}  // namespace

InstancePointer make_fmi2(Memory& memory, const FunctionTable& functions, fmi::Component component, References inputs,
                          std::span<const Type> types) {
  return make_in<Fmi2Instance>(memory, memory, functions, component, inputs, types);
}

}  // namespace ssptool
