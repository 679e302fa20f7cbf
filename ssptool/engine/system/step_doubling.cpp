#include "step_doubling.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "state.hpp"
#include "system.hpp"

namespace ssptool::runtime {

namespace {

// Number of consecutive pairs of the smallest size whose error may be too large because a real signal jumps.
constexpr int isolated = 3;
// A run ends after `many_changes` changes in short pairs; each pair without a change reduces the count by `forgotten`.
// After that many jumps of real signals, jumps count as noise.
constexpr double many_changes = 100.0, forgotten = 0.25;
// A run also ends after this number of consecutive pairs of nearly the smallest size: noise then prevents longer ones.
constexpr int most_short = 20000;
constexpr double shortest = 32.0;
// Maximum number of trial pairs, and of consecutive trial pairs that are too inexact because signals jump or begin to
// move.
constexpr int most_tried = 400, most_refused = 4;
// Ratio below which a size or an error counts as smaller.
constexpr double fewer = 0.8;
// Number of consecutive times that errors do not decrease as expected before this counts; and the part of the allowed
// error of a run that one kink may have.
constexpr int most_stuck = 2;
constexpr double of_kink = 0.01;
// Noise is proportional to the size, errors of solvers of first order inside of FMUs to its square.
constexpr double noise_power = 1.5;
// Number of pairs in a row that are not more exact than longer ones, until this counts as noise of FMUs.
constexpr double many_noisy = 3.0;
// Number of consecutive pairs whose size hardly grows, after which a much longer one is tried, where errors may be
// noise: only pairs of different sizes show it.
constexpr int most_crawling = 16;
constexpr double hardly = 1.1, much_longer = 8.0;
// Number of pairs that a run may take if errors do not decrease as expected, and the number of pairs of a size that
// would take more, after which errors of solvers of first order inside of FMUs count as noise as well.
constexpr double most_pairs = 5e6;
constexpr int most_slow = 5000;
// Part of a jump that a step contains.
constexpr double half = 0.5;

double ulp(double t) { return std::nextafter(t, HUGE_VAL) - t; }

}  // namespace

StepDoubling::StepDoubling(const PlannedSizes& plan, const VariedSteps& varied, DoubledSteps own)
    : VaryingSteps(varied, plan.largest),
      plan_(plan),
      own_(std::move(own)),
      interval_(varied.stop - varied.start),
      comparison_(plan.compared, values(), interval_),
      smallest_(std::max(plan.smallest * interval_, 8 * ulp(std::max(std::abs(varied.start), std::abs(varied.stop))))) {
  restart();
}

void StepDoubling::restart() {
  h_ = std::max(std::min(plan_.first, largest_), smallest_);
  error_ = 1.0;
  usual_ = first_ = 0.0;
  until_ = -HUGE_VAL;
  jump_.reset();
  past_.clear();
}

SavedSizes StepDoubling::save() const {
  const Jump jump = jump_.value_or(Jump{none, 0.0});
  SavedSizes saved{{t_, h_, usual_, first_, until_, changes_, leaps_, static_cast<double>(jumps_), error_,
                    tried_ ? 1.0 : 0.0, jump_ ? static_cast<double>(jump.slot) : -1.0, jump.by,
                    static_cast<double>(short_), leaping_ == none ? -1.0 : static_cast<double>(leaping_), noisy_,
                    worst_, worst_time_, static_cast<double>(crawling_), static_cast<double>(slow_)},
                   comparison_.sizes(),
                   {}};
  for (const Point& point : past_) saved.past.emplace_back(point.t, point.values);
  return saved;
}

void StepDoubling::go_on(const SavedSizes& saved) {
  const auto fits = [this](const auto& point) { return point.second.size() == values().size(); };
  require_same_steps(saved.numbers.size() == 19 && comparison_.fits(saved.of_each) &&
                     std::ranges::all_of(saved.past, fits));
  const std::vector<double>& numbers = saved.numbers;
  t_ = numbers[0];
  h_ = numbers[1];
  usual_ = numbers[2];
  first_ = numbers[3];
  until_ = numbers[4];
  changes_ = numbers[5];
  leaps_ = numbers[6];
  jumps_ = static_cast<int>(numbers[7]);
  error_ = numbers[8];
  tried_ = numbers[9] != 0.0;
  jump_.reset();
  if (numbers[10] >= 0.0) jump_ = Jump{static_cast<Slot>(numbers[10]), numbers[11]};
  short_ = static_cast<int>(numbers[12]);
  leaping_ = numbers[13] < 0.0 ? none : static_cast<Slot>(numbers[13]);
  noisy_ = numbers[14];
  worst_ = numbers[15];
  worst_time_ = numbers[16];
  crawling_ = static_cast<int>(numbers[17]);
  slow_ = static_cast<int>(numbers[18]);
  comparison_.set_sizes(saved.of_each);
  past_.clear();
  for (const auto& [t, values] : saved.past) past_.push_back({t, values});
}

std::optional<double> StepDoubling::next(Stretch& found, const AroundSteps& around) {
  found.from = found.to = t_;
  if (!tried_) try_out(found, around);
  begin_pair();
  Rejected last;
  for (const std::int64_t before = found.rejected;; ++found.rejected) {
    Tried tried = attempt(found, around);
    if (early_ || found.unsampled) {
      found.rejected = before;
      return std::exchange(early_, {});
    }
    double size = h_ * plan_.control.least_factor;
    if (found.outcome.ok()) {
      if (!tried.cut) judge(tried, last);
      const bool unlocated = has_unlocated_change(found, around, tried);
      if (found.unsampled) return {};  // in a step ahead of the present time
      size = tried.h * (unlocated ? half : plan_.control.again(tried.error, plan_.compared.order));
      if (!tried.cut && ((tried.exact() && !unlocated) || size < smallest_)) {
        if (!tried.exact()) be_content(tried);
        accept(found, tried);
        look_for_noise(last);
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

// Judges the error of a pair, including that of its inputs. If the error does not decrease with the size as it does for
// smooth signals, a signal has a kink. Kinks are few, so their errors may be larger than those of short steps. Errors
// that grow while steps become smaller are noise. Errors of inputs that do not decrease belong to inputs that are just
// beginning to move, and are ignored.
void StepDoubling::judge(Tried& tried, Rejected& last) {
  const double of_means = comparison_.error(tried.means, t_ - varied_.start + 2 * tried.h).second, over = 2 * tried.h;
  const double error = tried.error, shorter = tried.h / last.h;
  compare_rates(tried, last);
  if (shorter < fewer && error > 1.0 && last.stuck >= most_stuck) {
    tried.error *= std::min(over / (of_kink * interval_), 1.0);
    if (!tried.exact() && error > last.error) {
      comparison_.tolerate(values(), tried.coarse, over);
      tried.error = comparison_.error(values(), tried.coarse, over);
    }
  }
  if (shorter < fewer && last.of_means > 1.0 && of_means > fewer * last.of_means) last.means_fall = false;
  last.h = tried.h;
  last.error = error;
  last.of_means = of_means;
  if (last.means_fall && !std::isnan(tried.error)) tried.error = std::max(tried.error, of_means);
}

bool StepDoubling::slow() const { return slow_ >= most_slow; }

// Errors of smooth signals are proportional to a power of the size. If they decrease by less than half of that power,
// shorter steps add up to no better result.
void StepDoubling::compare_rates(const Tried& tried, Rejected& last) {
  const double over = 2 * tried.h, shorter = tried.h / last.h;
  const Values rates = comparison_.rates(values(), tried.coarse, over);
  const double before = last.error * comparison_.part(2 * last.h), now = tried.error * comparison_.part(over);
  const bool first = last.rates.empty();
  // In a run that takes too many steps, errors one order below that of the master count as well.
  const double one_below = 1 + plan_.compared.order - half;
  const double order = slow() ? one_below : 1 + plan_.compared.order / 2.0;
  const bool stuck = first ? tried.error > 1.0 : now > before * std::pow(shorter, order);
  if (shorter < fewer) last.stuck = stuck ? last.stuck + 1 : 0;
  if (!first && shorter < fewer) {
    const double slowly = std::pow(shorter, slow() ? one_below : noise_power);
    last.like_noise = last.like_noise && now > slowly * before && now < fewer * before;
  }
  if (!stuck || first) {
    last.rates = rates;
    last.longest = tried.h;
  }
  for (std::size_t i = 0; i < rates.size(); ++i) last.rates[i] = std::fmin(last.rates[i], rates[i]);
}

// After several pairs that were not more exact than longer ones, errors are noise of FMUs, and long steps do as well.
void StepDoubling::look_for_noise(const Rejected& last) {
  if (last.stuck < most_stuck) {
    noisy_ = std::max(noisy_ - forgotten, 0.0);
    return;
  }
  if (!last.like_noise) return;
  comparison_.gather(last.rates, noisy_ == 0.0);
  if (++noisy_ < many_noisy && !slow()) return;
  comparison_.expect_gathered();
  noisy_ = 0.0;
  h_ = std::max(h_, last.longest);
}

Inexact StepDoubling::inexact() const {
  const auto [slot, error] = comparison_.counted();
  return {0, error, worst_time_, slot};
}

// Accepts a pair of the smallest steps as far as its error may be a kink or noise.
void StepDoubling::be_content(Tried& tried) {
  const double over = 2 * tried.h;
  tried.error = comparison_.error(values(), tried.coarse, over) * std::min(over / (of_kink * interval_), 1.0);
  if (tried.exact() || std::isnan(tried.error)) return;
  comparison_.tolerate(values(), tried.coarse, over);
  tried.error = comparison_.error(values(), tried.coarse, over);
}

// Finds the sizes of signals by trial pairs of low accuracy, which are taken back. Errors are then relative to these
// sizes from the first step on.
void StepDoubling::try_out(Stretch& found, const AroundSteps& around) {
  tried_ = true;
  const Stretch before = found;
  const Values start = values();
  const double t = t_, h = h_;
  AroundSteps all = around;
  all.limit = around.smooth;
  rough_ = true;
  comparison_.try_out();
  own_.ahead->keep();
  int refused = 0;
  const double middle = varied_.start + half * interval_;
  for (int i = 0; i < most_tried && t_ < all.limit; ++i) {
    const bool early = t_ < middle;
    if (!try_pair(found, all, refused)) break;
    if (early && t_ >= middle) comparison_.pass_half();
  }
  own_.ahead->go_back();
  comparison_.foresee(start, (t_ - t) / interval_);
  rough_ = false;
  early_.reset();
  found = before;
  t_ = t;
  h_ = h;
  past_.clear();
  std::ranges::copy(start, values().begin());
  varied_.kernel.history.accept(t_);
}

// Returns whether another trial pair may follow.
bool StepDoubling::try_pair(Stretch& found, const AroundSteps& around, int& refused) {
  begin_pair();
  const Tried tried = attempt(found, around);
  if (early_ || found.unsampled || (!found.outcome.ok() && !may_be_avoided(found))) return false;
  if (!found.outcome.ok() || (!tried.exact() && refused < most_refused)) {
    if (++refused > 4 * most_refused) return false;
    h_ = tried.h * (found.outcome.ok() ? plan_.control.again(tried.error, plan_.compared.order) : half);
    found.outcome = {};
    go_back();
    return true;
  }
  refused = 0;
  comparison_.accept(tried.middle);
  comparison_.accept(values());
  past_.push_back({t_ + tried.h, tried.middle});
  past_.push_back({tried.end, values()});
  t_ = tried.end;
  h_ = std::min(h_ * plan_.control.largest_factor, largest_);
  return true;
}

void StepDoubling::begin_pair() {
  const Values& before = values();
  if (!past_.empty() && (past_.back().t != t_ || !same_bits(past_.back().values, before)))
    past_.clear();  // from before an event
  if (!past_.empty()) past_.pop_back();
  if (past_.size() > 2) past_.erase(past_.begin(), past_.end() - 2);
  past_.push_back({t_, before});
  own_.here.keep();
}

// h, or a smaller size with which the last pairs end at the limit.
double StepDoubling::fitting(double limit) const noexcept {
  const double left = limit - t_;
  if (left <= 2.02 * h_ && left <= 2 * plan_.largest) return left / 2;
  return left < 4 * h_ ? left / 4 : h_;
}

// Two steps from the present point, accepted only by the kernel.
StepDoubling::Tried StepDoubling::attempt(Stretch& found, const AroundSteps& around) {
  const double h = fitting(around.limit), middle = t_ + h;
  Tried tried{h, 2 * h < around.limit - t_ ? t_ + 2 * h : around.limit};
  if (!step(found, around, t_, tried.end)) return tried;
  tried.coarse = values();
  tried.means.coarse = means(plan_.compared.inputs, 2 * h);
  look_for_change(tried);
  if (tried.cut) return tried;
  found.from = t_;
  go_back();
  if (!step(found, around, t_, middle)) return tried;
  end(found, tried, middle);
  tried.middle = values();
  tried.means.fine = means(plan_.compared.inputs, h);
  if (!step(found, around, middle, tried.end)) return tried;
  end(found, tried, tried.end);
  const Values second = means(plan_.compared.inputs, h);
  for (std::size_t i = 0; i < second.size(); ++i) tried.means.fine[i] = (tried.means.fine[i] + second[i]) / 2;
  tried.error = comparison_.error(values(), tried.coarse, 2 * h);
  tried.changed = comparison_.changed({&past_.back().values, &tried.coarse, &tried.middle, &values()});
  look_for_jump(tried);
  return tried;
}

// False if the step fails, or if a part has ended it early; the outcome is ignored in the latter case.
bool StepDoubling::step(Stretch& found, const AroundSteps& around, double from, double to) {
  found.from = t_;
  if (!around.before(to)) return false;
  early_ = note(found, from, to, varied_.steps.attempt(from, to - from, to), around, around.limit);
  return found.outcome.ok() && !early_;
}

void StepDoubling::end(Stretch& found, Tried& tried, double t) {
  tried.rows.push_back(finish(found, t));
  tried.counts.push_back(varied_.steps.iterations());
}

// Whether a smaller step may avoid the failure.
bool StepDoubling::may_be_avoided(const Stretch& found) const {
  const Outcome& outcome = found.outcome;
  if (outcome.code == Code::coupling || outcome.code == Code::loop || outcome.code == Code::nonfinite) return true;
  if (varied_.steps.left_domain(outcome)) return true;
  const bool discarded = outcome.code == Code::fmi && outcome.fmi_status == fmi::discard;
  return discarded && !own_.ends(outcome, found.from);
}

double StepDoubling::usual(const Tried& tried) const noexcept {
  return first_ != 0.0 ? first_ : std::max(tried.h, usual_);
}

// Length of a pair in which a change may happen [s]; the error of its time is then a part of that of a usual pair.
double StepDoubling::brief(double usual) const noexcept {
  const double part = plan_.compared.tolerance * std::min(2 * usual / interval_, 1.0);
  return std::max(half * half * part * usual, 4 * smallest_);
}

// Looks for a change with a single step; if the step is too long for the change that it shows, the two halves are not
// needed.
void StepDoubling::look_for_change(Tried& tried) {
  if (rough_ || 2 * tried.h <= brief(usual(tried))) return;
  const Values& start = past_.back().values;
  tried.changed = comparison_.changed({&start, &tried.coarse});
  if (!tried.changed && jump_ && comparison_.moved(jump_->slot, start, tried.coarse) > half * jump_->by)
    tried.jumped = jump_->slot;
  tried.cut = tried.changed || tried.jumped;
}

void StepDoubling::look_for_jump(Tried& tried) {
  if (rough_ || leaps_ > many_changes) return;
  const auto [slot, by] = comparison_.bend(past_.back().values, tried.middle, values());
  if (!(by > comparison_.sharp())) return;
  tried.jumped = leaping_ = slot;
  jump_ = Jump{slot, by};
}

// Whether a signal that is not a real number changes in these steps or right after them, or a real signal jumps, and
// the steps are too long to locate that.
bool StepDoubling::has_unlocated_change(Stretch& found, const AroundSteps& around, Tried& tried) {
  const double usual = this->usual(tried), brief = this->brief(usual);
  bool changed = tried.changed || tried.jumped;
  if (!changed && tried.exact() && 2 * tried.h > brief)
    changed = change_ahead(found, around, tried.end, brief).has_value();
  if (!changed) return false;
  first_ = usual;
  until_ = tried.end;
  return 2 * tried.h > brief || !tried.exact();
}

// A signal that changes in a step of this size [s] after the end of a pair. The pair is then the cause, e.g. because a
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

void StepDoubling::accept(Stretch& found, const Tried& tried) {
  if (hopeless(tried)) return;
  if (const double error = comparison_.count(values(), tried.coarse, 2 * tried.h); error > worst_) {
    worst_ = error;
    worst_time_ = tried.end;
  }
  comparison_.accept(tried.middle);
  comparison_.accept(values());
  rows_.insert(rows_.end(), tried.rows.begin(), tried.rows.end());
  found.iterations.insert(found.iterations.end(), tried.counts.begin(), tried.counts.end());
  found.alone += static_cast<std::int64_t>(tried.counts.size());
  past_.push_back({tried.rows.front().front(), tried.middle});
  past_.push_back({tried.end, values()});
  t_ = tried.end;
  double located = 0.0;
  if (first_ != 0.0 && (tried.changed || tried.jumped)) located = std::exchange(first_, 0.0);
  if (t_ >= until_) first_ = 0.0;
  if (first_ == 0.0) jump_.reset();
  if (!tried.changed && !tried.jumped && first_ == 0.0) usual_ = std::max(tried.h, usual_ / 2);
  choose(tried, located);
}

// Chooses the next size. If a change was located by smaller steps, it is at least half of the size before.
void StepDoubling::choose(const Tried& tried, double located) {
  slow_ = std::clamp(slow_ + (varied_.stop - t_ > most_pairs * 2 * tried.h ? 1 : -1), 0, 2 * most_slow);
  const double factor = plan_.control.factor(tried.error, error_, plan_.compared.order);
  error_ = std::clamp(tried.error, 1e-4, 1.0);
  // Steps that were only shortened do not show that the chosen size is too large.
  const double chosen = tried.h < h_ ? std::max(tried.h * factor, h_) : tried.h * factor;
  h_ = std::min(chosen, first_ != 0.0 ? std::max(tried.h, (until_ - t_) / 4) : plan_.largest);
  h_ = std::max({h_, std::min(half * located, plan_.largest), smallest_});
  const bool may_show = slow() || comparison_.is_lenient(2 * tried.h);
  crawling_ = h_ < hardly * tried.h && first_ == 0.0 && may_show ? crawling_ + 1 : 0;
  if (crawling_ < most_crawling) return;
  crawling_ = 0;
  h_ = std::min(much_longer * h_, plan_.largest);
}

// Whether signals jump or change repeatedly, however small the steps are.
bool StepDoubling::hopeless(const Tried& tried) {
  changes_ = std::max(changes_ + (tried.changed ? 1.0 : -forgotten), 0.0);
  if (leaps_ <= many_changes) leaps_ = std::max(leaps_ + (tried.jumped ? 1.0 : -forgotten), 0.0);
  if (tried.changed && changes_ > many_changes) {
    no_size_ = {NoSize::Why::switching, t_, 2 * tried.h, *tried.changed};
    return true;
  }
  short_ = tried.h <= shortest * smallest_ ? short_ + 1 : 0;
  if (short_ > most_short) {
    const Slot worst = leaping_ != none ? leaping_ : comparison_.worst(values(), tried.coarse, 2 * tried.h);
    no_size_ = {NoSize::Why::switching, t_, 2 * tried.h, worst};
    return true;
  }
  jumps_ = tried.exact() ? 0 : jumps_ + 1;
  if (jumps_ <= isolated && !std::isnan(tried.error)) return false;
  no_size_ = {NoSize::Why::inexact, t_, smallest_, comparison_.worst(values(), tried.coarse, 2 * tried.h), tried.error};
  return true;
}

// Goes back to the communication point at which the pair starts.
void StepDoubling::go_back() {
  own_.here.go_back();
  for (const Point& point : past_) {
    std::ranges::copy(point.values, values().begin());
    varied_.kernel.history.accept(point.t);
  }
}

}  // namespace ssptool::runtime
