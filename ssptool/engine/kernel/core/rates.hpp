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
        rates_(2 * inputs.size()),
        course_(inputs.size()) {
    for (std::size_t i = 0; i < 2 * count_; ++i) {
      references_[i] = inputs[i % count_];
      orders_[i] = i < count_ ? 1 : 2;
    }
  }

  // The highest input derivative that the FMU may still act on.
  int told_order = 0;

  // Sets the inputs to their course over the step from t, as far as the FMU follows it.
  Failure lead(const RealAccess& reals, double t, double h, const Motion& motion, const char* set_values,
               const char* set_rates) noexcept {
    for (;;) {
      const Motion taken = course_.of_order(following.order, motion, h);
      if (const Failure failure = checked(set_values, reals.set({references_.data(), count_}, taken.values())))
        return failure;
      const int before = told_order;
      const int told = std::max(taken.order(), before);
      const int status = set(reals.component(), taken, told);
      if (status <= fmi::warning) return {};
      if (!refused(told, before, t, set_rates, status)) return {set_rates, status};
      if (told_order == 0 && taken.order() == 0) return {};  // held, and nothing more can be said to it
    }
  }

  // First derivatives, where there was no higher one in effect; `moving`: some are not zero.
  Failure tell(fmi::Component component, double t, const double* first, bool moving, const char* set_rates) noexcept {
    if (following.order == 0) return {set_rates, following.status};
    const int before = told_order;
    told_order = moving ? 1 : 0;
    const int status = set_(component, references_.data(), count_, orders_.data(), first);
    if (status <= fmi::warning) return {};
    refused(1, before, t, set_rates, status);
    return {set_rates, status};
  }

  Following following;

 private:
  // What was in effect before may still be; that nothing is any more is worth one more call.
  bool refused(int told, int before, double t, const char* set_rates, int status) noexcept {
    if (following.order == 0 && status <= fmi::error) {
      told_order = 0;
      return true;
    }
    told_order = std::min(before, std::max(told - 1, 1));
    return following.refused(told, t, set_rates, status);
  }

  // Sets derivatives up to the order `told`; the status, or 0 if there is nothing to set.
  int set(fmi::Component component, const Motion& motion, int told) noexcept {
    // An order that was in effect is told once more, as zero: else the FMU might keep following it.
    if (told == 0) return 0;
    told_order = motion.order();
    const double* rates = motion.first;
    if (told == 2) {
      std::copy_n(motion.first, count_, rates_.begin());
      std::copy_n(motion.second, count_, rates_.begin() + static_cast<std::ptrdiff_t>(count_));
      rates = rates_.data();
    }
    return set_(component, references_.data(), static_cast<std::size_t>(told) * count_, orders_.data(), rates);
  }

  fmi::v2::SetRealInputDerivatives* set_;
  std::size_t count_;
  std::vector<fmi::Reference> references_;
  std::vector<int> orders_;
  std::vector<double> rates_;
  Course course_;
};

}  // namespace ssptool
