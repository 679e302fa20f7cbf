// Integration of an ODE from one time to another, through its events.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "ode_events.hpp"
#include "ode_solvers.hpp"
#include "ode_system.hpp"
#include "zeno.hpp"

namespace ssptool {

struct IntegrationSettings {
  double rtol = 1e-6;
  double start = 0.0, stop = 0.0;  // stop may be infinite
  double macro_step = 1e-3;
  bool takes_samples = false;  // inputs of the system are only accepted at events
  bool retreats = false;       // another solver may replace one that fails, because the user has not chosen one
};

// One moment later: time [s], states and event indicators.
struct IndicatorLookAhead {
  double t = 0.0;
  std::vector<double> x, signs;
};

// An integrator detects indicators whose sign at the end of a step differs from that at its start. It does not detect
// an indicator that changes its sign twice within a step, nor one that is zero at a communication point within
// rounding.
class Crossings {
 public:
  using Numbers = std::set<std::size_t>;

  Crossings(OdeSystem& system, const IntegrationSettings& settings) : system_(system), settings_(settings) {}

  // The last place at which all indicators had the expected signs.
  struct Anchor {
    double t = 0.0;
    std::vector<double> x, signs;
  };
  Anchor anchor;
  double restarted = 0.0;                   // time of the last start of the integrator [s]
  Numbers at_zero;                          // indicators that were zero then, or just before crossing it
  Numbers leaving;                          // the latter, until the integrator has done a step
  std::optional<IndicatorLookAhead> ahead;  // the point after their crossing

  void drop_anchor(double t, std::span<const double> x);
  // Whether all indicators keep their signs at (t, x); the instances are there.
  bool hold(double t, std::span<const double> x);
  // The integrator was started at (t, x), where the instances are; `roots` were zero just before.
  void start(double t, std::span<const double> x, const std::vector<std::size_t>& roots);
  void look_ahead(double t, std::span<const double> x, const std::vector<std::size_t>& roots);
  // Whether indicators only leave zero, to which the previous event has set them; this is an event only if it changes
  // something.
  [[nodiscard]] bool is_leaving(double t, const std::vector<Cause>& causes) const;
  // Indicators that must have crossed zero twice in the first step after a start.
  Numbers unseen(const Arrival&);
  // Whether an indicator will cross zero so soon that the crossing counts as one at the communication point (t, x).
  std::optional<IndicatorLookAhead> just_ahead(double t, std::span<const double> x);

  [[nodiscard]] Cause cause(std::size_t indicator) const;

 private:
  std::optional<IndicatorLookAhead> indicators_ahead(double t, std::span<const double> x, double moment);

  OdeSystem& system_;
  const IntegrationSettings& settings_;
};

// State between two steps, without the internal states of the instances.
struct IntegrationState {
  double t = 0.0;
  std::vector<double> x;
  double next_time = 0.0;
  std::vector<Cause> timers;
  double limited_until = 0.0, longest_step = 0.0;
  double restarted = 0.0;
  Crossings::Numbers at_zero;
  std::map<Cause, EventHistory> seen;
  std::int64_t events = 0;
  double first_step = 0.0;
  bool retreated = false;  // another solver is in use
};

// A row of the trace: of a communication point without an event, or of one side of an event.
enum class RowOf { point, event };

// The integrator chooses its steps, also beyond communication points; values there are interpolated. If an indicator
// has an unexpected sign at a point, but no crossing was detected, the integration goes back to where all signs were as
// expected, and locates the event. All functions throw IntegrationStopped.
class Integration {
 public:
  // The solver was created for this system.
  Integration(OdeSystem&, OdeEvents&, std::unique_ptr<OdeSolver>, const IntegrationSettings&);
  Integration(const Integration&) = delete;
  Integration& operator=(const Integration&) = delete;
  ~Integration() = default;

  // Called before the instances enter event mode.
  std::function<void()> before_event = [] {};
  // Called with the time of each row [s].
  std::function<void(double, RowOf)> on_row = [](double, RowOf) {};
  // Called if the last row belongs to no event.
  std::function<void()> on_no_row = [] {};
  // Called when another solver has continued at t [s], for this reason.
  std::function<void(double t, const std::string& reason)> on_retreat = [](double, const std::string&) {};
  // The caller handles events with `enter` and `leave`: the integration stops before each, reports the reasons in
  // `due`, and makes no row.
  bool hands_over = false;
  // The caller also handles time events at communication points, with `intervene`, where inputs are known; otherwise
  // the next step starts with them.
  bool hands_over_timers = false;
  std::vector<Cause> due;

