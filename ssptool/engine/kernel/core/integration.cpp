#include "integration.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ode_jacobian.hpp"
#include "special_numbers.hpp"

namespace ssptool {

namespace {

// Maximum number of consecutive internal steps that are too small to change the time.
constexpr int max_stuck = 20;

// Minimum number of steps between events of the same cause, as long as the latest interval between two of them lasts.
constexpr double steps_between_events = 4;

// An indicator is examined if its extrapolated zero is at most this number of moments away.
constexpr double near = 1e3;

// A cause outside the components.
const Cause jump_of_input{"the system", "a jump of an input"};
const Cause sample{"the system", "a discrete input"};

bool same_signs(std::span<const double> a, std::span<const double> b) {
  return std::ranges::equal(a, b, [](double left, double right) { return (left > 0) == (right > 0); });
}

// Numbers of the indicators whose signs differ.
Crossings::Numbers crossed(std::span<const double> before, std::span<const double> now) {
  Crossings::Numbers found;
  for (std::size_t i = 0; i < now.size(); ++i)
    if ((before[i] > 0) != (now[i] > 0)) found.insert(i);
  return found;
}

// Whether an indicator may be zero after a moment [s], extrapolated from its change in a span of time [s].
bool nears_zero(std::span<const double> before, std::span<const double> now, double span, double moment) {
  for (std::size_t i = 0; i < now.size(); ++i) {
    const double change = std::abs(now[i] - before[i]);
    if (change > 0 && std::abs(now[i]) * span <= near * moment * change) return true;
  }
  return false;
}

}  // namespace

// --- crossings -------------------------------------------------------------------------------------------------------

Cause Crossings::cause(std::size_t indicator) const {
  const auto [model, number] = system_.own_indicator(indicator);
  return {model->name(), "event indicator " + std::to_string(number)};
}

void Crossings::drop_anchor(double t, std::span<const double> x) {
  if (system_.indicator_count() > 0) anchor = {t, {x.begin(), x.end()}, system_.indicators_here(t)};
}

bool Crossings::hold(double t, std::span<const double> x) {
  if (system_.indicator_count() == 0) return true;
  std::vector<double> signs = system_.indicators_here(t);
  if (!same_signs(signs, anchor.signs)) return false;
  anchor = {t, {x.begin(), x.end()}, std::move(signs)};
  return true;
}

void Crossings::start(double t, std::span<const double> x, const std::vector<std::size_t>& roots) {
  drop_anchor(t, x);
  restarted = t;
  at_zero.clear();
  for (std::size_t i = 0; i < system_.indicator_count(); ++i)
    if (anchor.signs[i] == 0.0) at_zero.insert(i);
  look_ahead(t, x, roots);
}

void Crossings::look_ahead(double t, std::span<const double> x, const std::vector<std::size_t>& roots) {
  leaving.clear();
  const double moment = tolerance_of_times(t, settings_.macro_step);
  if (std::abs(t - restarted) > moment || (roots.empty() && at_zero.empty())) return;
  ahead = indicators_ahead(t, x, moment);
  system_.place(t, x.data());
  if (ahead) leaving = crossed(anchor.signs, ahead->signs);
  at_zero.insert(leaving.begin(), leaving.end());
}

bool Crossings::is_leaving(double t, const std::vector<Cause>& causes) const {
  if (std::abs(t - restarted) > tolerance_of_times(t, settings_.macro_step)) return false;
  return std::ranges::all_of(causes, [&](const Cause& one) {
    return std::ranges::any_of(at_zero, [&](std::size_t i) { return cause(i) == one; });
  });
}

Crossings::Numbers Crossings::unseen(const Arrival& arrival) {
  Numbers before = std::exchange(leaving, {});
  const bool seen = std::ranges::any_of(arrival.roots, [&](std::size_t root) { return before.contains(root); });
  return seen ? Numbers{} : before;
}

std::optional<IndicatorLookAhead> Crossings::just_ahead(double t, std::span<const double> x) {
  const double moment = std::max(tolerance_of_times(t, settings_.macro_step) / 2, spacing(t));
  if (system_.indicator_count() == 0 || std::abs(t - restarted) <= moment) return {};
  const std::vector<double> signs = system_.indicators_here(t);
  if (!nears_zero(anchor.signs, signs, t - anchor.t, moment)) return {};
  auto found = indicators_ahead(t, x, moment);
  system_.place(t, x.data());
  if (!found || crossed(signs, found->signs).empty()) return {};
  return found;
}

// Indicators after one moment [s], extrapolated from (t, x) with the present slopes; none if they cannot be evaluated.
// The instances stay there. FMUs may assume that time does not exceed the stop time, so only states are extrapolated
// beyond it.
std::optional<IndicatorLookAhead> Crossings::indicators_ahead(double t, std::span<const double> x, double moment) {
  const auto last_failure = system_.last_failure;
  std::vector<double> slopes(system_.size());
  IndicatorLookAhead found{
      std::min(t + moment, settings_.stop), {x.begin(), x.end()}, std::vector<double>(system_.indicator_count())};
  bool evaluated = false;
  try {
    if (system_.slopes(t, x.data(), slopes.data())) {
      for (std::size_t i = 0; i < slopes.size(); ++i) found.x[i] += moment * slopes[i];
      evaluated = system_.indicators(found.t, found.x.data(), found.signs.data());
    }
  } catch (const IntegrationStopped&) {  // this point is valid without looking ahead
  }
  system_.last_failure = last_failure;
  if (!evaluated) return {};
  return found;
}

// --- to the start, or to where it was --------------------------------------------------------------------------------

Integration::Integration(OdeSystem& system, OdeEvents& event_exchange, std::unique_ptr<OdeSolver> solver,
                         const IntegrationSettings& settings)
    : system_(system),
      event_exchange_(event_exchange),
      settings_(settings),
      solver_(std::move(solver)),
      crossings_(system, settings_),
      chatter_(settings.macro_step),
      arrival_{settings.start, {}},
      next_time_(infinity),
      limited_until_(infinity),
      longest_step_(infinity),
      reports_steps_(system.reports_steps()),
      stops_until_(-infinity) {}

// Used if only inputs have changed, or to go back.
void Integration::start_solver(double t, double first_step) {
  if (system_.jacobian_of != nullptr) system_.jacobian_of->start();
  solver_->start(t, first_step);
}

double Integration::close(double t) const noexcept { return tolerance_of_times(t, settings_.macro_step); }

void Integration::begin() {
  const double start = settings_.start;
  leave_event_mode(start, event_exchange_.iterate(start, close(start)), true);
}

void Integration::cross_at_start() {
  while (same(arrival_.t, settings_.start) && !crossings_.leaving.empty()) {
    const double before = arrival_.t;
    const std::vector<double> x(solver_->x().begin(), solver_->x().end());
    const std::vector<std::size_t> roots(crossings_.leaving.begin(), crossings_.leaving.end());
    go_ahead(crossings_.ahead);
    const double t = arrival_.t;
    arrival_ = {t, roots};
    enter(0.0);
    const EventOutcome outcome = event_exchange_.iterate(t, close(t));
    leave_event_mode(t, outcome, false);
    if (!outcome.changed) {
      std::ranges::copy(x, solver_->x().begin());
      arrival_ = {before, {}};
      solver_->start(before);
      stand_at(before);
      return;
    }
    std::vector<Cause> causes;
    for (const std::size_t root : roots) causes.push_back(crossings_.cause(root));
    chatter_.note(t, causes);
    ++events_;
    on_row(settings_.start, RowOf::event);
  }
}

IntegrationState Integration::position(double t) {
  std::span<const double> x = solver_->x();
  if (same(arrival_.t, t)) {
    t = arrival_.t;
  } else if (arrival_.t > t) {
    solver_->interpolate(t);
    x = solver_->between();
  }
  return {t,
          {x.begin(), x.end()},
          next_time_,
          timers_,
          limited_until_,
          longest_step_,
          crossings_.restarted,
          crossings_.at_zero,
          chatter_.seen(),
          events_,
          solver_->has_moved() ? solver_->first_step() : first_step_,
          retreated_};
}

void Integration::go_to(const IntegrationState& state) {
  arrival_ = {state.t, {}};
  handled_ = true;
  stuck_ = 0;
  due.clear();
  use_retreat(state.retreated);
  next_time_ = state.next_time;
  timers_ = state.timers;
  limited_until_ = state.limited_until;
  limit_step(state.longest_step);
  crossings_.restarted = state.restarted;
  crossings_.at_zero = state.at_zero;
  chatter_.set_seen(state.seen);
  events_ = state.events;
  std::ranges::copy(state.x, solver_->x().begin());
  read_sizes();
  first_step_ = state.first_step;
  start_solver(state.t, first_step_);
  system_.place(state.t, solver_->x().data());
  crossings_.drop_anchor(state.t, solver_->x());
  crossings_.look_ahead(state.t, solver_->x(), {});
}

void Integration::start_over(const IntegrationState& state) {
  system_.input_polynomials = {};
  if (system_.jacobian_of != nullptr) system_.jacobian_of->forget();
  go_to(state);
}

void Integration::restart(double t, std::span<const double> before) {
  first_step_ = solver_->has_moved() ? solver_->first_step() : first_step_;
  arrival_ = {t, {}};
  handled_ = true;
  if (system_.indicator_count() == 0) {
    start_solver(t, first_step_);
    return;
  }
  system_.place(t, solver_->x().data());
  std::vector<Cause> causes;
  for (const std::size_t i : crossed(before, indicators())) causes.push_back(crossings_.cause(i));
  if (causes.empty()) {
    start_solver(t, first_step_);
    stand_at(t);
  } else if (hands_over) {
    due = causes;
  } else {
    event(t, causes, Sides::right);
  }
}

void Integration::intervene(const std::function<void()>& action) {
  const std::vector<Cause> timers = timers_;
  const std::vector<Cause> causes = due.empty() && time_event_due() ? timers : std::exchange(due, {});
  enter(close(arrival_.t));
  action();
  const double t = arrival_.t;
  leave_event_mode(t, event_exchange_.iterate(t, close(t)), false);
  if (!causes.empty()) limit_steps_for_a_while(t, causes, timers);
}

void Integration::catch_up() {
  const std::vector<Cause> causes = std::exchange(due, {});
  if (!causes.empty() && time_event_due()) event(arrival_.t, causes, Sides::right);
}

bool Integration::has_crossed() {
  const Crossings::Numbers found = crossed(crossings_.anchor.signs, indicators());
  return std::ranges::any_of(arrival_.roots, [&](std::size_t root) { return found.contains(root); });
}

// Moves over less than the resolution of time, along a line.
void Integration::move_on(double t) {
  const std::span<double> x = solver_->x();
  std::vector<double> slopes(x.size());
  if (!system_.slopes(arrival_.t, x.data(), slopes.data())) return;
  for (std::size_t i = 0; i < x.size(); ++i) x[i] += (t - arrival_.t) * slopes[i];
  arrival_.t = t;
}

bool Integration::confirm(double now) {
  if (arrival_.roots.empty() || due.size() != arrival_.roots.size()) return true;
  if (has_crossed()) return true;
  if (now > arrival_.t && same(now, arrival_.t)) {
    move_on(now);
    if (has_crossed()) return true;
  }
  due.clear();
  arrival_.roots.clear();
  start_solver(arrival_.t);
  stand_at(arrival_.t);
  return false;
}

void Integration::enter(double within) {
  before_event();
  if (arrival_.t < next_time_ && next_time_ <= arrival_.t + within) {
    arrival_ = {next_time_, {}};
    system_.place(arrival_.t, solver_->x().data());
  }
  system_.enter_event_mode(arrival_.t);
}

bool Integration::leave(const EventOutcome& outcome, bool first) {
  const double t = arrival_.t;
  const std::vector<Cause> causes = std::exchange(due, {}), timers = timers_;
  const bool seen = outcome.changed || causes.empty() || !crossings_.is_leaving(t, causes);
  leave_event_mode(t, outcome, first);
  if (seen) limit_steps_for_a_while(t, causes, timers);
  return seen;
}

// --- forward ---------------------------------------------------------------------------------------------------------

bool Integration::advance(double point, double limit) {
  const bool at_point = same(arrival_.t, point);
  if (arrival_.t > point && !at_point) {
    solver_->interpolate(point);
    system_.place(point, solver_->between().data());
    if (!crossings_.hold(point, solver_->between())) {
      stops_until_ = point;
      back_to_anchor();
      return false;
    }
    on_row(point, RowOf::point);
    return true;
  }
  if (handled_) {
    // The integrator only has to return after each step if FMUs count steps or steps are limited.
    const double stop = settings_.takes_samples || point <= stops_until_ ? point : limit;
    step(stop, stop > point || reports_steps_ || longest_step_ != infinity);
    return false;
  }
  handled_ = true;
  if (!(at_point || !arrival_.roots.empty() || time_event_due() || jump_due() || reports_steps_)) return false;
  const double t = at_point ? point : arrival_.t;
  system_.place(arrival_.t, solver_->x().data());
  // Others would not go ahead too, and therefore inputs would not.
  const bool looks_ahead = at_point && !(hands_over && !system_.inputs().empty());
  const auto ahead = looks_ahead ? just_ahead() : std::optional<IndicatorLookAhead>{};
  const std::vector<Cause> found = causes(at_point);
  if (!found.empty() && (hands_over || (hands_over_timers && at_point && time_event_due()))) {
    go_ahead(ahead);
    due = found;
  } else if (!found.empty()) {
    event(t, found, at_point ? Sides::both_at_point : Sides::both, ahead);
  } else if (at_point) {
    crossings_.drop_anchor(t, solver_->x());
    on_row(t, RowOf::point);
  }
  return at_point;
}

std::optional<IndicatorLookAhead> Integration::just_ahead() {
  if (jump_due()) return {};
  auto ahead = crossings_.just_ahead(arrival_.t, solver_->x());
  if (ahead) {
    Crossings::Numbers roots = crossed(crossings_.anchor.signs, ahead->signs);
    roots.insert(arrival_.roots.begin(), arrival_.roots.end());
    arrival_.roots.assign(roots.begin(), roots.end());
  }
  return ahead;
}

void Integration::go_ahead(const std::optional<IndicatorLookAhead>& ahead) {
  if (!ahead) return;
  arrival_.t = ahead->t;
  std::ranges::copy(ahead->x, solver_->x().begin());
  system_.place(ahead->t, solver_->x().data());
}

void Integration::back_to_anchor() {
  const Crossings::Anchor& anchor = crossings_.anchor;
  std::ranges::copy(anchor.x, solver_->x().begin());
  arrival_ = {anchor.t, {}};
  handled_ = true;
  start_solver(anchor.t);
  system_.place(anchor.t, solver_->x().data());
}

// Must be called when the integrator has been started at t [s].
void Integration::stand_at(double t) {
  system_.place(t, solver_->x().data());
  crossings_.start(t, solver_->x(), arrival_.roots);
}

// Handles a first step after a start that has crossed a zero twice; the integration has then gone back. Throws if both
// crossings are too close to be resolved, and earlier ones have occurred at decreasing intervals.
bool Integration::was_there_and_back() {
  const double t = crossings_.anchor.t, span = arrival_.t - t;
  const Crossings::Numbers unseen = crossings_.unseen(arrival_);
  if (span <= 2 * close(t)) {
    for (const std::size_t i : unseen) chatter_.lose(crossings_.cause(i));
    return false;
  }
  if (unseen.empty()) return false;
  back_to_anchor();
  crossings_.leaving = unseen;
  limited_until_ = t + span;
  limit_step(span / steps_between_events);
  return true;
}

void Integration::step(double stop, bool step_by_step) {
  double limit = std::min(next_time_, stop);
  if (limit <= arrival_.t || same(limit, arrival_.t) || jump_due()) {
    arrival_.roots.clear();
    handled_ = false;
    return;
  }
  if (system_.stimuli != nullptr) limit = std::min(limit, system_.stimuli->limit(arrival_.t));
  if (arrival_.t > limited_until_) {
    limited_until_ = infinity;
    limit_step(infinity);
  }
  const double before = arrival_.t, elapsed = solver_->elapsed();
  event_exchange_.hide_ticks();
  try {
    arrival_ = solver_->reach(limit, step_by_step || !crossings_.leaving.empty());
    handled_ = false;
  } catch (const IntegrationFailed& failed) {
    go_on_or_retreat(failed.what(), failed.t);
    return;
  }
  if (was_there_and_back()) return;
  const bool stuck = solver_->elapsed() - elapsed <= spacing(elapsed) && arrival_.roots.empty();
  stuck_ = stuck ? stuck_ + 1 : 0;
  if (!stuck) {
    system_.last_failure.reset();  // it has been avoided
    if (!reason_.empty()) on_retreat(retreat_time_, std::exchange(reason_, {}));
  }
  if (stuck_ == max_stuck) go_on_or_retreat("its steps have become smaller than the resolution of time", before);
}

// If the other solver cannot continue either, the failure of the first one is reported.
void Integration::go_on_or_retreat(const std::string& reason, double t) {
  if (!settings_.retreats || retreated_) cannot_go_on(reason_.empty() ? reason : reason_, t);
  const double here = solver_->time();
  retreat_from(same(here, arrival_.t) ? arrival_.t : here, reason);
}

// The other solver continues at t [s], where the present one is.
void Integration::retreat_from(double t, const std::string& reason) {
  OdeSolver& left = *solver_;
  use_retreat(true);
  std::ranges::copy(left.x(), solver_->x().begin());
  std::ranges::copy(left.atol(), solver_->atol().begin());
  solver_->start(t);
  handled_ = handled_ && t == arrival_.t;
  arrival_ = {t, {}};
  stuck_ = 0;
  reason_ = reason;
  retreat_time_ = t;
}

void Integration::use_retreat(bool retreated) {
  reason_.clear();
  if (retreated == retreated_) return;
  if (!other_)
    other_ =
        make_solver(SolverKind::dormand_prince, system_, {system_.size(), system_.indicator_count()}, settings_.rtol);
  std::swap(solver_, other_);
  retreated_ = retreated;
  solver_->limit_step(longest_step_);
}

Effort Integration::effort() const noexcept {
  Effort sum = solver_->effort();
  if (!other_) return sum;
  const Effort other = other_->effort();
  sum.steps += other.steps;
  sum.evaluations += other.evaluations;
  sum.error_test_failures += other.error_test_failures;
  sum.convergence_failures += other.convergence_failures;
  sum.jacobians += other.jacobians;
  sum.root_evaluations += other.root_evaluations;
  return sum;
}

bool Integration::time_event_due() const noexcept { return next_time_ <= arrival_.t || same(next_time_, arrival_.t); }

bool Integration::jump_due() {
  return system_.stimuli != nullptr && arrival_.t >= system_.stimuli->end() - close(arrival_.t);
}

// Reports the step to the instances; returns causes of an event at its end. Continuous signals that are exchanged at
// events only cause events at communication points.
std::vector<Cause> Integration::causes(bool at_point) {
  const double t = arrival_.t;
  std::vector<Cause> found;
  for (const std::size_t root : arrival_.roots) found.push_back(crossings_.cause(root));
  if (time_event_due()) found.insert(found.end(), timers_.begin(), timers_.end());
  if (jump_due()) found.push_back(jump_of_input);
  if (at_point && event_exchange_.pending()) found.push_back(sample);
  for (std::size_t model = 0; model < system_.models().size(); ++model) {
    const CompletedStep step = system_.complete_step(model, t);
    const std::string& name = system_.models()[model].name();
    if (step.terminate) throw ended_by(name, t);
    if (step.event) found.push_back({name, "event after a step"});
  }
  return found;
}

// Handles an event at the present time, or just `ahead`.
void Integration::event(double row_time, const std::vector<Cause>& causes, Sides sides,
                        const std::optional<IndicatorLookAhead>& ahead) {
  double t = arrival_.t;
  const bool leaving = crossings_.is_leaving(t, causes);
  const std::vector<Cause> timers = timers_;
  if (sides != Sides::right) on_row(row_time, RowOf::event);
  go_ahead(ahead);
  enter(close(t));
  t = arrival_.t;
  if (system_.stimuli != nullptr && std::ranges::find(causes, jump_of_input) != causes.end()) system_.stimuli->jump(t);
  const EventOutcome outcome = event_exchange_.iterate(t, close(t));
  leave_event_mode(t, outcome, false);
  if (!outcome.changed && leaving) {
    if (sides == Sides::both) on_no_row();
    return;
  }
  limit_steps_for_a_while(t, causes, timers);
  ++events_;
  on_row(row_time, RowOf::event);
}

// A crossing that has come back soon may do so again within one step without being detected, so steps are limited. This
// does not apply to causes outside the components, nor to clocks, whose ticks are known.
void Integration::limit_steps_for_a_while(double t, const std::vector<Cause>& causes,
                                          const std::vector<Cause>& timers) {
  std::vector<Cause> suspects;
  for (const Cause& one : causes) {
    const bool clock = std::ranges::find(timers, one) != timers.end() && one.what != time_event;
    if (!clock && one != jump_of_input && one != sample) suspects.push_back(one);
  }
  const double recurrence = chatter_.note(t, suspects);
  limited_until_ = t + recurrence;
  if (recurrence > 0) limit_step(recurrence / steps_between_events);
}

void Integration::limit_step(double h) {
  longest_step_ = h;
  solver_->limit_step(h);
}

void Integration::leave_event_mode(double t, const EventOutcome& outcome, bool first) {
  next_time_ = outcome.next_time;
  timers_ = outcome.timers;
  system_.read_states(t, solver_->x().data());
  if (first || outcome.nominals_changed) read_sizes();
  system_.enter_continuous_time(t);
  if (system_.jacobian_of != nullptr) system_.jacobian_of->forget();
  first_step_ = 0.0;
  solver_->start(t);
  stand_at(t);
}

void Integration::read_sizes() {
  system_.read_nominals(arrival_.t, solver_->atol().data());
  if (system_.jacobian_of != nullptr) system_.jacobian_of->sizes(solver_->atol());
  for (double& one : solver_->atol()) one *= settings_.rtol;
}

void Integration::cannot_go_on(const std::string& reason, double t) const {
  const auto& last = system_.last_failure;
  const std::string message = "the integrator cannot go on: " + reason;
  if (!last)
    throw IntegrationStopped(
        Ending::integration, message,
        "loosen the tolerance, or check parameters and start values: the solution may not exist from here", t, {},
        true);
  // A nan remains at all points that the integrator could still try.
  const Ending ending = last->ending == Ending::nonfinite ? last->ending : Ending::integration;
  IntegrationStopped stopped(ending, message + "; last: " + last->what(), last->advice, t, last->component, true);
  stopped.function = last->function;
  stopped.details = last->details;
  throw stopped;
}

}  // namespace ssptool
