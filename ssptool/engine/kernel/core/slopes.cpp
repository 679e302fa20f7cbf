#include "slopes.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace ssptool {

namespace {

// What tells an integrator that it cannot go on.
constexpr int gives_up = -1;

}  // namespace

Slopes::Slopes(SlotValues& slot_values, Schedules& schedules, Index schedule, std::vector<ContinuousPart> parts,
               std::vector<Slot> inputs, Numbers* numbers)
    : slot_values_(slot_values),
      schedules_(schedules),
      schedule_(schedule),
      parts_(std::move(parts)),
      inputs_(std::move(inputs)),
      numbers_(numbers) {
  for (const Slot slot : inputs_) slot_values_.check(slot);
  for (const ContinuousPart& part : parts_) size_ += part.count;
}

void Slopes::input_polynomials(double start, std::span<const double> value, std::span<const double> first,
                               std::span<const double> second) {
  // No polynomials at all are some of no values.
  for (const auto& one : {value, first, second})
    if (one.size() != value.size() || (one.size() != inputs_.size() && !one.empty()))
      throw std::invalid_argument("as many values as inputs are needed");
  polynomials_.start = start;
  polynomials_.value.assign(value.begin(), value.end());
  polynomials_.first.assign(first.begin(), first.end());
  polynomials_.second.assign(second.begin(), second.end());
}

int Slopes::evaluate(double t, void* x, void* slopes, void* own) noexcept {
  auto& self = *static_cast<Slopes*>(own);
  if (self.fill(self.origin_ + t, self.numbers_(x), self.numbers_(slopes))) return 0;
  return self.rest_ == nullptr ? gives_up : self.rest_(t, x, slopes, own);
}

Trouble Slopes::take_trouble() noexcept { return std::exchange(trouble_, {}); }

bool Slopes::fill(double t, const double* x, double* slopes) noexcept {
  if (!move(t, x)) return false;
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const ContinuousPart& part = parts_[i];
    if (part.count == 0) continue;
    const int status = part.get_slopes(part.component, slopes + part.first, part.count);
    if (status > fmi::warning) return stop(Stage::slopes, i, status);
  }
  // Without states there is one that is constant.
  if (size_ == 0) slopes[0] = 0.0;
  const bool finite = std::all_of(slopes, slopes + size_, [](double slope) { return std::isfinite(slope); });
  return finite || stop(Stage::finite, 0, 0);
}

bool Slopes::move(double t, const double* x) noexcept {
  std::vector<double>& values = slot_values_.values;
  for (std::size_t i = 0; i < polynomials_.value.size(); ++i) values[inputs_[i]] = polynomials_.at(i, t);
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const ContinuousPart& part = parts_[i];
    int status = part.set_time(part.component, t);
    if (status > fmi::warning) return stop(Stage::time, i, status);
    if (part.count == 0) continue;
    status = part.set_states(part.component, x + part.first, part.count);
    if (status > fmi::warning) return stop(Stage::states, i, status);
  }
  const Outcome outcome = schedules_.evaluate(schedule_);
  if (outcome.ok()) return true;
  trouble_ = {Stage::schedule, 0, 0, outcome};
  return false;
}

bool Slopes::stop(Stage stage, std::size_t part, int status) noexcept {
  trouble_ = {stage, part, status, {}};
  return false;
}

}  // namespace ssptool
