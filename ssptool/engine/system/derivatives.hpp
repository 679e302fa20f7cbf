// Directional derivatives of a coupled system at one instant, from those of its parts, through algebraic loops.
#pragma once

#include <memory>
#include <vector>

#include "part.hpp"

namespace ssptool::runtime {

// How all signals change with those that do not depend on others: by the chain rule along the calls that evaluate them.
class Tangents {
 public:
  // One number per slot; of signals that depend on nothing here the direction, of all others 0. `states`: directions of
  // the states of all parts, one after the other.
  Tangents(const Plan&, const std::vector<std::unique_ptr<Part>>&, std::vector<double> direction,
           std::vector<double> states);

  // Throws Refused if a part refuses, or a loop has no unique solution there.
  void follow(const Schedule&);
  // To connectors of the system.
  void arrive();

  [[nodiscard]] double at(Slot slot) const { return values_.at(slot); }
  // Of the state derivatives of all parts.
  [[nodiscard]] std::vector<double> slopes() const;

 private:
  void follow(const Call&);
  void follow(const PlannedLoop&);
  std::vector<double> around(const PlannedLoop&, const std::vector<double>& guess);
  void carry(Slot destination);
  // Of these unknowns of a part, from what reaches its inputs and from its states; so many numbers.
  [[nodiscard]] std::vector<double> of_part(Index part, const std::vector<fmi::Reference>& unknowns,
                                            std::size_t count) const;

  const Plan& plan_;
  const std::vector<std::unique_ptr<Part>>& parts_;
  std::vector<const Wire*> into_;  // by slot
  std::vector<double> values_, states_;
  std::vector<std::size_t> first_state_;  // by part
};

}  // namespace ssptool::runtime
