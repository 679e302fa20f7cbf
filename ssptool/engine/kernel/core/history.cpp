// Accepted communication points, the latest first.
#include <algorithm>
#include <stdexcept>

#include "kernel.hpp"

namespace ssptool {

// The latest one. Points of that time or later are dropped, so an instant can be accepted anew.
inline Kernel::Point& Kernel::new_point(double t) noexcept {
  for (; accepted_ > 0 && accepted(0).t >= t; --accepted_) ++latest_;
  --latest_;
  accepted_ = std::min(accepted_ + 1, points);
  accepted(0).t = t;
  return accepted(0);
}

void Kernel::accept(double t) {
  wires_.copy(outer_wires_, values_.data());
  Point& now = new_point(t);
  std::copy(values_.begin(), values_.end(), now.own.begin());
  now.values = now.own.data();
}

// Accepts and records everything: the point is the row, as long as the rows are there.
void Kernel::keep(double t, double* row) noexcept {
  wires_.copy(outer_wires_, values_.data());
  *row = t;
  std::copy(values_.begin(), values_.end(), row + 1);
  new_point(t).values = row + 1;
}

void Kernel::leave_rows() noexcept {
  for (int k = 0; k < accepted_; ++k) {
    Point& point = accepted(static_cast<unsigned>(k));
    if (point.values == point.own.data()) continue;
    std::copy_n(point.values, point.own.size(), point.own.begin());
    point.values = point.own.data();
  }
}

void Kernel::take_back() {
  if (accepted_ == 0) throw std::invalid_argument("no point was accepted");
  std::copy_n(accepted(0).values, values_.size(), values_.begin());
}

}  // namespace ssptool
