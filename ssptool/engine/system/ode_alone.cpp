#include "ode_alone.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "state.hpp"
#include "step_comparison.hpp"

namespace ssptool::runtime {

OdeAlone::OdeAlone(RunningOde& ode, OdeOfRun& run, Index everyone, const CommunicationPoints& points)
    : ode_(ode), run_(run), everyone_(everyone), points_(points), reached_(points.grid.start), limit_(points.stop) {
  last_.assign(ode_.system.kernel().recorder.width(), reached_);
  integration().on_row = [this](double t, RowOf) { rows_.push_back(row(t)); };
  integration().on_no_row = [this] { rows_.pop_back(); };
}

void OdeAlone::begin() {
  try {
    integration().begin();
  } catch (const IntegrationStopped&) {
    failure_ = std::current_exception();
  } catch (const CallRefused&) {
    failure_ = std::current_exception();
  }
  if (failure_ == nullptr) last_ = row(reached_);  // the first point of the history
}

OdeBatch OdeAlone::run(double limit, std::span<double> rows) {
  limit_ = std::min(limit, points_.stop);
  const std::size_t width = last_.size(), room = rows.size() / width;
  OdeBatch found;
  while (found.points.size() < room && produce()) {
    last_ = std::move(rows_.front());
    rows_.pop_front();
    std::ranges::copy(last_, rows.begin() + static_cast<std::ptrdiff_t>(found.points.size() * width));
    found.points.push_back(at_point_ && rows_.empty());
    reached_ = last_.front();
  }
  found.rows = static_cast<std::int64_t>(found.points.size());
  found.waiting = !rows_.empty();
  found.finished = point_ > points_.steps && !found.waiting;
  if (!found.waiting) found.failure = failure_;
  found.t = integration().time();
  count(found);
  return found;
}

// Continues until there is a row; false at the end of the run and after a failure.
bool OdeAlone::produce() {
  try {
    if (point_ == 1 && failure_ == nullptr) integration().cross_at_start();
    while (rows_.empty() && failure_ == nullptr && !stands()) go_on();
  } catch (const IntegrationStopped& stopped) {
    failure_ = std::current_exception();
    end_at(stopped);
  } catch (const CallRefused&) {
    failure_ = std::current_exception();
  }
  return !rows_.empty();
}

void OdeAlone::go_on() {
  const double point = std::min(points_.grid.time_of(point_), points_.stop);
  const bool limited = limit_ < point - points_.grid.moment();
  at_point_ = integration().advance(limited ? limit_ : point, points_.stop);
  point_ += at_point_ && !limited ? 1 : 0;
}

bool OdeAlone::stands() const noexcept {
  return point_ > points_.steps || (at_point_ && reached_ >= limit_ - points_.grid.moment());
}

// A row at the time at which a part has ended the simulation, after its last event; this may be between communication
// points.
void OdeAlone::end_at(const IntegrationStopped& stopped) {
  if (stopped.ending != Ending::terminated || stopped.t > points_.stop) return;
  const std::vector<double> last = rows_.empty() ? last_ : rows_.back();
  const double since = last.front();
  const double t = std::abs(stopped.t - since) <= points_.grid.moment() ? since : stopped.t;
  try {
    ode_.system.settle(stopped.t);
    std::vector<double> end = row(t);
    if (t >= since && !same_bits(end, last)) rows_.push_back(std::move(end));
  } catch (const IntegrationStopped&) {  // the simulation ends even without this row
  } catch (const CallRefused&) {
  }
}

void OdeAlone::intervene(const std::function<void()>& act) {
  integration().go_to(integration().position(reached_));
  integration().intervene(act);
}

SavedAlone OdeAlone::save() const { return {point_, at_point_, reached_, last_}; }

void OdeAlone::go_on(const SavedAlone& saved) {
  if (saved.last.size() != last_.size()) throw std::runtime_error("the state belongs to other rows");
  point_ = saved.point;
  at_point_ = saved.at_point;
  reached_ = saved.reached;
  last_ = saved.last;
  events_ = integration().events();
}

void OdeAlone::count(OdeBatch& batch) {
  const std::int64_t events = integration().events();
  const std::int64_t evaluations =
      integration().effort().evaluations + (ode_.jacobian ? ode_.jacobian->evaluations() : 0);
  batch.events = events - std::exchange(events_, events);
  batch.evaluations = evaluations - std::exchange(evaluations_, evaluations);
}

}  // namespace ssptool::runtime
