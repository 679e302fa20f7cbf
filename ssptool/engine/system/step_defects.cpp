#include "step_defects.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "state.hpp"
#include "system.hpp"

namespace ssptool::runtime {

namespace {

// Error of linear interpolation over a step, relative to the square of the step times the second derivative.
constexpr double of_line = 1.0 / 12;
constexpr double least_defect = 1e-4;
// Smallest factor of the size after a jump of an input.
constexpr double least_after_jump = 0.01;
// Part of the interval in which errors are overestimated, because the sizes of signals are not known yet.
constexpr double overestimated = 0.01;
// Steps after a change until signals that jump with it have jumped.
constexpr int settled = 2;
// Part of the way to a threshold that a step may cover, and part of what is not known of its value.
constexpr double nearer = 0.5, across = 1.0 / 32;
// Smallest step near a threshold, relative to the largest one between switches.
constexpr double least_near = 1e-4;
constexpr std::size_t most_thresholds = 256;
// One step after as many others is shorter. Where outputs follow held inputs at once, they lag by half a step: their
// slopes are smooth as long as all steps are alike, and only bend if one is not. A part of that bend is the lag; it is
// chosen so that a smooth signal, which bends less there, has no larger error because of it.
constexpr int most_alike = 8;
constexpr double shorter = 1.0 / 16, of_lag = 0.15;
constexpr double of_same_size = 1 - 1e-6;

bool is_same(double one, double other) { return same_bits({one}, {other}); }

}  // namespace

StepDefects::StepDefects(const PlannedSizes& plan, const VariedSteps& varied)
    : VaryingSteps(varied, plan.largest),
      plan_(plan),
      comparison_(plan.compared, values(), varied.stop - varied.start),
      smallest_(plan.smallest * (varied.stop - varied.start)),
      missed_(plan.compared.inputs.size()) {
  restart();
}

void StepDefects::restart() {
  h_ = std::max(std::min(plan_.first, largest_), smallest_);
  error_ = 1.0;
  alike_ = 0;
  slopes_.clear();
  lags_.clear();
  trends_.clear();
  change_.reset();
}

SavedSizes StepDefects::save() const {
  SavedSizes saved{{t_, h_, error_, jumps_, static_cast<double>(alike_)},
                   comparison_.sizes(),
                   {{t_, slopes_}, {t_, lags_}, {t_, earlier_}}};
  for (const Threshold& one : thresholds_)
    saved.past.emplace_back(one.from, Values{static_cast<double>(one.output), static_cast<double>(one.input),
                                             one.rises ? 1.0 : 0.0, one.low, one.high});
  return saved;
}

void StepDefects::go_on(const SavedSizes& saved) {
  const auto all = [&](std::size_t place, std::size_t size) {
    return saved.past[place].second.empty() || saved.past[place].second.size() == size;
  };
  require_same_steps(saved.numbers.size() == 5 && comparison_.fits(saved.of_each) && saved.past.size() >= 3);
  const std::size_t inputs = plan_.compared.inputs.size();
  require_same_steps(all(0, inputs) && all(1, inputs) && all(2, values().size()));
  t_ = saved.numbers[0];
  h_ = saved.numbers[1];
  error_ = saved.numbers[2];
  jumps_ = saved.numbers[3];
  alike_ = static_cast<int>(saved.numbers[4]);
  comparison_.set_sizes(saved.of_each);
  slopes_ = saved.past[0].second;
  lags_ = saved.past[1].second;
  earlier_ = saved.past[2].second;
  thresholds_.clear();
  for (std::size_t i = 3; i < saved.past.size(); ++i) {
    const auto& [from, one] = saved.past[i];
    const auto number = static_cast<double>(values().size());
    require_same_steps(one.size() == 5 && one[0] >= 0.0 && one[0] < number && one[1] >= 0.0 && one[1] < number);
    thresholds_.push_back({static_cast<Slot>(one[0]), static_cast<Slot>(one[1]), from, one[2] > 0.0, one[3], one[4]});
  }
}

Inexact StepDefects::inexact() const {
  Inexact found{far_, late_.sum, late_.time, affected_};
  double most = 0.0, worst = late_.largest;
  for (std::size_t i = 0; i < missed_.size() && elapsed() > 0.0; ++i) {
    most = std::max(most, missed(i, missed_[i].sum));
    const double largest = missed(i, missed_[i].largest);
    if (largest <= worst) continue;
    worst = largest;
    found.time = missed_[i].time;
    found.slot = plan_.compared.inputs[i];
  }
  found.error += most;
  return shifted_.error > found.error ? Inexact{far_, shifted_.error, shifted_.time, shifted_.slot} : found;
}

// Error because of a part of what an input has missed [s].
double StepDefects::missed(std::size_t input, double part) const {
  return comparison_.error_of_mean(input, elapsed()) / interval() * part;
}

std::optional<double> StepDefects::next(Stretch& found, const AroundSteps& around) {
  found.from = found.to = t_;
  const double t = t_, to = end(around.limit), h = to - t;
  Values before = values();
  if (!around.before(to)) return {};
  const std::optional<double> early = note(found, t, to, varied_.steps.attempt(t, h, to), around, to);
  if (early || !found.outcome.ok()) return early;
  rows_.push_back(finish(found, to));
  comparison_.accept(values());
  t_ = to;
  choose(h, before);
  watch_changes(h, before);
  approach(h, before);
  earlier_ = std::move(before);
  return {};
}

// The last two steps share the remaining time equally.
double StepDefects::end(double limit) const noexcept {
  const double left = limit - t_;
  if (left <= 1.01 * h_ && left <= largest_) return limit;
  return t_ + (left < 2 * h_ ? left / 2 : alike_ == most_alike ? shorter * h_ : h_);
}

// The error of an input's mean is that of a line between its values at both ends; if the input bends, this line has an
// error itself. Bends at a shorter step count until the next one.
void StepDefects::choose(double h, const Values& before) {
  const std::vector<Slot>& inputs = plan_.compared.inputs;
  const bool was_shorter = alike_ > most_alike;
  StepComparison::Means means{this->means(inputs, h), {}};
  lags_.resize(inputs.size());
  Values slopes;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const double begin = before[inputs[i]], end = values()[inputs[i]];
    slopes.push_back((end - begin) / h);
    const double bend = slopes_.empty() ? 0.0 : std::abs(slopes[i] - slopes_[i]);
    if (was_shorter) lags_[i] = of_lag * bend;
    const double bent = h * std::max(of_line * bend, lags_[i]);
    const double missed = std::abs((begin + end) / 2 - means.coarse[i]);
    means.fine.push_back(means.coarse[i] + std::max(missed, bent));
    missed_[i].add(h * std::max(missed, bent), t_);
  }
  shift(slopes);
  slopes_ = std::move(slopes);
  alike_ = was_shorter ? 1 : alike_ + 1;
  const double error = std::max(comparison_.error(means, elapsed()).second, least_defect);
  if (h < of_same_size * h_ && error <= 1.0) return;  // a step that was only shortened is no reason for another size
  h_ = std::clamp(chosen(h, error), smallest_, std::max(largest_, smallest_));
  error_ = error;
}

