// Steps of their own that parts need in each macro step, as the first one shows.
#pragma once

#include <string>
#include <vector>

#include "probing.hpp"

namespace ssptool::runtime {

// A part that saves its state, with what is disturbed and what is looked at.
struct SubstepTrial {
  Index part;
  std::string type;  // of all ends
  std::vector<RealEnd> inputs{}, outputs{};
};

}  // namespace ssptool::runtime
