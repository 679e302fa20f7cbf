// FMI 3.0 co-simulation. In event mode, the results of a step go to a report.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "instance.hpp"

namespace ssptool {

extern "C" void ssptool_intermediate_update(void* environment, double time, bool set_requested, bool, bool, bool,
                                            bool* early_return_requested, double*) {
  if (early_return_requested != nullptr) *early_return_requested = false;
  if (!set_requested || environment == nullptr) return;
  if (IntermediateTarget* target = static_cast<Environment*>(environment)->target) target->intermediate_update(time);
}

namespace {

// The functions for binary variables, whose values have individual sizes; null if there are none.
class BinaryAccess {
 public:
  BinaryAccess(const FunctionTable& functions, std::span<const Type> types) {
    if (std::find(types.begin(), types.end(), Type::binary) == types.end()) return;
    set_ = functions.find<fmi::v3::SetBinary>(names.set);
    get_ = functions.find<fmi::v3::GetBinary>(names.get);
  }

  Failure set(fmi::Component component, const Typed& typed) const noexcept {
    return checked(names.set, set_(component, typed.references.data(), typed.references.size(), typed.sizes.data(),
                                   typed.memory.data(), typed.slots.size()));
  }

  Failure get(fmi::Component component, Typed& typed) const noexcept {
    return checked(names.get, get_(component, typed.references.data(), typed.references.size(), typed.sizes.data(),
                                   typed.memory.data(), typed.slots.size()));
  }

 private:
  inline static const AccessNames names = access_names(Type::binary, 3);

  fmi::v3::SetBinary* set_ = nullptr;
  fmi::v3::GetBinary* get_ = nullptr;
};

class Fmi3Instance final : public Instance, private IntermediateTarget {
 public:
  Fmi3Instance(Memory& memory, const FunctionTable& functions, fmi::Component component, References inputs,
               std::size_t values, std::span<const Type> types, Environment* environment, StepReport* report)
      : Instance(RealAccess(component, functions.find<fmi::v3::SetFloat64>("fmi3SetFloat64"),
                            functions.find<fmi::v3::GetFloat64>("fmi3GetFloat64"))),
        do_step_(functions.find<fmi::v3::DoStep>("fmi3DoStep")),
        inputs_(inputs.begin(), inputs.end(), &memory),
        state_(component, functions.find<fmi::v3::GetState>("fmi3GetFMUState"),
               functions.find<fmi::v3::SetState>("fmi3SetFMUState"),
               functions.find<fmi::v3::FreeState>("fmi3FreeFMUState")),
        report_(report),
        has_environment_(environment != nullptr),
        directional_(functions.find<fmi::v3::GetDirectionalDerivative>("fmi3GetDirectionalDerivative")),
        access_(functions, types),
        binaries_(functions, types),
        intermediate_(values),
        limited_(values) {
    if (environment != nullptr) environment->target = this;
  }

  [[nodiscard]] const char* set_function() const noexcept override { return "fmi3SetFloat64"; }
  [[nodiscard]] const char* get_function() const noexcept override { return "fmi3GetFloat64"; }
  [[nodiscard]] bool has_saved_state() const noexcept override { return static_cast<bool>(state_); }

  Failure set(Typed& typed) noexcept override {
    return typed.type == Type::binary ? binaries_.set(reals.component(), typed)
                                      : access_.set(reals.component(), typed, typed.slots.size());
  }
  Failure get(Typed& typed) noexcept override {
    return typed.type == Type::binary ? binaries_.get(reals.component(), typed)
                                      : access_.get(reals.component(), typed, typed.slots.size());
  }
  [[nodiscard]] const char* set_function(Type type) const noexcept override { return access_names(type, 3).set; }
  [[nodiscard]] const char* get_function(Type type) const noexcept override { return access_names(type, 3).get; }

  Failure step(double t, double h, const Motion& motion) noexcept override {
    const Motion taken = following_.order == 0 ? limited_.of_order(0, motion, h) : motion;
    if (!inputs_.empty())
      if (const Failure failure = checked(set_function(), reals.set(inputs_, taken.values()))) return failure;
    const bool varies = taken.order() > 0;
    if (varies && !has_environment_) return {"fmi3DoStep:intermediateUpdate", fmi::error};
    start_ = t;
    motion_ = varies ? &taken : nullptr;
    intermediate_failure_ = {};
    const Failure failure = do_step(t, h);
    motion_ = nullptr;
    return intermediate_failure_ ? intermediate_failure_ : failure;
  }

  Failure directional(References unknowns, References knowns, std::span<const double> seed,
                      std::span<double> sensitivity) noexcept override {
    const int status = directional_(reals.component(), unknowns.data(), unknowns.size(), knowns.data(), knowns.size(),
                                    seed.data(), seed.size(), sensitivity.data(), sensitivity.size());
    return checked("fmi3GetDirectionalDerivative", status);
  }

  Failure save() noexcept override { return checked("fmi3GetFMUState", state_.save()); }
  Failure restore() noexcept override { return checked("fmi3SetFMUState", state_.restore()); }
  // In event mode, early ends are handled by events.
  [[nodiscard]] bool may_be_divided(double t, bool saved) noexcept override {
    return report_ == nullptr && (saved || discarded_at_ == t);
  }
  void release() noexcept override { state_.release(); }
  [[nodiscard]] Following& following() noexcept override { return following_; }

