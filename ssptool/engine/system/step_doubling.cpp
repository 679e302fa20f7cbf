#include "step_doubling.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "state.hpp"
#include "system.hpp"

namespace ssptool::runtime {

namespace {

// Pairs of the smallest size in a row that may have too large an error, because a real signal jumps in them.
constexpr int isolated = 3;
// A run ends after so many changes in short pairs, less this for each pair without one.
constexpr double many_changes = 100.0, forgotten = 0.25;

double ulp(double t) { return std::nextafter(t, HUGE_VAL) - t; }

}  // namespace

StepDoubling::StepDoubling(const PlannedDoubling& plan, const VariedSteps& varied, DoubledSteps own)
    : VaryingSteps(varied, plan.largest),
      plan_(plan),
      own_(std::move(own)),
      comparison_(plan.compared, values()),
      smallest_(std::max(plan.smallest * (varied.stop - varied.start),
                         8 * ulp(std::max(std::abs(varied.start), std::abs(varied.stop))))) {}

void StepDoubling::restart() {
  h_ = first_size();
  usual_ = first_ = 0.0;
  until_ = -HUGE_VAL;
  past_.clear();
}

SavedSizes StepDoubling::save() const {
  SavedSizes saved{{t_, h_, usual_, first_, until_, changes_, static_cast<double>(jumps_)}, comparison_.sizes(), {}};
  for (const Point& point : past_) saved.past.emplace_back(point.t, point.values);
  return saved;
}

void StepDoubling::go_on(const SavedSizes& saved) {
  const auto fits = [this](const auto& point) { return point.second.size() == values().size(); };
  require_same_steps(saved.numbers.size() == 7 && saved.of_each.size() == comparison_.sizes().size() &&
                     std::ranges::all_of(saved.past, fits));
  t_ = saved.numbers[0];
  h_ = saved.numbers[1];
  usual_ = saved.numbers[2];
  first_ = saved.numbers[3];
  until_ = saved.numbers[4];
  changes_ = saved.numbers[5];
  jumps_ = static_cast<int>(saved.numbers[6]);
  comparison_.set_sizes(saved.of_each);
  past_.clear();
  for (const auto& [t, values] : saved.past) past_.push_back({t, values});
}

std::optional<double> StepDoubling::next(Stretch& found, const AroundSteps& around) {
  found.from = found.to = t_;
  begin_pair();
  for (const std::int64_t before = found.rejected;; ++found.rejected) {
    Tried tried = attempt(found, around);
    if (early_ || found.unsampled) {
      found.rejected = before;
      return std::exchange(early_, {});
    }
    double size = h_ * plan_.least_factor;
    if (found.outcome.ok()) {
      const bool unlocated = has_unlocated_change(found, around, tried);
      if (found.unsampled) return {};  // in a step ahead
      const double factor = unlocated ? 0.5 : this->factor(tried.error);
      size = tried.h * factor;
      if ((tried.exact() && !unlocated) || size < smallest_) {
        accept(found, tried, factor);
        return {};
      }
    } else if (!may_be_avoided(found) || size < smallest_) {
      if (may_be_avoided(found)) no_size_ = {NoSize::Why::failed, t_, smallest_};
      return {};
    }
    h_ = size;
    found.outcome = {};
    go_back();
  }
}

void StepDoubling::begin_pair() {
  const Values& before = values();
  if (!past_.empty() && (past_.back().t != t_ || !same_bits(past_.back().values, before)))
    past_.clear();  // of before an event
  if (!past_.empty()) past_.pop_back();
  if (past_.size() > 2) past_.erase(past_.begin(), past_.end() - 2);
  past_.push_back({t_, before});
  own_.here.keep();
}

// h, or what makes the last pairs end at the limit.
double StepDoubling::fitting(double limit) const noexcept {
  const double left = limit - t_;
  if (left <= 2.02 * h_ && left <= 2 * plan_.largest) return left / 2;
  return left < 4 * h_ ? left / 4 : h_;
}

// Two steps from here, accepted by the kernel only.
StepDoubling::Tried StepDoubling::attempt(Stretch& found, const AroundSteps& around) {
  const double h = fitting(around.limit), middle = t_ + h;
  Tried tried{h, 2 * h < around.limit - t_ ? t_ + 2 * h : around.limit};
  if (!step(found, around, t_, tried.end)) return tried;
  tried.coarse = values();
  found.from = t_;
  go_back();
  if (!step(found, around, t_, middle)) return tried;
  end(found, tried, middle);
  tried.middle = values();
  if (!step(found, around, middle, tried.end)) return tried;
  end(found, tried, tried.end);
  tried.error = comparison_.error(values(), tried.coarse);
  tried.changed = comparison_.changed({&past_.back().values, &tried.coarse, &tried.middle, &values()});
  return tried;
}

// False if it cannot be done, or if a part has ended it early: then its outcome does not count.
bool StepDoubling::step(Stretch& found, const AroundSteps& around, double from, double to) {
  found.from = t_;
  if (!around.before(to)) return false;
  note(found, from, to, varied_.steps.attempt(from, to - from, to));
  early_ = around.after(to, around.limit);
  if (early_) found.outcome = {};
  return found.outcome.ok() && !early_;
}

void StepDoubling::end(Stretch& found, Tried& tried, double t) {
  tried.rows.push_back(finish(found, t));
  tried.counts.push_back(varied_.steps.iterations());
}

// A smaller step may do.
bool StepDoubling::may_be_avoided(const Stretch& found) const {
  const Outcome& outcome = found.outcome;
  if (outcome.code == Code::coupling || outcome.code == Code::loop || outcome.code == Code::nonfinite) return true;
  if (varied_.steps.left_domain(outcome)) return true;
  const bool discarded = outcome.code == Code::fmi && outcome.fmi_status == fmi::discard;
  return discarded && !own_.ends(outcome, found.from);
}

// A signal that is not a real number changes in these steps or right after them, and they are longer than that allows.
bool StepDoubling::has_unlocated_change(Stretch& found, const AroundSteps& around, Tried& tried) {
  const double usual = first_ != 0.0 ? first_ : std::max(tried.h, usual_);
  const double brief = std::max(plan_.compared.tolerance * usual, 4 * smallest_);
  std::optional<Slot> changed = tried.changed;
  if (!changed && tried.exact() && 2 * tried.h > brief) changed = change_ahead(found, around, tried.end, brief);
  if (!changed) return false;
  first_ = usual;
  until_ = tried.end;
  return 2 * tried.h > brief || !tried.exact();
}

// A signal that a step of this size [s] from the end of a pair changes: it was the pair that led to that, as where a
// threshold was crossed in it.
std::optional<Slot> StepDoubling::change_ahead(Stretch& found, const AroundSteps& around, double end, double size) {
  if (!comparison_.has_others() || end + size > around.horizon) return {};
  found.from = end;
  own_.ahead->keep();
  const Values before = values();
  std::optional<Slot> changed;
  if (step(found, around, end, end + size)) changed = comparison_.changed({&before, &values()});
  found.outcome = {};
  found.from = end;
  own_.ahead->go_back();
  found.from = t_;
  std::ranges::copy(before, values().begin());
  return changed;
}

double StepDoubling::factor(double error) const {
  if (error <= 0.0) return plan_.largest_factor;
  if (std::isnan(error)) return plan_.least_factor;
  const double best = plan_.safety * std::pow(error, -1.0 / (plan_.compared.order + 1));
  return std::clamp(best, plan_.least_factor, plan_.largest_factor);
}

void StepDoubling::accept(Stretch& found, const Tried& tried, double factor) {
  if (hopeless(tried)) return;
  comparison_.accept(values());
  rows_.insert(rows_.end(), tried.rows.begin(), tried.rows.end());
  found.iterations.insert(found.iterations.end(), tried.counts.begin(), tried.counts.end());
  found.alone += static_cast<std::int64_t>(tried.counts.size());
  past_.push_back({tried.rows.front().front(), tried.middle});
  past_.push_back({tried.end, values()});
  t_ = tried.end;
  if (tried.changed || t_ >= until_) first_ = 0.0;
  if (!tried.changed && first_ == 0.0) usual_ = std::max(tried.h, usual_ / 2);
  // Steps that were only cut do not say that the chosen size is too large.
  const double chosen = tried.h < h_ ? std::max(tried.h * factor, h_) : tried.h * factor;
  h_ = std::max(std::min(chosen, first_ != 0.0 ? h_ : plan_.largest), smallest_);
}

// Signals jump or change again and again, however small steps are.
bool StepDoubling::hopeless(const Tried& tried) {
  changes_ = std::max(changes_ + (tried.changed ? 1.0 : -forgotten), 0.0);
  if (tried.changed && changes_ > many_changes) {
    no_size_ = {NoSize::Why::switching, t_, 2 * tried.h, *tried.changed};
    return true;
  }
  jumps_ = tried.exact() ? 0 : jumps_ + 1;
  if (jumps_ > 0) comparison_.tolerate(values(), tried.coarse);
  if (jumps_ <= isolated && !std::isnan(tried.error)) return false;
  no_size_ = {NoSize::Why::inexact, t_, smallest_, comparison_.worst(values(), tried.coarse), tried.error};
  return true;
}

// To the communication point from which the pair starts.
void StepDoubling::go_back() {
  own_.here.go_back();
  for (const Point& point : past_) {
    std::ranges::copy(point.values, values().begin());
    varied_.kernel.history.accept(point.t);
  }
}

}  // namespace ssptool::runtime
