// Macro steps of varying size in a run, and the events and jumps between them.
#include "varying_steps.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "system.hpp"

namespace ssptool::runtime {

void MissedPart::add(double missed, double t) noexcept {
  sum += missed;
  if (missed > largest) *this = {sum, missed, t};
}

double SizeControl::factor(double error, double before, int power) const noexcept {
  if (error <= 0.0) return largest_factor;
  if (std::isnan(error)) return least_factor;
  const double found = std::pow(error, -(integral + proportional) / power) * std::pow(before, proportional / power);
  return std::clamp(safety * found, least_factor, largest_factor);
}

double SizeControl::again(double error, int power) const noexcept {
  if (error <= 0.0) return largest_factor;
  if (std::isnan(error)) return least_factor;
  return std::clamp(safety * std::pow(error, -1.0 / power), least_factor, largest_factor);
}

VaryingSteps::VaryingSteps(const VariedSteps& varied, double largest)
    : varied_(varied), largest_(largest), t_(varied.start), h_(first_size()) {}

double VaryingSteps::first_size() const noexcept { return std::min(varied_.step, largest_); }

void VaryingSteps::require_same_steps(bool same) {
  if (!same) throw std::runtime_error("the state belongs to other steps");
}

void VaryingSteps::hand_out(std::span<double> row) {
  std::ranges::copy(rows_.front(), row.begin());
  rows_.pop_front();
}

bool VaryingSteps::note(Stretch& found, double from, double to, const Outcome& outcome) {
  found.from = from;
  found.to = to;
  found.outcome = outcome;
  found.rescuing = varied_.steps.rescue_failed();
  return outcome.ok();
}

std::optional<double> VaryingSteps::note(Stretch& found, double from, double to, const Outcome& outcome,
                                         const AroundSteps& around, double limit) {
  note(found, from, to, outcome);
  const std::optional<double> early = around.after(to, limit);
  if (early) found.outcome = {};
  return early;
}

std::vector<double> VaryingSteps::finish(Stretch& found, double t) {
  varied_.kernel.history.accept(t);
  std::vector<double> row(varied_.kernel.recorder.width());
  const Outcome outcome = varied_.kernel.recorder.record(t, row);
  if (!outcome.ok() && !found.unobserved) found.unobserved.emplace(outcome, t);
  return row;
}

std::vector<double> VaryingSteps::means(const std::vector<Slot>& inputs, double h) const {
  const SlotValues& slots = varied_.kernel.slot_values;
  std::vector<double> found;
  for (const Slot slot : inputs)
    found.push_back(slots.input_value[slot] +
                    h * (slots.input_rates[slot] / 2 + h / 6 * slots.input_rates[slots.size() + slot]));
  return found;
}

VariedSteps System::varied_steps() { return {*kernel_, *steps_, plan_.start, plan_.stop, plan_.step}; }

std::unique_ptr<VaryingSteps> System::double_steps(const PlannedSizes& plan) {
  const auto ends = [this](const Outcome& outcome, double t) {
    try {
      return end_of(outcome, t).has_value();
    } catch (const std::invalid_argument&) {  // its library does not have the function that tells this
      return false;
    }
  };
  DoubledSteps own{*checkpoint_, std::make_unique<Checkpoint>(parts_, component_.get()), ends};
  return std::make_unique<StepDoubling>(plan, varied_steps(), std::move(own));
}

std::unique_ptr<VaryingSteps> System::steps_by_energy(const PlannedEnergy& plan) {
  return std::make_unique<StepEnergy>(plan, varied_steps());
}

std::unique_ptr<VaryingSteps> System::steps_by_defects(const PlannedSizes& plan) {
  return std::make_unique<StepDefects>(plan, varied_steps());
}

bool System::finished(const VaryingSteps& steps) const { return !steps.waiting() && finished(); }

void System::run(VaryingSteps& steps, Stretch& found, double limit, std::span<double> rows) {
  go_along(found, rows, [&](std::span<double> left) {
    if (steps.no_size() || finished(steps)) return false;
    if (steps.waiting()) {
      steps.hand_out(left);
      now_ = left.front();
      ++found.steps;
      return true;
    }
    if (steps_end_at_events() && event_due()) {
      row_of_event(found, left);
      return true;
    }
    if (now_ >= end_of_segment() || (time_event_of_ode() && jump_due())) {
      row_of_jump(found, left);
      steps.restart();
      return true;
    }
    if (time_event_of_ode()) {
      row_of_ode(found, left);
      return true;
    }
    if (now_ >= limit - grid().moment()) return false;
    const double until = std::min({limit, plan_.stop, next_stop()});
    const double horizon =
        steps_end_at_events() ? -std::numeric_limits<double>::infinity() : std::min(plan_.stop, next_stop());
    const double smooth = std::min({plan_.stop, next_stop(), steps_end_at_events() ? next_event() : plan_.stop});
    const AroundSteps around{until,
                             horizon,
                             smooth,
                             [&](double to) {
                               if (iterate_log_ != nullptr) iterate_log_->at(to);
                               return sampled(found, to);
                             },
                             [&](double to, double at_most) {
                               log_iterates(to);
                               return asks_for_end(to, at_most);
                             },
                             iterate_log_};
    steps_end_at_events() ? steps_until_event(steps, found, around) : (void)steps.next(found, around);
    return true;
  });
}

// The time at which a part has ended a step early, or at which it requests an event before the limit.
std::optional<double> System::asks_for_end(double to, double limit) const noexcept {
  if (!steps_end_at_events()) return {};
  const std::optional<double> early = returned_early(to);
  return !early && to < limit && event_wanted() ? std::optional(to) : early;
}

// If a part does so, the attempt is rolled back like one with too large an error, and the next steps end at that time;
// an event at the present time is handled next.
void System::steps_until_event(VaryingSteps& steps, Stretch& found, AroundSteps around) {
  const double t = now_;
  around.limit = std::min(around.limit, next_event());
  before_steps();
  if (plan_.at_events->rolls_back && !steps.keep_states()) checkpoint_->keep();
  const std::vector<double> before = kernel_->slot_values.values;
  const std::int64_t rejected = found.rejected;
  for (int i = 0; i < most_returns; ++i) {
    const std::optional<double> early = steps.next(found, around);
    if (found.unsampled) found.rejected = rejected;
    if (!early) return confirm_event(t, found.to);
    ++found.rejected;
    found.from = t;
    around.limit = end_at_event(t, *early);
    std::ranges::copy(before, kernel_->slot_values.values.begin());
    go_back(t, around.limit, around.limit > t);
    kernel_->history.accept(t);
    if (around.limit <= t) return;
  }
  throw no_progress(t, around.limit);
}

}  // namespace ssptool::runtime
