// Integrations of ODEs as a Python class: the GIL is released while they work, but in functions of their owner.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../core/integration.hpp"
#include "../core/ode_jacobian.hpp"
#include "events.hpp"

namespace ssptool::binding {

// OdeOwner, whose exceptions of type Stopped are what an integration gets over.
class Owner final : public OdeStimuli {
 public:
  explicit Owner(nb::object owner) : owner_(std::move(owner)), stopped_(event_vocabulary().attr("Stopped")) {}

  // They lead to the integration, in a circle that Python does not see.
  void let_go() { owner_.reset(); }

  template <class Result = void, class... Arguments>
  Result call(const char* name, Arguments... arguments) const {
    const nb::gil_scoped_acquire locked;
    try {
      const nb::object found = owner_.attr(name)(arguments...);
      if constexpr (!std::is_void_v<Result>) return nb::cast<Result>(found);
    } catch (nb::python_error& error) {
      if (!error.matches(stopped_)) throw;
      throw stopped_from(error.value());
    }
  }

  // Reasons that are returned.
  std::optional<IntegrationStopped> reason(const char* name, nb::object first, double t) const {
    const auto found = call<nb::object>(name, std::move(first), t);
    if (found.is_none()) return std::nullopt;
    return stopped_from(found);
  }

  void write(double t) override { call("write", t); }
  double limit(double t) override { return call<double>("limit", t); }
  double end() override { return call<double>("segment_end"); }
  void jump(double t) override { call("jump", t); }

 private:
  nb::object owner_, stopped_;
};

// It keeps its kernel and the events alive.
class NativeIntegration {
 public:
  NativeIntegration(NativeKernel&, NativeEvents&, nb::handle calls, nb::object owner);

  [[nodiscard]] Integration& core() { return integration_; }
  [[nodiscard]] OdeSystem& system() { return system_; }
  [[nodiscard]] OdeEvents& events() { return events_; }
  // That of the Jacobian included.
  [[nodiscard]] Effort effort() const;
  void close() { owner_.let_go(); }

  // What an act does while no Python runs.
  template <class Act>
  auto does(const Act& act) {
    return translated_unlocked([&] { return act(integration_); });
  }

  nb::object position(double t);
  void go_to(nb::handle position);
  void start_over(nb::handle position);
  void intervene(nb::callable action);
  // df/dx (n, n) at (t, x), calculated anew, for tests; None where there is none.
  nb::object jacobian(double t, nb::handle x);
  // Time and recorded signals, as they are.
  std::vector<double> make_row(double t);

 private:
  void add_row(double t);
  [[nodiscard]] IntegrationStopped explained(const Outcome&, double t) const;
  OdeSystem& connected(nb::handle calls);

  NativeKernel& kernel_;
  Index everyone_;
  Owner owner_;
  std::vector<double> nominal_;
  OdeSystem system_;
  std::optional<OdeJacobian> jacobian_;
  OdeEvents events_;
  Integration integration_;
};

}  // namespace ssptool::binding
