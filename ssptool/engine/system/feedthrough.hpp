// Outputs of parts that must not move with an input, as their descriptions say.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "plan.hpp"

namespace ssptool::runtime {

// A real variable of a part; of an input the largest value, and the outputs that deny to depend on it, by their place.
struct DeniedEnd {
  Slot slot;
  fmi::Reference reference;
  double nominal = 1.0, maximum = HUGE_VAL;
  std::vector<Index> outputs{};
};

struct DeniedFeedthrough {
  Index part;
  bool saves_state;  // so that inputs can be tried, and taken back
  std::string type;  // of all ends
  std::vector<DeniedEnd> inputs{}, outputs{};
};

// An output has moved with an input.
struct FoundFeedthrough {
  Slot input, output;
};

}  // namespace ssptool::runtime
