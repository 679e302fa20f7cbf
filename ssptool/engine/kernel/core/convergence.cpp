#include "convergence.hpp"

#include <algorithm>
#include <cmath>

#include "calls.hpp"
#include "dense.hpp"

namespace ssptool {

namespace {

// Relative difference up to which values are considered equal: the rounding of a few operations.
constexpr double rounding = 4.0 * std::numeric_limits<double>::epsilon();
// If differences of iterates grow by this factor over an earlier value, the iteration is considered divergent.
constexpr double growth_limit = 1e6;
// The change has stopped decreasing if it does not fall below this fraction of its minimum in a number of consecutive
// iterations.
constexpr double fall = 0.5;
// Largest remaining change that noise explains, as a multiple of the noise; noise also moves iterates away from the
// solution.
constexpr double noise_margin = 10.0;
// Standard deviation of a fourth difference (weights 1, -4, 6, -4, 1) of independent values with standard deviation 1.
// For a smooth response, fourth differences decrease with the fourth power of the distance, however steep and curved it
// is.
const double fourth_difference = std::sqrt(70.0);
// Number of macro steps in which plain iteration may fail a few times before it is skipped.
constexpr double misses_within = 50.0;
// Steps that may be done differently than planned: this number, or one in `unplanned_share`.
constexpr std::int64_t few_unplanned = 10;
constexpr double unplanned_share = 100.0;

bool same(std::span<const double> x, std::span<const double> found) noexcept {
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!(std::abs(found[i] - x[i]) <= rounding * std::abs(x[i]))) return false;
  return true;
}

}  // namespace

void Agreement::begin(double floor) noexcept {
  floor_ = floor;
  noisy_ = probed_ = grows_ = false;
  first_ = last_ = least_ = first_size_ = smallest_size_ = infinity;
  noise_ = 0.0;
  worst_ = last_worst_ = count_ = judgements_ = 0;
  std::fill(best_.begin(), best_.end(), 0.0);
  std::fill(change_.begin(), change_.end(), std::numeric_limits<double>::quiet_NaN());
  judged_.clear();
}

double Agreement::excess(std::span<const double> x, std::span<const double> found) noexcept {
  ++judgements_;
  Largest most;
  if (fixed_count_ == 0) {
    for (std::size_t k = 0; k < measures_.size(); ++k) most.add(excess(measures_[k], x, found), k);
    return most.value;
  }
  for (std::size_t i = 0; i < x.size(); ++i)
    if (!std::isfinite(found[i] - x[i])) return std::numeric_limits<double>::quiet_NaN();
  return static_cast<double>(fixed_count_) / static_cast<double>(judgements_);
}

double Agreement::excess(const MeasureLimit& measure, std::span<const double> x,
                         std::span<const double> found) noexcept {
  if (measure.kind == MeasureKind::residual_relative) return residual_excess(measure.limit, x, found);
  const bool relative = measure.kind == MeasureKind::relative;
  Largest most;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double allowed = relative ? measure.limit * std::max(std::abs(x[i]), nominal_[i]) : measure.limit;
    most.add(std::abs(found[i] - x[i]) / allowed, i);
  }
  return most.value;
}

double Agreement::residual_excess(double limit, std::span<const double> x, std::span<const double> found) noexcept {
  for (std::size_t i = 0; i < x.size(); ++i) scaled_[i] = (found[i] - x[i]) / nominal_[i];
  const double size = norm(scaled_);
  if (judgements_ == 1) first_norm_ = size;
  // An exact first guess, for example at equilibrium, cannot be improved.
  for (std::size_t i = 0; i < x.size(); ++i) scaled_[i] = std::max(std::abs(x[i]) / nominal_[i], 1.0);
  return size / std::max(limit * first_norm_, rounding * norm(scaled_));
}

bool Agreement::reached(std::span<const double> x, std::span<const double> found) noexcept {
  const double over = excess(x, found);
  last_excess_ = over;
  const bool done = over <= 1.0;
  if (fixed_count_ == 0 && (done || same(x, found))) return true;
  Largest change;
  for (std::size_t i = 0; i < x.size(); ++i)
    change.add(std::abs(found[i] - x[i]) / std::max(std::abs(x[i]), nominal_[i]), i);
  remember(change, over, x, found);
  noisy_ = fixed_count_ == 0 && last_ <= floor_;
  return noisy_ || done;
}

