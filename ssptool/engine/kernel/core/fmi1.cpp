// FMI 1.0 co-simulation, which has neither saved states nor directional derivatives. What can reject steps does the
// last one again: so the only state that it can go back to is that before its last step, and with the next step only.
#include <algorithm>
#include <utility>

#include "instance.hpp"
#include "rates.hpp"

namespace ssptool {

namespace {

class Fmi1Instance final : public Instance {
 public:
  Fmi1Instance(Memory& memory, const FunctionTable& functions, fmi::Component component, References inputs,
               std::span<const Type> types)
      : Instance(RealAccess(component, functions.find<fmi::v2::SetReal>("fmiSetReal"),
                            functions.find<fmi::v2::GetReal>("fmiGetReal"))),
        do_step_(functions.find<fmi::v1::DoStep>("fmiDoStep")),
        inputs_(inputs.begin(), inputs.end(), &memory),
        rates_(functions.find<fmi::v2::SetRealInputDerivatives>("fmiSetRealInputDerivatives"), inputs_),
        access_(functions, types) {}

  [[nodiscard]] const char* set_function() const noexcept override { return "fmiSetReal"; }
  [[nodiscard]] const char* get_function() const noexcept override { return "fmiGetReal"; }
  [[nodiscard]] bool has_saved_state() const noexcept override { return saved_; }

  Failure set(Typed& typed) noexcept override { return access_.set(reals.component(), typed); }
  Failure get(Typed& typed) noexcept override { return access_.get(reals.component(), typed); }
  [[nodiscard]] const char* set_function(Type type) const noexcept override { return access_names(type, 1).set; }
  [[nodiscard]] const char* get_function(Type type) const noexcept override { return access_names(type, 1).get; }

  Failure step(double t, double h, const Motion& motion) noexcept override {
    if (!inputs_.empty())
      if (const Failure failure = rates_.lead(reals, t, h, motion, set_function(), "fmiSetRealInputDerivatives"))
        return failure;
    return checked("fmiDoStep", do_step_(reals.component(), t, h, !std::exchange(again_, false)));
  }

  Failure directional(References, References, std::span<const double>, std::span<double>) noexcept override {
    return {"directional derivatives", fmi::error};
  }
  Failure save() noexcept override {
    saved_ = true;
    again_ = false;
    told_order_saved_ = rates_.told_order;
    return {};
  }
  Failure restore() noexcept override {
    if (!saved_) return {"restoring the state", fmi::error};
    again_ = true;
    rates_.told_order = std::max(rates_.told_order, told_order_saved_);
    return {};
  }
  [[nodiscard]] Following& following() noexcept override { return rates_.following; }
  void release() noexcept override { saved_ = again_ = false; }

 private:
  fmi::v1::DoStep* do_step_;
  std::pmr::vector<fmi::Reference> inputs_;
  InputRates rates_;
  int told_order_saved_ = 0;
  bool saved_ = false;
  bool again_ = false;  // the next step is the last one once more
  Access<1> access_;
};

}  // namespace

InstancePointer make_fmi1(Memory& memory, const FunctionTable& functions, fmi::Component component, References inputs,
                          std::span<const Type> types) {
  return make_in<Fmi1Instance>(memory, memory, functions, component, inputs, types);
}

}  // namespace ssptool
