#include "step_comparison.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <utility>

namespace ssptool::runtime {

namespace {

// A signal without nominal value is ignored below this part of the largest signal (at most 1).
constexpr double least_size = 1e-9;
// The same limit for what may be noise of iterations instead of a jump.
constexpr double negligible = 1e-4;
// Rounding that other signals may cause in one without nominal value, as part of the largest signal (at most 1).
constexpr double passed_on = 1e-12;
// Rounding of a value in an FMU that computes with it, relative to the value.
constexpr double rounding = 4 * std::numeric_limits<double>::epsilon();
// Allowed error of trial steps, relative to the change of signals since the start.
constexpr double rough = 0.1;
// Jumps smaller than this part of a signal are left to error control.
constexpr double sharpest = 0.1;
// Errors of a signal are at least relative to this part of its foreseen range, or to its range in the first half of the
// interval: below it, they may grow with the signal.
constexpr double least_yet = 1e-3;
// Minimum part of the allowed error of a run that each pair may use, however short it is. Rounding is then negligible
// where something begins to move, and the errors of a hundred thousand such pairs add up to the allowed error.
constexpr double least_part = 1e-5;
// Part of the interval in which ranges that are not foreseen are unreliable.
constexpr double early_part = 0.01;
// Factor of noise after each pair, so that it is estimated again.
constexpr double fading = 0.95;
// The same for noise per second; and its factor when it is estimated.
constexpr double slowly_fading = 0.995, margin = 4.0;

}  // namespace

StepComparison::StepComparison(const PlannedComparison& plan, const Values& start, double interval)
    : plan_(plan), interval_(interval) {
  for (const Slot slot : plan.reals) courses_.push_back(starting(start[slot]));
  for (const Slot slot : plan.inputs) of_inputs_.push_back(starting(start[slot]));
}

StepComparison::Course StepComparison::starting(double value) noexcept {
  return {value, value, value, std::abs(value)};
}

void StepComparison::go_on(Course& course, double value) noexcept {
  course.least = std::fmin(course.least, value);
  course.most = std::fmax(course.most, value);
  course.greatest = std::fmax(course.greatest, std::abs(value));
  if (std::isfinite(value)) course.way += std::abs(value - std::exchange(course.last, value));
}

void StepComparison::pass_half() noexcept {
  for (Course& one : courses_) one.half = one.most - one.least;
}

void StepComparison::foresee(const Values& start, double part) {
  rough_ = false;
  const auto begin_anew = [&](std::vector<Course>& courses, const std::vector<Slot>& slots) {
    for (std::size_t i = 0; i < courses.size(); ++i) {
      const Course tried = std::exchange(courses[i], starting(start[slots[i]]));
      if (!(part > 0.0)) continue;
      courses[i].foreseen = tried.most - tried.least;
      courses[i].foreseen_way = tried.way / part;
      courses[i].half = tried.half;
    }
  };
  begin_anew(courses_, plan_.reals);
  begin_anew(of_inputs_, plan_.inputs);
}

double StepComparison::size(std::size_t real, double value) const noexcept {
  const Course& course = courses_[real];
  const double range = std::fmax(course.most, value) - std::fmin(course.least, value);
  double yet = std::fmax(course.greatest, std::abs(value));
  if (std::isfinite(course.foreseen))
    yet = std::clamp(yet, std::max(least_yet * course.foreseen, course.half), course.foreseen);
  const double size = rough_ ? range : std::fmax(range, yet);
  return plan_.nominal[real] ? std::fmax(size, std::abs(*plan_.nominal[real])) : size;
}

double StepComparison::largest(const Values& values) const noexcept {
  double found = 0.0;
  for (std::size_t i = 0; i < courses_.size(); ++i) {
    const double one = size(i, values[plan_.reals[i]]);
    if (std::isfinite(one)) found = std::max(found, one);
  }
  return found;
}

double StepComparison::part(double over) const noexcept { return std::clamp(over / interval_, least_part, 1.0); }

std::vector<double> StepComparison::errors(const Values& fine, const Values& coarse, double over,
                                           bool with_noise) const {
  const double most = std::min(largest(fine), 1.0), least = least_size * most;
  const double part = rough_ ? rough : plan_.tolerance * this->part(over);
  std::vector<double> found;
  for (std::size_t i = 0; i < courses_.size(); ++i) {
    const double one = fine[plan_.reals[i]], other = coarse[plan_.reals[i]];
    const double rounded = rounding * std::fmax(std::abs(one), std::abs(other));
    const double allowed = part * std::fmax(size(i, one), plan_.nominal[i] ? 0.0 : least);
    const double apart = plan_.share * std::abs(one - other);
    const double others = plan_.nominal[i] ? 0.0 : passed_on * most;
    const double noise = with_noise ? std::max(courses_[i].noise, courses_[i].rate * over) : 0.0;
    const double not_less = std::max({rounded, others, noise, std::numeric_limits<double>::min()});
    found.push_back(apart / std::fmax(allowed, not_less));
  }
  return found;
}

double StepComparison::error(const Values& fine, const Values& coarse, double over) const {
  double most = 0.0;
  for (const double error : errors(fine, coarse, over)) {
    if (std::isnan(error)) return error;
    most = std::max(most, error);
  }
  return most;
}

std::pair<Slot, double> StepComparison::error(const Means& means, double elapsed) const {
  std::pair<Slot, double> most{none, 0.0};
  if (rough_) return most;
  for (std::size_t i = 0; i < of_inputs_.size(); ++i) {
    const double apart = std::abs(means.fine[i] - means.coarse[i]);
    if (!(apart > rounding * std::abs(means.fine[i]))) continue;
    const double error = apart * error_of_mean(i, elapsed);
    if (error > most.second) most = {plan_.inputs[i], error};
  }
  return most;
}

// The error counts in proportion to the total way of the input, because states integrate it. The way back and forth so
// far is expected to continue; an input that has not turned yet may stay where it is.
double StepComparison::error_of_mean(std::size_t input, double elapsed) const {
  const Course& course = of_inputs_[input];
  const double range = course.most - course.least;
  const double yet = (elapsed < early_part * interval_ ? least_yet : least_size) * course.greatest;
  const double size = std::fmax(range, std::isfinite(course.foreseen) ? course.foreseen : yet);
  if (!(size > 0.0)) return 0.0;
  return plan_.share * std::clamp(way(course, elapsed) / size, 1.0, plan_.ways) / (plan_.tolerance * size);
}

double StepComparison::way(const Course& course, double elapsed) const noexcept {
  if (std::isfinite(course.foreseen)) return std::fmax(course.way, course.foreseen_way);
  const double range = course.most - course.least;
  return range + std::fmax(course.way - range, 0.0) * interval_ / elapsed;
}

double StepComparison::steepness(std::size_t input, double slope, double elapsed) const noexcept {
  const double most = way(of_inputs_[input], elapsed);
  return most > 0.0 ? std::abs(slope) * interval_ / most : 0.0;
}

std::pair<Slot, double> StepComparison::delayed(const Values& before, const Values& after, double late) const {
  std::pair<Slot, double> most{none, 0.0};
  for (std::size_t i = 0; i < courses_.size(); ++i) {
    const double size = courses_[i].most - courses_[i].least, apart = late * std::abs(after[i] - before[i]);
    if (size > 0.0 && apart > most.second * plan_.tolerance * size)
      most = {plan_.reals[i], apart / (plan_.tolerance * size)};
  }
  return most;
}

Slot StepComparison::worst(const Values& fine, const Values& coarse, double over) const {
  const std::vector<double> found = errors(fine, coarse, over);
  auto worst = std::ranges::find_if(found, [](double error) { return std::isnan(error); });
  if (worst == found.end()) worst = std::ranges::max_element(found);
  return plan_.reals[static_cast<std::size_t>(worst - found.begin())];
}

std::optional<Slot> StepComparison::changed(std::initializer_list<const Values*> instants) const {
  const Values& first = **instants.begin();
  const auto bits = [](double value) { return std::bit_cast<std::int64_t>(value); };
  for (const Values* const other : instants)
    for (const Slot slot : plan_.others)
      if (bits((*other)[slot]) != bits(first[slot])) return slot;
  return {};
}

std::pair<Slot, double> StepComparison::bend(const Values& start, const Values& middle, const Values& end) const {
  const double least = negligible * std::min(largest(end), 1.0);
  std::pair<Slot, double> found{none, 0.0};
  for (std::size_t i = 0; i < courses_.size(); ++i) {
    const Slot slot = plan_.reals[i];
    const double by = std::abs((end[slot] - middle[slot]) - (middle[slot] - start[slot]));
    const double of = std::max({size(i, end[slot]), least, negligible * negligible * std::abs(end[slot])});
    if (by > found.second * of) found = {slot, by / of};
  }
  return found;
}

double StepComparison::sharp() const noexcept { return std::min(std::sqrt(plan_.tolerance), sharpest); }

double StepComparison::moved(Slot slot, const Values& start, const Values& end) const {
  const auto real = static_cast<std::size_t>(std::ranges::find(plan_.reals, slot) - plan_.reals.begin());
  const double of = std::max(size(real, end[slot]), std::numeric_limits<double>::min());
  return std::abs(end[slot] - start[slot]) / of;
}

void StepComparison::accept(const Values& values) {
  for (std::size_t i = 0; i < courses_.size(); ++i) {
    go_on(courses_[i], values[plan_.reals[i]]);
    courses_[i].noise *= fading;
    courses_[i].rate *= slowly_fading;
  }
  for (std::size_t i = 0; i < of_inputs_.size(); ++i) go_on(of_inputs_[i], values[plan_.inputs[i]]);
}

std::vector<double> StepComparison::sizes() const {
  std::vector<double> found;
  for (const std::vector<Course>* const courses : {&courses_, &of_inputs_})
    for (const Course& one : *courses)
      for (const double number : {one.least, one.most, one.last, one.greatest, one.way, one.foreseen, one.foreseen_way,
                                  one.noise, one.half, one.rate, one.gathered, one.counted})
        found.push_back(number);
  return found;
}

bool StepComparison::fits(const std::vector<double>& sizes) const noexcept {
  return sizes.size() == numbers * (courses_.size() + of_inputs_.size());
}

void StepComparison::set_sizes(const std::vector<double>& sizes) {
  auto next = sizes.begin();
  for (std::vector<Course>* const courses : {&courses_, &of_inputs_})
    for (Course& one : *courses)
      for (double* const number : {&one.least, &one.most, &one.last, &one.greatest, &one.way, &one.foreseen,
                                   &one.foreseen_way, &one.noise, &one.half, &one.rate, &one.gathered, &one.counted})
        *number = *next++;
}

StepComparison::Values StepComparison::rates(const Values& fine, const Values& coarse, double over) const {
  Values found;
  for (const Slot slot : plan_.reals) found.push_back(plan_.share * std::abs(fine[slot] - coarse[slot]) / over);
  return found;
}

void StepComparison::gather(const Values& rates, bool anew) noexcept {
  for (std::size_t i = 0; i < courses_.size(); ++i)
    courses_[i].gathered = anew ? rates[i] : std::fmin(courses_[i].gathered, rates[i]);
}

void StepComparison::expect_gathered() noexcept {
  for (Course& one : courses_) one.rate = std::fmax(one.rate, margin * one.gathered);
}

bool StepComparison::is_lenient(double over) const noexcept {
  return over < least_part * interval_ ||
         std::ranges::any_of(courses_, [](const Course& one) { return one.rate > 0.0; });
}

double StepComparison::count(const Values& fine, const Values& coarse, double over) {
  const std::vector<double> errors = this->errors(fine, coarse, over, false);
  double most = 0.0;
  for (std::size_t i = 0; i < courses_.size(); ++i) {
    if (!(errors[i] > 1.0)) continue;
    courses_[i].counted += plan_.share * std::abs(fine[plan_.reals[i]] - coarse[plan_.reals[i]]);
    most = std::max(most, errors[i]);
  }
  return most;
}

std::pair<Slot, double> StepComparison::counted() const {
  std::pair<Slot, double> most{none, 0.0};
  for (std::size_t i = 0; i < courses_.size(); ++i) {
    const double error = courses_[i].counted / (plan_.tolerance * size(i, courses_[i].last));
    if (error > most.second) most = {plan_.reals[i], error};
  }
  return most;
}

void StepComparison::tolerate(const Values& fine, const Values& coarse, double over) {
  const std::vector<double> errors = this->errors(fine, coarse, over);
  const double most = plan_.tolerance * largest(fine);
  for (std::size_t i = 0; i < courses_.size(); ++i) {
    const double one = fine[plan_.reals[i]], apart = plan_.share * std::abs(one - coarse[plan_.reals[i]]);
    const double limit = std::fmax(most, std::sqrt(plan_.tolerance) * size(i, one));
    if (errors[i] > 1.0 && apart <= limit) courses_[i].noise = 4 * apart;
  }
}

}  // namespace ssptool::runtime