  // Goes from initialized instances in event mode to the first instant of continuous time.
  void begin();
  // Indicators that are zero at the start, but not one moment later, have crossed at the start.
  void cross_at_start();

  // Advances towards a communication point [s], never past `limit` ≥ point [s]; returns true if the point is reached
  // and the instances are there.
  bool advance(double point, double limit);

  [[nodiscard]] double time() const noexcept { return arrival_.t; }
  [[nodiscard]] double next_time() const noexcept { return next_time_; }
  [[nodiscard]] std::int64_t events() const noexcept { return events_; }
  [[nodiscard]] Effort effort() const noexcept;
  [[nodiscard]] std::vector<double> indicators() { return system_.indicators_at(arrival_.t, solver_->x().data()); }

  // The state at a time [s] that was reached; the integration may already be further, but not past an event.
  [[nodiscard]] IntegrationState position(double t);
  void go_to(const IntegrationState&);
  // The same, but without data from earlier steps.
  void start_over(const IntegrationState&);
  // Restarts after inputs have changed at the present time t [s]; through an event if an indicator has crossed zero
  // since `before`, the indicators before the change.
  void restart(double t, std::span<const double> before);
  // Calls a function that changes the instances at the present time, with all of them in event mode; due events are
  // handled.
  void intervene(const std::function<void()>& action);
  // Handles a time event at a communication point that the caller has not handled.
  void catch_up();
  [[nodiscard]] bool time_event_due() const noexcept;

  // Whether due events also occur with the inputs at `now` [s] (the integration may go there if it is close): an
  // indicator may have crossed zero only with other inputs.
  [[nodiscard]] bool confirm(double now);
  // Sets all instances to event mode at the present time, or at a time event at most `within` [s] away.
  void enter(double within);
  // Leaves event mode after `enter` and event iterations with this outcome, or after the `first` event; returns whether
  // the event belongs in the trace.
  bool leave(const EventOutcome&, bool first);

 private:
  [[nodiscard]] double close(double t) const noexcept;
  [[nodiscard]] bool has_crossed();
  void move_on(double t);
  [[nodiscard]] bool same(double a, double b) const noexcept { return std::abs(a - b) <= close(b); }
  [[nodiscard]] bool jump_due();
  void start_solver(double t, double first_step = 0.0);
  void step(double stop, bool step_by_step);
  void go_on_or_retreat(const std::string& reason, double t);
  void retreat_from(double t, const std::string& reason);
  void use_retreat(bool);
  bool was_there_and_back();
  void back_to_anchor();
  void stand_at(double t);
  std::optional<IndicatorLookAhead> just_ahead();
  void go_ahead(const std::optional<IndicatorLookAhead>&);
  std::vector<Cause> causes(bool at_point);
  // Rows of an event: an event at a communication point always has both, and one after a jump of inputs already has the
  // left one.
  enum class Sides { both, both_at_point, right };
  void event(double row_time, const std::vector<Cause>& causes, Sides,
             const std::optional<IndicatorLookAhead>& ahead = {});
  void leave_event_mode(double t, const EventOutcome&, bool first);
  void read_sizes();
  void limit_step(double h);
  void limit_steps_for_a_while(double t, const std::vector<Cause>& causes, const std::vector<Cause>& timers);
  [[noreturn]] void cannot_go_on(const std::string& reason, double t) const;

  OdeSystem& system_;
  OdeEvents& event_exchange_;
  const IntegrationSettings settings_;
  std::unique_ptr<OdeSolver> solver_, other_;  // the active one and the other one
  bool retreated_ = false;
  std::string reason_;  // of a change of solvers without a step so far
  double retreat_time_ = 0.0;
  Crossings crossings_;
  ZenoDetector chatter_;
  Arrival arrival_;
  bool handled_ = true;  // whether the events at `arrival_` have been handled
  double next_time_;
  std::vector<Cause> timers_;
  double limited_until_, longest_step_;
  bool reports_steps_;
  double stops_until_;       // at communication points [s]
  double first_step_ = 0.0;  // first step size of the last restart because of inputs
  int stuck_ = 0;            // consecutive internal steps that have not changed the time
  std::int64_t events_ = 0;
};

}  // namespace ssptool
