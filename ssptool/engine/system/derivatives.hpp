// Directional derivatives of a coupled system at one instant, from those of its parts, through algebraic loops.
#pragma once

#include <memory>
#include <vector>

#include "part.hpp"

namespace ssptool::runtime {

// The changes of all signals with some independent signals, by the chain rule along the calls that evaluate them.
class Tangents {
 public:
  // `direction` has one number per slot: the direction for independent signals, 0 for all others. `states`: directions
  // of the states of all parts, one part after the other.
  Tangents(const Plan&, const std::vector<std::unique_ptr<Part>>&, std::vector<double> direction,
           std::vector<double> states);

  // Throws Refused if a part refuses, or if a loop has no unique solution at this point.
  void follow(const Schedule&);
  // Passes the changes on to the connectors of the system.
  void arrive();

  [[nodiscard]] double at(Slot slot) const { return values_.at(slot); }
  // Changes of the state derivatives of all parts.
  [[nodiscard]] std::vector<double> slopes() const;

 private:
  void follow(const Call&);
  void follow(const PlannedLoop&);
  std::vector<double> around(const PlannedLoop&, const std::vector<double>& guess);
  void carry(Slot destination);
  // Changes of these unknowns of a part, from the changes of its inputs and states; `count` is the number of scalars.
  [[nodiscard]] std::vector<double> of_part(Index part, const std::vector<fmi::Reference>& unknowns,
                                            std::size_t count) const;

  const Plan& plan_;
  const std::vector<std::unique_ptr<Part>>& parts_;
  std::vector<const Wire*> into_;  // by slot
  std::vector<double> values_, states_;
  std::vector<std::size_t> first_state_;  // by part
};

}  // namespace ssptool::runtime
