// Reasons to stop an evaluation or an integration, which are passed through callbacks: failure.py in C++.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace ssptool {

enum class Ending { fmi, nonfinite, integration, events, loop, coupling, inputs, terminated };

// Additional data of a reason, which its creator gets back.
class Details {
 public:
  Details() = default;
  Details(const Details&) = delete;
  Details& operator=(const Details&) = delete;
  virtual ~Details() = default;
};

class IntegrationStopped : public std::runtime_error {
 public:
  // `can_go_on`: the FMU that refused can continue from a saved state.
  IntegrationStopped(Ending why, const std::string& message, std::string what_to_do, double time, std::string name = {},
                     bool can_go_on = false)
      : std::runtime_error(message),
        ending(why),
        advice(std::move(what_to_do)),
        t(time),
        component(std::move(name)),
        recoverable(can_go_on) {}

  Ending ending;
  std::string advice;
  double t;
  std::string component;
  bool recoverable;
  std::string function = {};  // of FMI, if the failure occurred in one
  std::shared_ptr<const Details> details = {};
};

// A component ends the simulation at this time [s].
inline IntegrationStopped ended_by(const std::string& component, double t) {
  return {Ending::terminated, "component " + component + " ended the simulation",
          "see its messages, and check its parameters and inputs", t, component};
}

// A function of a component returned a status worse than a warning, outside registered operations of a kernel.
class CallRefused : public std::runtime_error {
 public:
  CallRefused(const std::string& name, const std::string& of, int returned)
      : std::runtime_error("component " + name + ": " + of + " returned status " + std::to_string(returned)),
        component(name),
        function(of),
        status(returned) {}

  std::string component, function;
  int status;
};

}  // namespace ssptool
