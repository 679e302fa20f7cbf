// Accepted communication points, and inputs that run over steps as these or as present values say.
#pragma once

#include <array>
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
  };

  [[nodiscard]] int size() const noexcept { return count_; }
  // The k-th latest.
  [[nodiscard]] const Point& operator[](unsigned k) const noexcept { return ring_[(latest_ + k) % room]; }

  // All, the latest first.
  [[nodiscard]] std::vector<Point> all() const;
  void go_on(const std::vector<Point>& points);

  void accept(double t) noexcept;
  void discard_point();

 private:
  static constexpr int points = max_order + 1;
  static constexpr unsigned room = 4;  // for them; a power of two, to find them without a division

  Point& point(unsigned k) noexcept { return ring_[(latest_ + k) % room]; }

  SlotValues& slot_values_;
  const Wires& wires_;
  std::array<Point, room> ring_;
  unsigned latest_ = 0;
  int count_ = 0;
};

class Inputs {
 public:
  Inputs(SlotValues& slot_values, const Wires& wires, Groups& groups, const History& history)
      : slot_values_(slot_values), wires_(wires), groups_(groups), history_(history) {}

  void exchange(Index group) { wires_.copy(groups_.at(group).wires); }
  void hold(Index group) { hold_slots(groups_.at(group).inputs); }
  void extrapolate(Index group, int order);
  void interpolate(Index group, int order, double h);

  // The same for these slots; arguments were checked by the caller.
  void hold_slots(const InputSlots&) noexcept;
  void extrapolate_slots(const InputSlots&, int order) noexcept;
  void interpolate_slots(const InputSlots&, int order, double h) noexcept;

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
