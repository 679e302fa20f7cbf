// Rows of a run with an ODE beside other parts: those of its events stand between those of macro steps.
#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <vector>

#include "varying_steps.hpp"

namespace ssptool::runtime {

class System;
struct OdeOfRun;

// Columns of a row, counted from 0 behind the time: of signals whose values at its events the ODE knows, and of those
// that have values at communication points only.
struct RowColumns {
  std::vector<std::size_t> of_ode, of_points;
};

// An event at t [s], between two communication points or at one.
struct EventBetween {
  double t;
  bool at_point;
};

// At an event, signals of the ODE are as they were there. Outputs of other parts keep the values of the last
// communication point, as these parts have none there; reals that are driven from outside are interpolated, and
// integers are those at the point before.
class RowsBeside {
 public:
  // From the present time of a system; `done`: there is no step to do.
  RowsBeside(System&, OdeOfRun&, const RowColumns&, bool done);

  // As many as there is room for, none of them of a step beyond `limit` [s]. What ends them, thrown or not, may come
  // before all rows have been handed out, which are then the first of the next call.
  void run(Stretch&, VaryingSteps*, double limit, std::span<double> rows);
  // Of the last call: which rows are those of communication points, and events.
  [[nodiscard]] const std::vector<bool>& points() const noexcept { return points_; }
  [[nodiscard]] const std::vector<EventBetween>& events() const noexcept { return events_; }
  // Some are made, and there was no room for them.
  [[nodiscard]] bool waiting(const VaryingSteps* varying) const noexcept {
    return !rows_.empty() || (!failed_ && varying != nullptr && varying->waiting());
  }
  // All are made and handed out, and no event is due.
  [[nodiscard]] bool finished(const VaryingSteps*);
  // What the last row shows has been changed.
  void see();

 private:
  enum class From { ode, point, before, both };
  struct Waiting {
    std::vector<double> row;
    bool is_point;
  };

  [[nodiscard]] std::span<double> room(const Stretch&, std::span<double> rows) const;
  void hand_out(Stretch&, std::span<double> rows);
  void record(Stretch&, double t);
  void react(Stretch&, std::span<double> rows);
  bool step(Stretch&, VaryingSteps*, double limit, std::span<double> rows);
  void weave(Stretch&, std::span<double> rows, std::size_t count);
  void add_events(Stretch&, std::span<double> rows, std::span<const double> after);
  [[nodiscard]] std::vector<double> at_event(std::span<const double> row, std::span<const double> after);
  void put(Stretch&, std::span<double> rows, std::vector<double> row, bool is_point);

  System& system_;
  OdeOfRun& ode_;
  std::vector<From> columns_;  // behind the time
  std::vector<double> last_;   // row of a communication point
  bool done_, failed_ = false;
  std::deque<Waiting> rows_;
  std::vector<bool> points_;
  std::vector<EventBetween> events_;
};

}  // namespace ssptool::runtime
