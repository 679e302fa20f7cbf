// Outputs of parts that must not depend on an input at once, according to their model descriptions.
#pragma once

#include <string>
#include <vector>

#include "probing.hpp"

namespace ssptool::runtime {

// An input, and the places of the outputs that are declared not to depend on it.
struct DeniedEnd : RealEnd {
  std::vector<Index> outputs{};
};

struct DeniedFeedthrough {
  Index part;
  bool saves_state;  // inputs can then be changed and restored
  std::string type;  // of all inputs and outputs
  std::vector<DeniedEnd> inputs{}, outputs{};
};

// An output that has changed with an input.
struct FoundFeedthrough {
  Slot input, output;
};

}  // namespace ssptool::runtime
