#include "step_comparison.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace ssptool::runtime {

namespace {

// Share of the largest signal, or of 1 if that is less: a signal without nominal value is at least that large.
constexpr double negligible = 1e-4;

double largest_of(const std::vector<double>& sizes) {
  double found = 0.0;
  for (const double size : sizes)
    if (std::isfinite(size)) found = std::max(found, size);
  return found;
}

}  // namespace

StepComparison::StepComparison(const PlannedComparison& plan, const Values& start) : plan_(plan) {
  for (std::size_t i = 0; i < plan.reals.size(); ++i)
    sizes_.push_back(plan.nominal[i] ? *plan.nominal[i] : std::abs(start[plan.reals[i]]));
}

std::vector<double> StepComparison::errors(const Values& fine, const Values& coarse) const {
  std::vector<double> sizes(sizes_.size()), found(sizes_.size());
  for (std::size_t i = 0; i < sizes.size(); ++i) sizes[i] = std::fmax(std::abs(fine[plan_.reals[i]]), sizes_[i]);
  const double least = negligible * std::min(largest_of(sizes), 1 / negligible);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const Slot slot = plan_.reals[i];
    const double size = plan_.nominal[i] ? sizes[i] : std::fmax(sizes[i], least);
    const double allowed = std::fmax(plan_.tolerance * size, std::numeric_limits<double>::min());
    found[i] = std::abs(fine[slot] - coarse[slot]) / (allowed * ((1 << plan_.order) - 1));
  }
  return found;
}

double StepComparison::error(const Values& fine, const Values& coarse) const {
  double most = 0.0;
  for (const double error : errors(fine, coarse)) {
    if (std::isnan(error)) return error;
    most = std::max(most, error);
  }
  return most;
}

Slot StepComparison::worst(const Values& fine, const Values& coarse) const {
  const std::vector<double> found = errors(fine, coarse);
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

void StepComparison::accept(const Values& values) {
  for (std::size_t i = 0; i < sizes_.size(); ++i)
    if (!plan_.nominal[i]) sizes_[i] = std::fmax(std::abs(values[plan_.reals[i]]), sizes_[i]);
}

void StepComparison::tolerate(const Values& fine, const Values& coarse) {
  const double largest = largest_of(sizes_);
  for (std::size_t i = 0; i < sizes_.size(); ++i) {
    const double noise = std::abs(fine[plan_.reals[i]] - coarse[plan_.reals[i]]) / plan_.tolerance;
    if (!plan_.nominal[i] && std::isfinite(noise) && noise <= largest) sizes_[i] = std::fmax(sizes_[i], 2 * noise);
  }
}

}  // namespace ssptool::runtime
