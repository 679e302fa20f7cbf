// The states of all parts at the start of a macro step that may have to be cut short.
#pragma once

#include <memory>
#include <vector>

#include "ode.hpp"
#include "part.hpp"

namespace ssptool::runtime {

// One for each instance that the kernel steps: for parts of an ODE beside others that is the ODE.
class Checkpoint {
 public:
  using Parts = std::vector<std::unique_ptr<Part>>;

  // `ode`: null if there is none beside other parts. All must outlive it.
  Checkpoint(const Parts& parts, OdeComponent* ode) : parts_(parts), ode_(ode), states_(parts.size() + 1) {}
  Checkpoint(const Checkpoint&) = delete;
  Checkpoint& operator=(const Checkpoint&) = delete;
  ~Checkpoint();

  // In place of what was kept before.
  void keep();
  // By number in the kernel; nothing happens where nothing is kept.
  void go_back(Index instance);
  // All.
  void go_back();

 private:
  const Parts& parts_;
  OdeComponent* ode_;
  std::vector<fmi::State> states_;  // by part; the last is that of the ODE
};

}  // namespace ssptool::runtime