// Where a signal is much steeper than on the mean, for example in a relaxation oscillation, it suffers most from what
// has been missed before. A jump is steep in one step only: what it misses is counted by itself.
void StepDefects::shift(const Values& slopes) {
  if (slopes_.empty() || elapsed() <= overestimated * interval()) return;
  const std::vector<Slot>& inputs = plan_.compared.inputs;
  const auto known = [&](std::size_t i) { return comparison_.is_inside(i, values()[inputs[i]]); };
  double before = 0.0;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (known(i)) before = std::max(before, missed(i, missed_[i].sum));
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!known(i) || !(slopes[i] * slopes_[i] > 0.0)) continue;
    const double slope = std::min(std::abs(slopes[i]), std::abs(slopes_[i]));
    const double error = before * comparison_.steepness(i, slope, elapsed());
    if (error > shifted_.error) shifted_ = {0, error, t_, inputs[i]};
  }
}

// The step after a jump is as small as its error requires. Further jumps, if there are as many per time, may not have
// larger errors together than all steps, except if steps would have to be smaller than those of a system that switches.
double StepDefects::chosen(double h, double error) {
  if (!(error > Inexact::far)) {
    const double found = h * plan_.control.factor(error, error_, plan_.compared.order);
    return jumps_ > 0.0 ? std::min(found, std::max(elapsed() / jumps_, plan_.compared.tolerance * interval())) : found;
  }
  if (elapsed() > overestimated * interval()) {
    ++far_;
    if (error_ <= Inexact::far) jumps_ += error;
  }
  const double part = plan_.control.safety * std::pow(error, -1.0 / plan_.compared.order);
  return h * std::max(part, least_after_jump);
}

