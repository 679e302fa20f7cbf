#include "convergence.hpp"

#include <algorithm>
#include <cmath>

#include "calls.hpp"

namespace ssptool {

namespace {

// convergence.py says of each what it is.
constexpr double rounding = 4.0 * std::numeric_limits<double>::epsilon();
constexpr double growth_limit = 1e6;
constexpr double fall = 0.5;
constexpr double noise_margin = 10.0;
constexpr double misses_within = 50.0;

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
  worst_ = count_ = 0;
  std::fill(best_.begin(), best_.end(), 0.0);
  std::fill(change_.begin(), change_.end(), std::numeric_limits<double>::quiet_NaN());
  judged_.clear();
}

double Agreement::excess(std::span<const double> x, std::span<const double> found) const noexcept {
  Largest most;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double allowed = limit_.absolute + limit_.relative * std::max(std::abs(x[i]), nominal_[i]);
    most.add(std::abs(found[i] - x[i]) / allowed, i);
  }
  return most.value;
}

bool Agreement::reached(std::span<const double> x, std::span<const double> found) noexcept {
  const double over = excess(x, found);
  if (over <= 1.0 || same(x, found)) return true;
  Largest change;
  for (std::size_t i = 0; i < x.size(); ++i)
    change.add(std::abs(found[i] - x[i]) / std::max(std::abs(x[i]), nominal_[i]), i);
  remember(change, over, x, found);
  noisy_ = last_ <= floor_;
  return noisy_;
}

void Agreement::remember(const Largest& change, double excess, std::span<const double> x,
                         std::span<const double> found) noexcept {
  last_ = change.value;
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
  return !(size <= growth_limit * smallest_size_);
}

bool Agreement::is_noise() const noexcept {
  return noise_ > 0.0 && least_ <= std::min(noise_margin * noise_, noise_limit);
}

bool Agreement::stagnates() const noexcept {
  return count_ > window && least_ > fall * leasts_[count_ % leasts_.size()];
}

double Agreement::size_of_best(std::size_t i) const noexcept { return std::max(std::abs(best_[i] / nominal_[i]), 1.0); }

void Agreement::move_best(int place, std::span<double> x) const noexcept {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = best_[i] / nominal_[i] + place * least_ * size_of_best(i);
}

// Of all unknowns the largest, from the fourth differences of what came out.
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
    most.add(std::sqrt(sum / 3.0) / std::sqrt(70.0), i);
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
  if (damped++ == 0) damped_from = t;
  failed_damped = 0;
}

void AcceptedSteps::note_unrepeated(double t) noexcept {
  if (unrepeated++ == 0) unrepeated_from = t;
  ++failed_damped;
}

}  // namespace ssptool
