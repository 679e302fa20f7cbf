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
  bool takes_samples = false;  // inputs of the system are taken at events only
  bool retreats = false;       // another solver may replace one that cannot go on: the user has chosen none
};

// A moment later: time [s], states and event indicators.
struct IndicatorLookAhead {
  double t = 0.0;
  std::vector<double> x, signs;
};

// An integrator sees that an indicator has another sign at the end of a step than at its beginning. It does not see one
// that goes there and back within a step, nor that one is zero at a communication point up to rounding.
class Crossings {
 public:
  using Numbers = std::set<std::size_t>;

  Crossings(OdeSystem& system, const IntegrationSettings& settings) : system_(system), settings_(settings) {}

  // The last place at which all indicators had the signs that they should.
  struct Anchor {
    double t = 0.0;
    std::vector<double> x, signs;
  };
  Anchor anchor;
  double restarted = 0.0;                   // time of the last start of the integrator [s]
  Numbers at_zero;                          // indicators that were zero then, or were about to cross it
  Numbers leaving;                          // the latter, until the integrator has made a step
  std::optional<IndicatorLookAhead> ahead;  // where they have done so

  void drop_anchor(double t, std::span<const double> x);
  // Whether all indicators keep their signs at (t, x), where the instances are.
  bool hold(double t, std::span<const double> x);
  // The integrator has been started at (t, x), where the instances are; `roots` were zero just before.
  void start(double t, std::span<const double> x, const std::vector<std::size_t>& roots);
  void look_ahead(double t, std::span<const double> x, const std::vector<std::size_t>& roots);
  // Whether indicators only leave zero, where the event before has put them: an event only if it changes something.
  [[nodiscard]] bool is_leaving(double t, const std::vector<Cause>& causes) const;
  // Those that must have crossed zero and come back in the first step after a start.
  Numbers unseen(const Arrival&);
  // An indicator is about to cross zero so soon that the crossing counts as at the communication point (t, x).
  std::optional<IndicatorLookAhead> just_ahead(double t, std::span<const double> x);

  [[nodiscard]] Cause cause(std::size_t indicator) const;

 private:
  std::optional<IndicatorLookAhead> indicators_ahead(double t, std::span<const double> x, double moment);

  OdeSystem& system_;
  const IntegrationSettings& settings_;
};

// Between two steps, without the inner states of the instances.
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
  bool retreated = false;  // to another solver
};

// A row of the trace: of a communication point at which nothing else happens, or of a side of an event.
enum class RowOf { point, event };

// The integrator chooses its steps, also beyond communication points, which are then interpolated. It goes back to
// where all indicators had the signs that they should where one has another sign at a point although it was not seen to
// cross zero, and finds the event. All functions throw IntegrationStopped.
class Integration {
 public:
  // The solver is one of that system.
  Integration(OdeSystem&, OdeEvents&, std::unique_ptr<OdeSolver>, const IntegrationSettings&);
  Integration(const Integration&) = delete;
  Integration& operator=(const Integration&) = delete;
  ~Integration() = default;

  // Before the instances enter event mode.
  std::function<void()> before_event = [] {};
  // Called with the time of each row [s].
  std::function<void(double, RowOf)> on_row = [](double, RowOf) {};
  // The last row was that of no event.
  std::function<void()> on_no_row = [] {};
  // Another solver has gone on from t [s], for this reason.
  std::function<void(double t, const std::string& reason)> on_retreat = [](double, const std::string&) {};
  // The caller handles events with `enter` and `leave`: it stops before each, says why it is `due`, and leaves no row.
  bool hands_over = false;
  // Likewise time events at communication points, with `intervene`, where inputs are known; or the next step begins
  // with them.
  bool hands_over_timers = false;
  std::vector<Cause> due;

  // From initialized instances, which are in event mode, to the first instant of continuous time.
  void begin();
  // Indicators that are zero at the start and not a moment later have crossed at the start.
  void cross_at_start();

  // The next part of the way to a communication point [s], never past `limit` ≥ point [s]; true: it is reached, and the
  // instances are there.
  bool advance(double point, double limit);

  [[nodiscard]] double time() const noexcept { return arrival_.t; }
  [[nodiscard]] double next_time() const noexcept { return next_time_; }
  [[nodiscard]] std::int64_t events() const noexcept { return events_; }
  [[nodiscard]] Effort effort() const noexcept;
  [[nodiscard]] std::vector<double> indicators() { return system_.indicators_at(arrival_.t, solver_->x().data()); }

  // At a time [s] that it has reached; it may already be further, but past no event.
  [[nodiscard]] IntegrationState position(double t);
  void go_to(const IntegrationState&);
  // The same, without what was learned from earlier steps.
  void start_over(const IntegrationState&);
  // Inputs have changed at t [s], where it is: restart, through an event if an indicator has crossed zero since
  // `before`, which are those before the change.
  void restart(double t, std::span<const double> before);
  // Something is done to the instances where it is, all of them in event mode; what is due there is handled.
  void intervene(const std::function<void()>& action);
  // A time event at a communication point that nobody has handled.
  void catch_up();
  [[nodiscard]] bool time_event_due() const noexcept;

  // Whether what is due is so with the inputs as they are at `now` [s], where it may go for that if it is that close:
  // an indicator may have crossed zero with others only.
  [[nodiscard]] bool confirm(double now);
  // Puts all instances into event mode at the present time, or at a time event at most `within` [s] away.
  void enter(double within);
  // Leaves event mode after `enter` and event iterations with this outcome, or at the `first` event after
  // initialization; whether the event belongs in the trace.
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
  // Which rows an event has: that of a communication point has both whatever it changes, and one after a jump of
  // inputs has a left one already.
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
  std::unique_ptr<OdeSolver> solver_, other_;  // the one at work, and the one that is not
  bool retreated_ = false;
  std::string reason_;  // of a retreat that has not made a step yet
  double retreat_time_ = 0.0;
  Crossings crossings_;
  ZenoDetector chatter_;
  Arrival arrival_;
  bool handled_ = true;  // whether what is to do at `arrival_` has been done
  double next_time_;
  std::vector<Cause> timers_;
  double limited_until_, longest_step_;
  bool reports_steps_;
  double stops_until_;       // at communication points [s]
  double first_step_ = 0.0;  // the last one that the integrator began with, where inputs had changed
  int stuck_ = 0;            // internal steps in a row in which no time passed
  std::int64_t events_ = 0;
};

}  // namespace ssptool