void Agreement::remember(const Largest& change, double excess, std::span<const double> x,
                         std::span<const double> found) noexcept {
  last_ = change.value;
  last_worst_ = change.place;
  if (judged_.size() < 2 * judged_room) {
    judged_.push_back(last_);
    judged_.push_back(excess);
  }
  if (count_ == 0) first_ = last_;
  if (!(last_ >= least_)) {
    least_ = last_;
    worst_ = change.place;
    for (std::size_t i = 0; i < x.size(); ++i) {
      best_[i] = x[i];
      change_[i] = found[i] - x[i];
    }
  }
  leasts_[count_++ % leasts_.size()] = least_;
}

bool Agreement::lost(std::span<const double> x, std::span<const double> found) noexcept {
  Largest most;
  for (std::size_t i = 0; i < x.size(); ++i) most.add(std::abs(found[i] - x[i]) / nominal_[i], i);
  const double size = most.value;
  if (smallest_size_ == infinity) first_size_ = size;
  grows_ = !(size <= first_size_);
  smallest_size_ = std::min(smallest_size_, size);
  return fixed_count_ == 0 && !(size <= growth_limit * smallest_size_);
}

bool Agreement::is_explained() const noexcept { return noise_ > 0.0 && least_ <= noise_margin * noise_; }

bool Agreement::is_noise() const noexcept { return is_explained() && least_ <= noise_limit; }

bool Agreement::stagnates() const noexcept {
  return fixed_count_ == 0 && count_ > window && least_ > fall * leasts_[count_ % leasts_.size()];
}

double Agreement::size_of_best(std::size_t i) const noexcept { return std::max(std::abs(best_[i] / nominal_[i]), 1.0); }

void Agreement::move_best(int place, std::span<double> x) const noexcept {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = best_[i] / nominal_[i] + place * least_ * size_of_best(i);
}

// Largest scatter of all unknowns, from fourth differences of the results.
double Agreement::scatter() const noexcept {
  const std::size_t m = nominal_.size();
  Largest most;
  for (std::size_t i = 0; i < m; ++i) {
    std::array<double, probed_places.size()> found;
    for (std::size_t k = 0; k < found.size(); ++k) found[k] = probes_[k * m + i];
    for (std::size_t left = found.size() - 1; left > 2; --left)
      for (std::size_t k = 0; k < left; ++k) found[k] = found[k + 1] - found[k];
    double sum = 0.0;
    for (std::size_t k = 0; k < 3; ++k) {
      const double part = found[k] / size_of_best(i);
      sum += part * part;
    }
    most.add(std::sqrt(sum / 3.0) / fourth_difference, i);
  }
  return std::isfinite(most.value) ? most.value : 0.0;
}

bool PlainIterationSwitch::goes_on_plainly(std::int64_t iteration, double t, double h) noexcept {
  if (!given_up_ && iteration == plain_iterations_) {
    add_miss(t);
    const bool within = t - misses_.front() < misses_within * h;
    given_up_ = misses_.size() == room && within;
    return false;
  }
  return !given_up_ && iteration < plain_iterations_;
}

void PlainIterationSwitch::add_miss(double t) noexcept {
  if (misses_.size() == room) misses_.erase(misses_.begin());
  misses_.push_back(t);
}

void PlainIterationSwitch::go_on(bool given_up, std::span<const double> misses) noexcept {
  given_up_ = given_up;
  misses_.clear();
  for (const double t : misses) add_miss(t);
}

void AcceptedSteps::note_noise(double t, double largest, std::size_t unknown) noexcept {
  ++noisy;
  if (!(largest > level)) return;
  level = largest;
  signal = static_cast<std::int64_t>(unknown);
  time = t;
}

void AcceptedSteps::note_damped(double t) noexcept {
  ++unplanned;
  if (damped++ == 0) damped_from = t;
  failed_damped = 0;
}

void AcceptedSteps::note_newton(double t) noexcept {
  if (by_newton++ == 0) by_newton_from = t;
}

void AcceptedSteps::note_end(double t) noexcept {
  if (ends++ == 0) ends_from = t;
}

void AcceptedSteps::note_unconverged(double t, double largest, std::size_t unknown, bool growing) noexcept {
  ++unconverged;
  grows |= growing;
  if (!(largest > residual)) return;
  residual = largest;
  open_signal = static_cast<std::int64_t>(unknown);
  open_time = t;
}

bool AcceptedSteps::too_many_unplanned() const noexcept {
  return unplanned >= few_unplanned && unplanned_share * static_cast<double>(unplanned) > static_cast<double>(steps);
}

void AcceptedSteps::note_unrepeated(double t) noexcept {
  ++unplanned;
  if (unrepeated++ == 0) unrepeated_from = t;
  ++failed_damped;
}

}  // namespace ssptool
