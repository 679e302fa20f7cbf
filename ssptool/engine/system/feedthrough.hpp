// Outputs of parts that must not move with an input, as their descriptions say.
#pragma once

#include <string>
#include <vector>

#include "probing.hpp"

namespace ssptool::runtime {

// Of an input, the outputs that deny to depend on it, by their place.
struct DeniedEnd : RealEnd {
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
