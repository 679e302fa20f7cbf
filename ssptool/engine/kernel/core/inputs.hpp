// Accepted communication points, and inputs over steps, computed from these points or from present values.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "members.hpp"

namespace ssptool {

// Accepted communication points, the latest first.
class History {
 public:
  History(SlotValues& slot_values, const Wires& wires);

  struct Point {
    double t = 0.0;
    std::vector<double> values;
    bool after_event = false;
    bool replaces = false;  // a point just before it
  };

  [[nodiscard]] int size() const noexcept { return count_; }
  // The k-th latest point.
  [[nodiscard]] const Point& operator[](unsigned k) const noexcept { return ring_[(latest_ + k) % room]; }

  // Number of points since the last event.
  [[nodiscard]] int since_event() const noexcept;
  // All points, the latest first.
  [[nodiscard]] std::vector<Point> all() const;
  void go_on(const std::vector<Point>& points);

  void accept(double t) noexcept;
  // Accepts the right side of an event at t [s]. Values that jumped there have no past: earlier points contain the new
  // value. All others continue, and are extrapolated through the event.
  void accept_after_event(double t) noexcept;
  void discard_point();

 private:
  static constexpr int points = 4;     // three changes show whether a value is smooth
  static constexpr unsigned room = 4;  // a power of two, to index without division

  Point& point(unsigned k) noexcept { return ring_[(latest_ + k) % room]; }

  SlotValues& slot_values_;
  const Wires& wires_;
  std::array<Point, room> ring_;
  unsigned latest_ = 0;
  int count_ = 0;
};

// Changes of values over the last accepted points, for one step, and values for held inputs computed from them.
class Trends {
 public:
  explicit Trends(const History&) noexcept;

  // Rate of change in the last step if the value is smooth, otherwise 0. Smooth: the last three changes have the same
  // sign, and each is at most twice its neighbour. Jumps are therefore not extrapolated, and oscillations over few
  // steps, which may come from an unstable coupling, are not amplified.
  [[nodiscard]] double of(Slot slot) const noexcept {
    if (count_ < 2) return 0.0;
    const double latest = change(slot, 0), before = change(slot, 1);
    if (!alike(latest, before) || (count_ > 2 && !alike(before, change(slot, 2)))) return 0.0;
    return latest;
  }
  // Whether the value has changed its direction in each step, or whether there are too few steps since the start.
  [[nodiscard]] bool rings(Slot slot) const noexcept {
    if (count_ < 2) return true;
    const double before = change(slot, 1);
    return change(slot, 0) * before < 0.0 && (count_ == 2 || before * change(slot, 2) < 0.0);
  }
  [[nodiscard]] double now(Slot slot) const noexcept { return values_[0][slot]; }
  // Difference of the present value to the extrapolation of earlier ones, for steps of equal size; 0 if there are too
  // few.
  [[nodiscard]] double departure(Slot slot) const noexcept {
    return count_ < most ? 0.0 : values_[0][slot] - 3.0 * (values_[1][slot] - values_[2][slot]) - values_[3][slot];
  }
  // Whether there is an accepted point.
  [[nodiscard]] bool known() const noexcept { return values_[0] != nullptr; }
  [[nodiscard]] double latest(Slot slot) const noexcept { return std::abs(change_to_now(slot)); }
  // Change in the last step; 0 after a jump.
  [[nodiscard]] double change_to_now(Slot slot) const noexcept {
    return count_ == 0 ? 0.0 : values_[0][slot] - values_[1][slot];
  }
  // The value `seconds` after the last point if it is smooth, otherwise the present value. It is limited to the range
  // of the input.
  [[nodiscard]] double ahead(const SlotValues& slots, Slot slot, double seconds) const noexcept {
    const double slope = of(slot);
    if (slope == 0.0) return slots.values[slot];
    const double found = now(slot) + seconds * slope;
    return slope > 0.0 ? std::min(found, std::max(slots.most[slot], now(slot)))
                       : std::max(found, std::min(slots.least[slot], now(slot)));
  }

 private:
  static constexpr int most = 3;

  static bool alike(double one, double other) noexcept {
    const double a = std::abs(one), b = std::abs(other);
    return (one > 0.0) == (other > 0.0) && a <= 2.0 * b && b <= 2.0 * a && a > 0.0;
  }
  [[nodiscard]] double change(Slot slot, int k) const noexcept {
    return (values_[k][slot] - values_[k + 1][slot]) / durations_[k];
  }

  int count_ = 0;  // number of known changes
  const double* values_[most + 1]{};
  double durations_[most]{};
};

class Inputs {
 public:
  Inputs(SlotValues& slot_values, const Wires& wires, Groups& groups, const History& history)
      : slot_values_(slot_values), wires_(wires), groups_(groups), history_(history) {}

  // Copies every wire whose destination is an input of an instance of the group.
  void exchange(Index group) { wires_.copy(groups_.at(group).wires); }
  // input_value = values, rates = 0, for inputs of all types. `advance` sets inputs like this.
  void hold(Index group) { hold_slots(groups_.at(group).inputs); }
  // The polynomial through the last order + 1 accepted points (fewer while there are fewer; before the first: held).
  // Types other than Float64 keep the value of the last accepted point, likewise in `interpolate`.
  void extrapolate(Index group, int order);
  // The polynomial through the last `order` accepted points (or fewer) and the present values, which are those at the
  // end of the step. Order 0: constant, the mean of both ends.
  void interpolate(Index group, int order, double h);
  // Constant: the value in the middle of the step if the input runs smoothly (see `Trends`), otherwise its present
  // value.
  void mid_step(Index group, int order, double h);

  // The same for these slots; the caller has checked the arguments.
  void hold_slots(const InputSlots&) noexcept;
  void extrapolate_slots(const InputSlots&, int order) noexcept;
  void interpolate_slots(const InputSlots&, int order, double h) noexcept;
  // Linear inputs after a step of constant inputs, which had the values at its end. These values are of order 2 at its
  // middle, so the lines begin half a change further on.
  void interpolate_from_middle(const InputSlots&, double h) noexcept;
  // Order 0: extrapolated from the past. Order 1: the present values are those at the end of the step.
  void mid_step_slots(const InputSlots&, int order, double h) noexcept;
  [[nodiscard]] Trends trends() const noexcept { return Trends(history_); }

 private:
  void stay(const InputSlots&, const std::vector<double>& values) noexcept;
  void on_lines(const std::vector<Small>& slots) noexcept;
  void on_parabolas(const std::vector<Small>& slots) noexcept;

  SlotValues& slot_values_;
  const Wires& wires_;
  Groups& groups_;
  const History& history_;
};

}  // namespace ssptool
