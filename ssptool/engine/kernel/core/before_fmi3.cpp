// FMI 1.0 and 2.0 co-simulation.
#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "instance.hpp"

namespace ssptool {

namespace {

// Input derivatives, in the form of both versions.
class InputRates {
 public:
  InputRates(fmi::v2::SetRealInputDerivatives* set, References inputs)
      : set_(set),
        count_(inputs.size()),
        references_(2 * inputs.size()),
        orders_(2 * inputs.size()),
        rates_(2 * inputs.size()),
        limited_(inputs.size()) {
    for (std::size_t i = 0; i < 2 * count_; ++i) {
      references_[i] = inputs[i % count_];
      orders_[i] = i < count_ ? 1 : 2;
    }
  }

  // The highest input derivative that the FMU may still act on.
  int told_order = 0;

  // Sets the inputs as they run over the step from t, as far as the FMU follows them.
  Failure lead(const RealAccess& reals, double t, double h, const Motion& motion, const char* set_values,
               const char* set_rates) noexcept {
    for (;;) {
      const Motion taken = limited_.of_order(following.order, motion, h);
      if (const Failure failure = checked(set_values, reals.set({references_.data(), count_}, taken.values())))
        return failure;
      const int before = told_order;
      const int told = std::max(taken.order(), before);
      const int status = set(reals.component(), taken, told);
      if (status <= fmi::warning) return {};
      if (!refused(told, before, t, set_rates, status)) return {set_rates, status};
      if (told_order == 0 && taken.order() == 0) return {};  // held, and nothing more can be said to it
    }
  }

  // First derivatives, where there was no higher one in effect; `moving`: some are not zero.
  Failure tell(fmi::Component component, double t, const double* first, bool moving, const char* set_rates) noexcept {
    if (following.order == 0) return {set_rates, following.status};
    const int before = told_order;
    told_order = moving ? 1 : 0;
    const int status = set_(component, references_.data(), count_, orders_.data(), first);
    if (status <= fmi::warning) return {};
    refused(1, before, t, set_rates, status);
    return {set_rates, status};
  }

  Following following;

 private:
  // What was in effect before may still be; that nothing is any more is worth one more call.
  bool refused(int told, int before, double t, const char* set_rates, int status) noexcept {
    if (following.order == 0 && status <= fmi::error) {
      told_order = 0;
      return true;
    }
    told_order = std::min(before, std::max(told - 1, 1));
    return following.refused(told, t, set_rates, status);
  }

  // Sets derivatives up to the order `told`; the status, or 0 if there is nothing to set.
  int set(fmi::Component component, const Motion& motion, int told) noexcept {
    // An order that was set before is set once more, to zero; otherwise the FMU might still use it.
    if (told == 0) return 0;
    told_order = motion.order();
    const double* rates = motion.first;
    if (told == 2) {
      std::copy_n(motion.first, count_, rates_.begin());
      std::copy_n(motion.second, count_, rates_.begin() + static_cast<std::ptrdiff_t>(count_));
      rates = rates_.data();
    }
    return set_(component, references_.data(), static_cast<std::size_t>(told) * count_, orders_.data(), rates);
  }

  fmi::v2::SetRealInputDerivatives* set_;
  std::size_t count_;
  std::vector<fmi::Reference> references_;
  std::vector<int> orders_;
  std::vector<double> rates_;
  LimitedMotion limited_;
};

// FMI 1.0 has neither saved states nor directional derivatives. What can reject steps does the last one again: so the
// only state that it can go back to is that before its last step, and with the next step only.
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
  TypedAccess<1> access_;
};

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
        boolean_status_(functions.find_if_there<fmi::v2::GetBooleanStatus>("fmi2GetBooleanStatus")),
        real_status_(functions.find_if_there<fmi::v2::GetRealStatus>("fmi2GetRealStatus")),
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
    return checked(fmi::v2::do_step, do_step_(reals.component(), t, h, no_set_state ? 1 : 0));
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

  // Not where it asks to end the simulation.
  [[nodiscard]] bool may_be_divided(double t, bool saved) noexcept override {
    int ends = 0;
    double reached = t + 1.0;
    if (boolean_status_ != nullptr)
      if (boolean_status_(reals.component(), fmi::v2::terminated, &ends) <= fmi::warning && ends != 0) return false;
    if (saved) return true;
    const int told =
        real_status_ == nullptr ? fmi::error : real_status_(reals.component(), fmi::v2::last_successful_time, &reached);
    return told <= fmi::warning && reached == t;
  }

  [[nodiscard]] Following& following() noexcept override { return rates_.following; }
  void release() noexcept override { state_.release(); }

  [[nodiscard]] InstanceMemory memory() noexcept override { return {rates_.following, rates_.told_order}; }
  void go_on(const InstanceMemory& memory) noexcept override {
    rates_.following = memory.following;
    rates_.told_order = std::max(rates_.told_order, memory.told_order);  // as in `restore`
  }

 private:
  static constexpr const char* set_rates = "fmi2SetRealInputDerivatives";

  fmi::v2::DoStep* do_step_;
  std::pmr::vector<fmi::Reference> inputs_;
  SavedState state_;
  InputRates rates_;
  int told_order_saved_ = 0;
  fmi::v2::GetDirectionalDerivative* directional_;
  fmi::v2::GetBooleanStatus* boolean_status_;
  fmi::v2::GetRealStatus* real_status_;
  TypedAccess<2> access_;
};

}  // namespace

InstancePointer make_fmi1(Memory& memory, const FunctionTable& functions, fmi::Component component, References inputs,
                          std::span<const Type> types) {
  return make_in<Fmi1Instance>(memory, memory, functions, component, inputs, types);
}

InstancePointer make_fmi2(Memory& memory, const FunctionTable& functions, fmi::Component component, References inputs,
                          std::span<const Type> types) {
  return make_in<Fmi2Instance>(memory, memory, functions, component, inputs, types);
}

}  // namespace ssptool
