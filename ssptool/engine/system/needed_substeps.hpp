// Substeps that parts need in each macro step, determined in the first one.
#pragma once

#include <string>
#include <vector>

#include "probing.hpp"

namespace ssptool::runtime {

// A part that can save its state, with the inputs to change and the outputs to compare.
struct SubstepTrial {
  Index part;
  std::string type;  // of all inputs and outputs
  std::vector<RealEnd> inputs{}, outputs{};
};

}  // namespace ssptool::runtime
