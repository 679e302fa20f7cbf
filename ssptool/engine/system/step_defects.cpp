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

}  // namespace

StepDefects::StepDefects(const PlannedSizes& plan, const VariedSteps& varied)
    : VaryingSteps(varied, plan.largest),
      plan_(plan),
      comparison_(plan.compared, values(), varied.stop - varied.start),
      smallest_(plan.smallest * (varied.stop - varied.start)) {
  restart();
}

void StepDefects::restart() {
  h_ = std::max(std::min(plan_.first, largest_), smallest_);
  error_ = 1.0;
  slopes_.clear();
}

SavedSizes StepDefects::save() const {
  SavedSizes saved{{t_, h_, error_}, comparison_.sizes(), {}};
  if (!slopes_.empty()) saved.past.emplace_back(t_, slopes_);
  return saved;
}

void StepDefects::go_on(const SavedSizes& saved) {
  require_same_steps(saved.numbers.size() == 3 && comparison_.fits(saved.of_each) && saved.past.size() <= 1);
  t_ = saved.numbers[0];
  h_ = saved.numbers[1];
  error_ = saved.numbers[2];
  comparison_.set_sizes(saved.of_each);
  slopes_.clear();
  if (!saved.past.empty()) slopes_ = saved.past.front().second;
  require_same_steps(slopes_.empty() || slopes_.size() == plan_.compared.inputs.size());
}

std::optional<double> StepDefects::next(Stretch& found, const AroundSteps& around) {
  found.from = found.to = t_;
  const double t = t_, to = end(around.limit), h = to - t;
  const Values before = values();
  if (!around.before(to)) return {};
  const std::optional<double> early = note(found, t, to, varied_.steps.attempt(t, h, to), around, to);
  if (early || !found.outcome.ok()) return early;
  rows_.push_back(finish(found, to));
  comparison_.accept(values());
  t_ = to;
  choose(h, before);
  if (comparison_.changed({&before, &values()})) restart();
  return {};
}

// The last two steps share the remaining time equally.
double StepDefects::end(double limit) const noexcept {
  const double left = limit - t_;
  if (left <= 1.01 * h_ && left <= largest_) return limit;
  return t_ + (left < 2 * h_ ? left / 2 : h_);
}

// The error of an input's mean is that of a line between its values at both ends; if the input bends, this line has an
// error itself.
void StepDefects::choose(double h, const Values& before) {
  const std::vector<Slot>& inputs = plan_.compared.inputs;
  StepComparison::Means means{this->means(inputs, h), {}};
  Values slopes;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const double begin = before[inputs[i]], end = values()[inputs[i]];
    slopes.push_back((end - begin) / h);
    const double bent = slopes_.empty() ? 0.0 : of_line * h * std::abs(slopes[i] - slopes_[i]);
    const double missed = std::abs((begin + end) / 2 - means.coarse[i]);
    means.fine.push_back(means.coarse[i] + std::max(missed, bent));
  }
  slopes_ = std::move(slopes);
  const double error = std::max(comparison_.error(means, t_ - varied_.start), least_defect);
  const double chosen = h * plan_.control.factor(error, error_, plan_.compared.order);
  // A step that was only shortened is no reason for a smaller size.
  h_ = std::clamp(h < h_ && error <= 1.0 ? std::max(chosen, h_) : chosen, smallest_, std::max(largest_, smallest_));
  error_ = error;
}

}  // namespace ssptool::runtime