  [[nodiscard]] double ended() const noexcept override { return ended_; }
  [[nodiscard]] InstanceMemory memory() noexcept override { return {following_, 0, ends_from_}; }
  void go_on(const InstanceMemory& memory) noexcept override {
    following_ = memory.following;
    ends_from_ = memory.ends_from;
  }

 private:
  // What one call of fmi3DoStep returns about the step.
  struct Told {
    bool event = false, ends = false, early = false;
    double reached = unwritten;  // where it has ended [s]
  };

  Failure do_step(double t, double h) noexcept {
    if (report_ != nullptr && report_->waits != 0.0) return {};
    // The step that has ended the simulation was valid. No step may follow, except if it was taken back.
    if (t >= ends_from_) return {to_end, 0};
    Told told;
    if (const Failure failure = call(t, h, told)) return failure;
    ends_from_ = told.ends ? t + 0.5 * (told.reached - t) : never;
    if (report_ == nullptr) {
      if (told.early) return {told.ends ? to_end : early_return, 0};
      return told.event ? Failure{"fmi3DoStep:eventHandlingNeeded", 0} : Failure{};
    }
    const bool event = told.event || told.early;
    if (report_->returns == 0.0)
      if (const Failure failure = complete(t, h, told)) return failure;
    report_->event = event || told.event ? 1.0 : 0.0;
    report_->reached = told.reached;
    return {};
  }

  // Completes a step that the FMU has ended early although it may not: the others cannot go back, so this FMU continues
  // alone.
  Failure complete(double t, double h, Told& told) noexcept {
    const double end = t + h, near_end = end - close * h;
    if (!(told.reached < near_end)) return {};
    for (double from = t; told.reached < near_end;) {
      if (told.ends) return {to_end, 0};
      if (told.reached <= from + close * h) return {early_return, 0};
      from = std::exchange(told, {}).reached;
      if (const Failure failure = call(from, end - from, told)) return failure;
    }
    ends_from_ = told.ends ? t + 0.5 * h : never;
    report_->resumed += 1.0;
    return {};
  }

  // Refuses times that contradict the step, or the flags.
  Failure call(double t, double h, Told& told) noexcept {
    const int status =
        do_step_(reals.component(), t, h, no_set_state, &told.event, &told.ends, &told.early, &told.reached);
    if (status == fmi::discard && told.ends) {
      ended_ = std::isnan(told.reached) ? t : told.reached;
      return {to_end, 0};
    }
    discarded_at_ = status == fmi::discard ? told.reached : unwritten;
    if (status > fmi::warning) return {fmi::v3::do_step, status};
    const double end = t + h;
    const bool plausible = told.early ? told.reached >= t - close * h && told.reached <= end + close * h
                                      : std::isnan(told.reached) || std::abs(told.reached - end) <= inexact * h;
    if (!plausible) return {"fmi3DoStep:lastSuccessfulTime", 0};
    if (!told.early) told.reached = end;
    if (told.ends) ended_ = told.reached;
    return {};
  }

  void intermediate_update(double time) noexcept override {
    if (motion_ == nullptr) return;
    for (std::size_t i = 0; i < intermediate_.size(); ++i) intermediate_[i] = motion_->at(i, time - start_);
    const int status = reals.set(inputs_, intermediate_);
    if (status <= fmi::warning) return;
    motion_ = nullptr;  // they stay unchanged
    if (!following_.refused(1, start_, set_function(), status)) intermediate_failure_ = {set_function(), status};
  }

  static constexpr const char* to_end = "fmi3DoStep:terminateSimulation";
  static constexpr const char* early_return = "fmi3DoStep:earlyReturn";
  static constexpr double unwritten = std::numeric_limits<double>::quiet_NaN();
  // Relative to the step size: times are equal; tolerated deviation of an FMU that adds up its own steps.
  static constexpr double close = 1e-9, inexact = 1e-2;
  static constexpr double never = std::numeric_limits<double>::infinity();

  fmi::v3::DoStep* do_step_;
  double ends_from_ = never;         // the middle of the step in which it has requested the end of the simulation
  double discarded_at_ = unwritten;  // its time after a discarded step [s]
  double ended_ = unwritten;         // the end of that step, or of the part that was done
  std::pmr::vector<fmi::Reference> inputs_;
  SavedState state_;
  StepReport* report_;
  bool has_environment_;
  double start_ = 0.0;
  const Motion* motion_ = nullptr;  // during a step with varying inputs
  Failure intermediate_failure_;
  fmi::v3::GetDirectionalDerivative* directional_;
  TypedAccess<3, std::size_t> access_;
  BinaryAccess binaries_;
  std::vector<double> intermediate_;
  Following following_;
  LimitedMotion limited_;
};

}  // namespace

InstancePointer make_fmi3(Memory& memory, const FunctionTable& functions, fmi::Component component, References inputs,
                          std::size_t values, std::span<const Type> types, Environment* environment,
                          StepReport* report) {
  return make_in<Fmi3Instance>(memory, memory, functions, component, inputs, values, types, environment, report);
}

}  // namespace ssptool