void StepDefects::watch_changes(double h, const Values& before) {
  const std::vector<Slot>& reals = plan_.compared.reals;
  Values trends;
  for (const Slot slot : reals) trends.push_back((values()[slot] - before[slot]) / h);
  const bool changed = comparison_.changed({&before, &values()}).has_value();
  if (change_ && (++change_->since == settled || changed)) judge(*std::exchange(change_, {}), trends);
  if (changed) {
    Values past = std::move(trends_);
    restart();
    bool acts_back = false;
    for (const Switch& one : plan_.compared.switches)
      if (!is_same(before[one.output], values()[one.output])) {
        acts_back = acts_back || one.acts_back;
        learn(one, before);
      }
    if (!past.empty()) change_ = Change{h, acts_back, std::move(past)};
  }
  trends_ = std::move(trends);
}

// A change is noticed late by half a step on the mean. Delays of changes that act back on their cause add up.
void StepDefects::judge(const Change& change, const Values& after) {
  const auto [slot, error] = comparison_.delayed(change.before, after, change.h / 2);
  const double part = change.acts_back ? error : std::max(error - apart_, 0.0);
  if (!change.acts_back) apart_ = std::max(apart_, error);
  if (error > late_.largest) affected_ = slot;
  late_.add(part, t_);
  far_ += error > Inexact::far;
}

// The component may have seen a value of the previous step.
void StepDefects::learn(const Switch& one, const Values& before) {
  const Values& past = earlier_.empty() ? before : earlier_;
  for (const Slot input : one.causes) {
    const double was = past[input], is = values()[input];
    if (!(was < is || is < was)) continue;
    const Threshold found{one.output, input, before[one.output], was < is, std::min(was, is), std::max(was, is)};
    const auto known = std::ranges::find_if(thresholds_, [&](const Threshold& other) {
      return other.output == found.output && other.input == input && other.rises == found.rises &&
             is_same(other.from, found.from);
    });
    if (known == thresholds_.end()) {
      if (thresholds_.size() < most_thresholds) thresholds_.push_back(found);
      continue;
    }
    const double low = std::max(known->low, found.low), high = std::min(known->high, found.high);
    *known = low < high ? Threshold{found.output, input, found.from, found.rises, low, high} : found;
  }
}

// Steps become smaller before an input reaches a value at which an output has changed.
void StepDefects::approach(double h, const Values& before) {
  double most = h_;
  for (const Threshold& one : thresholds_) {
    const double value = values()[one.input], slope = (value - before[one.input]) / h;
    if (!is_same(values()[one.output], one.from) || slope == 0.0 || (slope > 0.0) != one.rises) continue;
    const double ahead = one.rises ? one.low - value : value - one.high, width = one.high - one.low;
    if (ahead + width > 0.0) most = std::min(most, std::max(nearer * ahead, across * width) / std::abs(slope));
  }
  h_ = std::min(h_, std::max({most, least_near * largest_, smallest_}));
}

}  // namespace ssptool::runtime
