// The states of all parts at the start of a macro step that may have to be shortened.
#pragma once

#include <memory>
#include <vector>

#include "ode.hpp"
#include "part.hpp"

namespace ssptool::runtime {

// One state for each instance that the kernel steps; parts that belong to an ODE next to other parts share one.
class Checkpoint {
 public:
  using Parts = std::vector<std::unique_ptr<Part>>;

  // `ode`: null if there is no ODE next to other parts. All arguments must outlive this object.
  Checkpoint(const Parts& parts, OdeComponent* ode) : parts_(parts), ode_(ode), states_(parts.size() + 1) {}
  Checkpoint(const Checkpoint&) = delete;
  Checkpoint& operator=(const Checkpoint&) = delete;
  ~Checkpoint();

  // Saves the present states, which replace the saved ones.
  void keep();
  // Restores the state of one instance, by its number in the kernel; does nothing if no state is saved.
  void go_back(Index instance);
  // Restores all states.
  void go_back();

 private:
  const Parts& parts_;
  OdeComponent* ode_;
  std::vector<fmi::State> states_;  // by part; the last one is the ODE's
};

}  // namespace ssptool::runtime
