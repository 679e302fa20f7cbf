// Rows of a run with an ODE and other parts: the rows of events of the ODE are inserted between those of macro steps.
#pragma once

#include <cstddef>
#include <deque>
#include <span>
#include <vector>

#include "varying_steps.hpp"

namespace ssptool::runtime {

class System;
struct OdeOfRun;

// Columns of a row, counted from 0 after the time: signals whose values the ODE knows at its events, and signals that
// have values at communication points only.
struct RowColumns {
  std::vector<std::size_t> of_ode, of_points;
};

// An event at t [s], between two communication points or at one of them.
struct EventBetween {
  double t;
  bool at_point;
};

// At an event, signals of the ODE have the values at the event. Outputs of other parts keep the values of the last
// communication point, because these parts have no values at the event. Real inputs driven from outside are
// interpolated; integers have the value at the previous point.
class RowsBeside {
 public:
  // Starts at the present time of a system; `done`: there are no steps to do.
  RowsBeside(System&, OdeOfRun&, const RowColumns&, bool done);

  // Makes as many rows as there is room for, with steps up to `limit` [s]. An outcome or exception that ends the run
  // may occur before all rows have been handed out; the next call returns these first.
  void run(Stretch&, VaryingSteps*, double limit, std::span<double> rows);
  // For the last call: which rows are those of communication points, and the events.
  [[nodiscard]] const std::vector<bool>& points() const noexcept { return points_; }
  [[nodiscard]] const std::vector<EventBetween>& events() const noexcept { return events_; }
  // Whether there are rows that have not been handed out for lack of room.
  [[nodiscard]] bool waiting(const VaryingSteps* varying) const noexcept {
    return !rows_.empty() || (!failed_ && varying != nullptr && varying->waiting());
  }
  // Whether all rows have been made and handed out, and no event is pending.
  [[nodiscard]] bool finished(const VaryingSteps*);
  // Must be called when the values in the last row have changed.
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
  std::vector<From> columns_;  // after the time
  std::vector<double> last_;   // the last row of a communication point
  bool done_, failed_ = false;
  std::deque<Waiting> rows_;
  std::vector<bool> points_;
  std::vector<EventBetween> events_;
};

}  // namespace ssptool::runtime
