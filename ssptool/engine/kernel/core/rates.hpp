// Input derivatives as FMI 1.0 and 2.0 take them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "instance.hpp"

namespace ssptool {

class InputRates {
 public:
  InputRates(fmi::v2::SetRealInputDerivatives* set, References inputs)
      : set_(set),
        count_(inputs.size()),
        references_(2 * inputs.size()),
        orders_(2 * inputs.size()),
        rates_(2 * inputs.size()) {
    for (std::size_t i = 0; i < 2 * count_; ++i) {
      references_[i] = inputs[i % count_];
      orders_[i] = i < count_ ? 1 : 2;
    }
  }

  // The highest input derivative that the FMU may still act on.
  int told_order = 0;

  // Sets those that are not zero; the status, or 0 if there is nothing to set.
  int set(fmi::Component component, const Motion& motion) noexcept {
    // An order that was in effect is told once more, as zero: else the FMU might keep following it.
    const int order = motion.order();
    const int told = std::max(order, told_order);
    if (told == 0) return 0;
    told_order = order;
    const double* rates = motion.first;
    if (told == 2) {
      std::copy_n(motion.first, count_, rates_.begin());
      std::copy_n(motion.second, count_, rates_.begin() + static_cast<std::ptrdiff_t>(count_));
      rates = rates_.data();
    }
    return set_(component, references_.data(), static_cast<std::size_t>(told) * count_, orders_.data(), rates);
  }

  // First derivatives, where there was no higher one in effect; `moving`: some are not zero.
  int set_first(fmi::Component component, const double* first, bool moving) noexcept {
    told_order = moving ? 1 : 0;
    return set_(component, references_.data(), count_, orders_.data(), first);
  }

 private:
  fmi::v2::SetRealInputDerivatives* set_;
  std::size_t count_;
  std::vector<fmi::Reference> references_;
  std::vector<int> orders_;
  std::vector<double> rates_;
};

}  // namespace ssptool
