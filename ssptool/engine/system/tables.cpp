// Tables that drive inputs of the system, segment by segment between jumps.
#include <algorithm>
#include <cmath>
#include <limits>

#include "system.hpp"

namespace ssptool::runtime {

namespace {

bool not_after(double time, double t) { return time <= t || same_time(time, t); }

}  // namespace

void System::state_tables() {
  std::vector<TableColumn> columns;
  for (const PlannedColumn& planned : plan_.tables.columns) {
    TableColumn column{planned.slot, planned.axis, {}, planned.linear};
    for (const Value& value : planned.values) column.values.push_back(in_slot(planned.slot, value));
    columns.push_back(std::move(column));
  }
  // An ODE gets its inputs whenever it is evaluated.
  kernel_->time_tables(plan_.tables.axes, std::move(columns),
                       component_ == nullptr && plan_.ode ? std::vector<DrivenInput>{} : plan_.driven);
}

// Jumps at the start count as done.
void System::begin_tables() {
  const auto& jumps = plan_.tables.jumps;
  const auto ahead = std::ranges::find_if(jumps, [&](const auto& one) { return !not_after(one.first, now_); });
  go_to_segment(static_cast<std::size_t>(ahead - jumps.begin()));
  kernel_->driven.write(now_);
}

void System::go_to_segment(std::size_t segment) {
  segment_ = segment;
  kernel_->driven.between(begin_of_segment(), end_of_segment());
  act();
}

// Applies the scenario in the present segment.
void System::act() {
  if (stimuli_ != nullptr) stimuli_->go_to(segment_, {*kernel_, inside_.get(), events_.get(), events_of_ode_.get()});
}

double System::begin_of_segment() const noexcept {
  return segment_ > 0 ? plan_.tables.jumps[segment_ - 1].second : experiment_.start;
}

// A run has no jumps after its end.
double System::end_of_segment() const noexcept {
  constexpr double never = std::numeric_limits<double>::infinity();
  const auto& jumps = plan_.tables.jumps;
  if (segment_ == jumps.size() || (adopts_ && !not_after(jumps[segment_].first, plan_.stop))) return never;
  return jumps[segment_].first;
}

// The right side of the instant that has been reached.
void System::jump_of_tables() {
  go_to_segment(segment_ + 1);
  kernel_->driven.write(begin_of_segment());
  jumps_ = true;
  jump();
}

}  // namespace ssptool::runtime
