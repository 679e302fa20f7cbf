#include "step_energy.hpp"

#include <algorithm>
#include <cmath>

#include "state.hpp"
#include "step_comparison.hpp"
#include "system.hpp"

namespace ssptool::runtime {

namespace {

// ∫e dt/(h e(h)) over a step, where e is the error of inputs of order 0, 1, 2: e = s, s (s + h), s (s + h)(s + 2h).
constexpr double weights[] = {1.0 / 2, 5.0 / 12, 3.0 / 8};
// A step shorter than this fraction of the chosen size was shortened by more than rounding.
constexpr double cut = 0.999;
constexpr double least_error = 1e-12;

// The larger number, or NaN.
double larger(double a, double b) { return std::isnan(a) || a > b ? a : b; }

}  // namespace

StepEnergy::StepEnergy(const PlannedEnergy& plan, const VariedSteps& varied)
    : VaryingSteps(varied, plan.largest), plan_(plan), through_(plan.bonds.size()), missed_(plan.bonds.size()) {}

Inexact StepEnergy::inexact() const {
  Inexact found{far_};
  for (std::size_t k = 0; k < missed_.size(); ++k) {
    const double of = std::max(through_[k], plan_.tolerance * plan_.bonds[k].nominal * elapsed_);
    const double error = missed_[k].sum / (plan_.tolerance * of);
    if (error > found.error) found = {far_, error, missed_[k].time, plan_.bonds[k].sides[0].output};
  }
  return found;
}

void StepEnergy::restart() {
  h_ = first_size();
  last_error_ = 1.0;
}

SavedSizes StepEnergy::save() const { return {{t_, h_, elapsed_, last_error_}, through_, {}}; }

void StepEnergy::go_on(const SavedSizes& saved) {
  require_same_steps(saved.numbers.size() == 4 && saved.of_each.size() == through_.size());
  t_ = saved.numbers[0];
  h_ = saved.numbers[1];
  elapsed_ = saved.numbers[2];
  last_error_ = saved.numbers[3];
  through_ = saved.of_each;
}

std::optional<double> StepEnergy::next(Stretch& found, const AroundSteps& around) {
  found.from = found.to = t_;
  if (h_ < plan_.smallest * (varied_.stop - varied_.start)) {
    no_size_ = {NoSize::Why::residuals, t_, h_, none, last_error_};
    return {};
  }
  const double t = t_, to = end(around.limit), h = to - t;
  const std::vector<double> unchanged = discrete();
  const Pairs before = outputs(), added = this->added();
  if (!around.before(to)) return {};
  const std::optional<double> early = note(found, t, to, varied_.steps.deliver(t, h, to), around, to);
  if (early || !found.outcome.ok()) return early;
  // Residuals need outputs as the parts deliver them at the end of each step, before they are made consistent.
  const Course course{{before, outputs()}, {inputs(0.0), inputs(h)}};
  if (!note(found, t, to, varied_.steps.settle(t, h, to))) return {};
  control(to, h, course, added, around.log);
  rows_.push_back(finish(found, to));
  if (!same_bits(unchanged, discrete())) restart();
  return {};
}

// The last two steps share the remaining time equally.
double StepEnergy::end(double limit) const noexcept {
  const double left = limit - t_;
  if (left <= 1.01 * h_ && left <= largest_) return limit;
  return t_ + (left < 2 * h_ ? left / 2 : h_);
}

StepEnergy::Pairs StepEnergy::outputs() noexcept {
  Pairs found;
  for (const PlannedBond& bond : plan_.bonds)
    found.push_back({values()[bond.sides[0].output], values()[bond.sides[1].output]});
  return found;
}

StepEnergy::Pairs StepEnergy::added() noexcept {
  Pairs found = outputs();
  for (std::size_t k = 0; k < found.size(); ++k) {
    const auto& [one, other] = plan_.bonds[k].sides;
    found[k] = {values()[one.input] - one.scale * found[k][1], values()[other.input] - other.scale * found[k][0]};
  }
  return found;
}

StepEnergy::Pairs StepEnergy::inputs(double past) const noexcept {
  const SlotValues& slots = varied_.kernel.slot_values;
  const auto given = [&](Slot slot) {
    const double first = slots.input_rates[slot], second = slots.input_rates[slots.size() + slot];
    return slots.input_value[slot] + past * (first + past / 2 * second);
  };
  Pairs found;
  for (const PlannedBond& bond : plan_.bonds) found.push_back({given(bond.sides[0].input), given(bond.sides[1].input)});
  return found;
}

std::vector<double> StepEnergy::discrete() noexcept {
  std::vector<double> found;
  for (const Slot slot : plan_.others) found.push_back(values()[slot]);
  return found;
}

// Chooses the next size from the outputs and inputs at both sides of each bond over a step.
void StepEnergy::control(double end, double h, const Course& course, const Pairs& added, IterateLog* log) {
  elapsed_ += h;
  double error = least_error;
  std::vector<double> all, residuals;
  for (std::size_t k = 0; k < through_.size(); ++k) {
    const auto [carried, shares] = energies(k, h, course, added);
    through_[k] += carried;
    const double level = larger(power(k, course.outputs[1], course.inputs[1]), through_[k] / elapsed_);
    const double allowed = plan_.tolerance * h * larger(level, plan_.tolerance * plan_.bonds[k].nominal);
    const double missed = std::abs(shares[0]) + std::abs(shares[1]);
    error = larger(error, missed / allowed);
    missed_[k].add(missed, end);
    all.push_back(carried);
    residuals.push_back(shares[0] - shares[1]);
  }
  if (log != nullptr) log->of_bonds(end, error, all, residuals);
  far_ += error > Inexact::far;
  choose(h, error);
  t_ = end;
  last_error_ = error;
}

std::pair<double, std::array<double, 2>> StepEnergy::energies(std::size_t bond, double h, const Course& course,
                                                              const Pairs& added) const noexcept {
  double most[2];
  std::array<double, 2> missed[2];  // power minus power with the outputs of the other side as inputs
  for (std::size_t at = 0; at < 2; ++at) {
    const std::array<double, 2>&y = course.outputs[at][bond], &u = course.inputs[at][bond];
    most[at] = power(bond, course.outputs[at], course.inputs[at]);
    for (std::size_t side = 0; side < 2; ++side) {
      const BondSide& own = plan_.bonds[bond].sides[side];
      missed[at][side] = own.factor * y[side] * (u[side] - added[bond][side] - own.scale * y[1 - side]);
    }
  }
  const auto share = [&](std::size_t side) {
    return h * (missed[0][side] / 2 + weights[plan_.order] * missed[1][side]);
  };
  return {h * (most[0] + most[1]) / 2, {share(0), share(1)}};
}

// The larger power of both sides, into or out of the first component [W].
double StepEnergy::power(std::size_t bond, const Pairs& outputs, const Pairs& inputs) const noexcept {
  const auto of = [&](std::size_t side) {
    return std::abs(plan_.bonds[bond].sides[side].factor * outputs[bond][side] * inputs[bond][side]);
  };
  return larger(of(0), of(1));
}

void StepEnergy::choose(double h, double error) {
  const double chosen = h * plan_.control.factor(error, last_error_, plan_.order + 1);
  // A step that was only shortened is no reason for a smaller size.
  h_ = h < cut * h_ && error <= 1.0 ? std::max(chosen, h_) : chosen;
  h_ = std::min(h_, largest_);
}

}  // namespace ssptool::runtime
