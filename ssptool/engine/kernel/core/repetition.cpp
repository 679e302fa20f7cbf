#include "repetition.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "fmi.hpp"
#include "loop_solvers.hpp"
#include "special_numbers.hpp"

namespace ssptool {

namespace {

// Initial relaxation factor of a repetition with strong damping.
constexpr double strong_damping = 0.1;
// After this number of consecutive failures of a method, it is skipped.
constexpr std::int64_t tried = 3;
// One step in this number tries the method again.
constexpr std::int64_t tried_again = 32;
// Order of the polynomial through accepted points, from which smooth signals hardly deviate.
constexpr int continued_order = 2;
// A step without agreement is rejected if it leads to values larger than the maximum so far by this factor.
constexpr double growth_of_unplanned = 1e3;
// Limit of iterations of Newton's method, which needs 2 for a step that is linear in its unknowns; √ε balances
// truncation and rounding of its differences.
constexpr std::int64_t newton_iterations = 10;
constexpr double newton_difference = 0x1p-26;

// The result of a step for given unknowns at its end; nan if the step fails.
class StepFunction final : public LoopFunction {
 public:
  StepFunction(const IterationCalls& calls, Attempts& attempts, const MacroStep& step, Course course)
      : calls_(calls), attempts_(attempts), step_(step), course_(course) {}

  std::vector<double> value(std::span<const double> x) override {
    std::vector<double> found(x.size(), nan);
    if (given_up_) return found;
    ++evaluations;
    if (attempts_.restore(calls_) && attempts_.attempt(calls_, x, step_, course_))
      attempts_.find(calls_, found);
    else
      given_up_ = attempts_.is_final();
    return found;
  }
  std::vector<double> product(std::span<const double> seed) override { return {seed.begin(), seed.end()}; }

  std::int64_t evaluations = 0;

 private:
  const IterationCalls& calls_;
  Attempts& attempts_;
  MacroStep step_;
  Course course_;
  bool given_up_ = false;  // no other iterate helps
};

}  // namespace

bool Attempts::checked(bool ok) noexcept {
  if (ok) return true;
  const Outcome& found = access_.outcome;
  const bool may_go_on =
      found.fmi_status == fmi::discard || std::string_view(found.function).ends_with(":terminateSimulation");
  final_ = found.code == Code::range || (found.code == Code::fmi && !may_go_on);
  return false;
}

bool Attempts::save(const IterationCalls& calls) noexcept { return checked(stepper_.save_all(groups_[calls.group])); }

bool Attempts::restore(const IterationCalls& calls) noexcept {
  return checked(stepper_.restore_all(groups_[calls.group]));
}

void Attempts::predict(const IterationCalls& calls, int order, double h, std::span<double> x) noexcept {
  if (order == 0) {
    exchange(calls);
    find(calls, x);
    return;
  }
  inputs_.extrapolate_slots(groups_[calls.group].inputs, order);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Slot slot = calls.unknowns[i];
    x[i] = slot_values_.input_value[slot] + h * slot_values_.input_rates[slot] +
           h * h / 2 * slot_values_.input_rates[slot_values_.size() + slot];
  }
}

void Attempts::exchange(const IterationCalls& calls) noexcept { wires_.copy(groups_[calls.group].wires); }

bool Attempts::attempt(const IterationCalls& calls, std::span<const double> x, const MacroStep& step,
                       Course course) noexcept {
  for (std::size_t i = 0; i < x.size(); ++i) slot_values_.values[calls.unknowns[i]] = x[i];
  const InputSlots &held = groups_[calls.held].inputs, &following = groups_[calls.following].inputs;
  if (course == Course::at_end) {
    inputs_.hold_slots(held);
    inputs_.hold_slots(following);
  } else {
    hold(calls, held, step.h);
    if (calls.order == 0)
      hold(calls, following, step.h);
    else if (calls.order == 1 && course == Course::from_end)
      inputs_.interpolate_from_middle(following, step.h);
    else
      inputs_.interpolate_slots(following, calls.order, step.h);
  }
  if (!checked(stepper_.step_all(groups_[calls.group], step.t, step.h)) || !evaluate(calls.schedule)) return false;
  exchange(calls);
  return true;
}

void Attempts::hold(const IterationCalls& calls, const InputSlots& inputs, double h) noexcept {
  switch (calls.held_inputs) {
    case HeldInputs::end:
    case HeldInputs::tried: inputs_.hold_slots(inputs); break;
    case HeldInputs::mean: inputs_.interpolate_slots(inputs, 0, h); break;
    case HeldInputs::mid_step: inputs_.mid_step_slots(inputs, 1, h); break;
  }
}

bool Attempts::evaluate(Index schedule) noexcept {
  if (schedules_.visit_all(schedule)) return true;
  if (access_.outcome.code == Code::loop) access_.outcome = rescues_.go_on(schedule, access_.outcome);
  return checked(access_.outcome.ok());
}

void Attempts::find(const IterationCalls& calls, std::span<double> found) const noexcept {
  for (std::size_t i = 0; i < found.size(); ++i) found[i] = slot_values_.values[calls.unknowns[i]];
}

Repetition::Repetition(IterationCalls calls, Attempts& attempts)
    : calls_(std::move(calls)),
      tries_(calls_.held_inputs == HeldInputs::tried),
      attempts_(attempts),
      switch_(calls_.plain_iterations),
      agreement_(calls_.measures, calls_.count, calls_.nominal),
      damped_agreement_(calls_.measures, calls_.count, calls_.nominal),
      acceleration_(calls_.rule, calls_.unknowns.size()),
      newton_({.kind = RuleKind::newton}, calls_.unknowns.size()),
      damping_({.kind = RuleKind::aitken, .factor = strong_damping}, calls_.unknowns.size()),
      x_(calls_.unknowns.size()),
      found_(x_),
      guess_(x_),
      continued_(x_),
      scaled_(x_),
      scaled_found_(x_),
      sizes_(calls_.nominal) {}

Repetition::Done Repetition::step(const MacroStep& step) noexcept {
  present_ = step;
  iterations_ = 0;
  left_domain_ = escaped_ = false;
  ++accepted.steps;
  agreement_.begin(accepted.floor);
  if (!begin()) return failed();
  course_ = next_course();
  converged_ = true;
  Done done = repeat(true);
  if (done && needs_damping()) {
    damp();
    done = repeat(false);
  }
  end_phase();
  return done;
}

// Returns whether states are saved and the first guess is made.
bool Repetition::begin() noexcept {
  iterations_ = 1;
  if (!attempts_.save(calls_) || !try_held_inputs()) return false;
  if (calls_.damps) attempts_.predict(calls_, continued_order, present_.h, continued_);
  attempts_.predict(calls_, calls_.prediction, present_.h, guess_);
  attempts_.exchange(calls_);
  attempts_.find(calls_, found_);
  see_sizes(found_);
  iterations_ = 0;
  return true;
}

// The step with inputs as planned: by the rule, by Newton's method, and by other means if neither converges.
Repetition::Done Repetition::repeat(bool anew) noexcept {
  by_newton_ = is_for_newton();
  Ending ending = by_newton_ ? iterate(newton_, anew) : iterate(acceleration_, anew);
  if (ending == Ending::open && calls_.newton && !by_newton_ && !agreement_.is_explained()) {
    ++accepted.failed;
    by_newton_ = true;
    ending = iterate(newton_, false);
  }
  if (ending == Ending::agreed) return agreed();
  if (ending == Ending::failed) return failed();
  if (agreement_.is_noise()) return settle();
  if (by_newton_ && may_damp()) {
    damp();
    return repeat(false);
  }
  return retreat();
}

// Whether the rule has not converged for some steps, and is not to be tried again yet.
bool Repetition::is_for_newton() const noexcept {
  return calls_.newton && accepted.failed >= tried && accepted.steps % tried_again != 0;
}

// Iterates until the iterates agree, noise of the FMUs explains the remaining change, or no further iterate helps.
Repetition::Ending Repetition::iterate(Acceleration& rule, bool anew) noexcept {
  agreement_.begin(accepted.floor);
  rule.begin();
  x_ = guess_;
  bool went_well = attempt(anew);
  std::int64_t number = 1;
  while (went_well) {
    ++iterations_;
    attempts_.find(calls_, found_);
    const bool agrees = agreement_.reached(x_, found_);
    if (IterateObserver* const observer = attempts_.observer(); observer != nullptr) [[unlikely]]
      observer->see(calls_.group, iterations_, x_, found_, agreement_.last_excess(), agrees);
    if (agrees) return Ending::agreed;
    const bool plain = anew && switch_.goes_on_plainly(number, present_.t, present_.h);
    // Newton's method recovers from distant points with a new Jacobian.
    const bool lost = agreement_.lost(x_, found_) && !(by_newton_ && std::isfinite(agreement_.last()));
    if (lost || is_enough(number, plain)) {
      if (!agreement_.is_noise()) probe_noise();
      if (!agreement_.is_noise()) attempts_.outcome() = {.code = Code::coupling};
      return Ending::open;
    }
    propose(rule, plain);
    ++number;
    went_well = attempt(false);
  }
  ++iterations_;
  return (anew && number == 1) || attempts_.is_final() ? Ending::failed : Ending::open;
}

bool Repetition::attempt(bool anew) noexcept {
  return anew ? attempts_.attempt(calls_, x_, present_, course_) : again(x_);
}

Trial Repetition::trial(const MacroStep& step) noexcept {
  present_ = step;
  try_held_inputs();
  return accepted.trial;
}

// Returns whether the step can continue.
bool Repetition::try_held_inputs() noexcept {
  if (!tries_) return true;
  if (accepted.trial == Trial::none) {
    const std::optional<bool> found = attempts_.integrates(calls_, present_);
    if (!found) return false;
    accepted.trial = *found ? Trial::integrates : Trial::steps;
  }
  calls_.held_inputs = accepted.trial == Trial::integrates ? HeldInputs::mid_step : HeldInputs::end;
  return true;
}

bool Repetition::again(std::span<const double> x) noexcept {
  return attempts_.restore(calls_) && attempts_.attempt(calls_, x, present_, course_);
}

// The next x, given this one and its result.
void Repetition::propose(Acceleration& acceleration, bool plain) noexcept {
  for (std::size_t i = 0; i < x_.size(); ++i) {
    scaled_[i] = x_[i] / calls_.nominal[i];
    scaled_found_[i] = found_[i] / calls_.nominal[i];
  }
  if (!plain && !acceleration.is_plain()) scaled_found_ = acceleration.next(scaled_, scaled_found_, *this);
  for (std::size_t i = 0; i < x_.size(); ++i) x_[i] = calls_.nominal[i] * scaled_found_[i];
}

Repetition::Done Repetition::agreed() noexcept {
  if (by_newton_)
    accepted.note_newton(present_.t);
  else
    accepted.failed = 0;
  if (agreement_.noisy()) accepted.note_noise(present_.t, agreement_.last(), agreement_.worst());
  if (calls_.count != 0) judge_last();
  return iterations_;
}

// Judges whether a step with a fixed number of iterations has converged.
void Repetition::judge_last() noexcept {
  const double last = agreement_.last();
  if (last <= calls_.measures.front().limit) return;
  const bool grows = agreement_.grows() || !(last <= agreement_.first());
  accepted.note_unconverged(present_.t, last, agreement_.last_worst(), grows);
}

// Whether no further iterate can improve the step.
bool Repetition::is_enough(std::int64_t iterate, bool plain) noexcept {
  if (iterate >= calls_.max_iterations) return true;
  if (agreement_.stagnates() && !agreement_.probed() && agreement_.least() <= noise_limit) probe_noise();
  const bool hopeless = calls_.retreats && !calls_.newton && accepted.failed >= tried && !plain;
  return hopeless || agreement_.is_noise();
}

void Repetition::probe_noise() noexcept {
  agreement_.probe([this](std::span<double> x) noexcept { std::ranges::copy(repeated(x), x.begin()); });
}

std::vector<double> Repetition::repeated(std::span<const double> x) {
  std::vector<double> moved(x.begin(), x.end());
  for (std::size_t i = 0; i < x.size(); ++i) moved[i] *= calls_.nominal[i];
  const bool ok = again(moved);
  attempts_.find(calls_, moved);
  for (std::size_t i = 0; i < x.size(); ++i) moved[i] = ok ? moved[i] / calls_.nominal[i] : nan;
  return moved;
}

StepDerivatives Repetition::derivatives() const {
  const std::vector<double>& nominal = calls_.nominal;
  if (!interface_.derivatives) return StepDerivatives(nominal.size());
  const bool at_end = course_ == Course::at_end;
  const double held = at_end || calls_.held_inputs == HeldInputs::end ? 1.0 : 0.5;  // of a change at the end
  StepDerivatives found = interface_.derivatives(present_.h, at_end ? 0 : calls_.order, held);
  for (std::size_t i = 0; i < nominal.size(); ++i)
    for (std::size_t j = 0; j < nominal.size(); ++j) found.matrix(i, j) = found.matrix(i, j) * nominal[j] / nominal[i];
  return found;
}

Pattern Repetition::pattern() const {
  return interface_.pattern ? *interface_.pattern : Pattern(x_.size(), x_.size(), true);
}

// Repeats the step with the best iterate, if noise prevents further improvement.
Repetition::Done Repetition::settle() noexcept {
  if (!again(agreement_.best())) return failed();
  accepted.floor = std::min(std::max({accepted.floor, agreement_.least(), 4.0 * agreement_.noise()}), noise_limit);
  if (by_newton_)
    accepted.note_newton(present_.t);
  else
    accepted.failed = 0;
  accepted.note_noise(present_.t, agreement_.least(), agreement_.worst());
  return iterations_;
}

// Repeats the step with strong damping, then by Newton's method; if both fail, does it once, unless the user has
// requested this method.
Repetition::Done Repetition::retreat() noexcept {
  if (!calls_.retreats) {
    left_domain_ = attempts_.outcome().code != Code::coupling;
    return failed();
  }
  if (!by_newton_) ++accepted.failed;
  std::int64_t more = 0;
  if (accepted.failed_damped < tried) {
    more = damped();
    if (more == 0 && !attempts_.is_final()) more = by_newton();
  }
  if (more > 0) {
    accepted.note_damped(present_.t);
    return otherwise(iterations_ + more);
  }
  converged_ = false;
  attempts_.predict(calls_, 1, present_.h, x_);
  if (!again(x_)) return failed();
  accepted.note_unrepeated(present_.t);
  attempts_.find(calls_, found_);
  escaped_ = escapes();
  return otherwise(iterations_ + 1);
}

// A step that was not done as planned; only few are allowed.
Repetition::Done Repetition::otherwise(std::int64_t iterations) noexcept {
  if (!escaped_ && !accepted.too_many_unplanned()) return iterations;
  attempts_.outcome() = {.code = Code::coupling};
  iterations_ = iterations;
  return failed();
}

void Repetition::see_sizes(std::span<const double> values) noexcept {
  for (std::size_t i = 0; i < sizes_.size(); ++i) sizes_[i] = std::max(sizes_[i], std::abs(values[i]));
}

// Whether a step without agreement leads to values far beyond all earlier ones.
bool Repetition::escapes() const noexcept {
  for (std::size_t i = 0; i < sizes_.size(); ++i)
    if (!(std::abs(found_[i]) <= growth_of_unplanned * sizes_[i])) return true;
  return false;
}

// Iterations of this step with strong damping at the start; 0 if they do not converge.
std::int64_t Repetition::damped() noexcept {
  damped_agreement_.begin(0.0);
  damping_.begin();
  attempts_.predict(calls_, 1, present_.h, x_);
  for (std::int64_t iteration = 1; iteration <= calls_.max_iterations; ++iteration) {
    if (!again(x_)) return 0;
    attempts_.find(calls_, found_);
    if (damped_agreement_.reached(x_, found_)) return iteration;
    if (damped_agreement_.lost(x_, found_)) return 0;
    propose(damping_, false);
  }
  return 0;
}

// Iterations of this step by Newton's method with differences; 0 if it does not converge.
std::int64_t Repetition::by_newton() {
  StepFunction g(calls_, attempts_, present_, course_);
  const std::size_t m = x_.size();
  const FiniteDifferences differences(Pattern(m, m, true), newton_difference);
  const Domain domain{calls_.nominal, std::vector<double>(m, -infinity), std::vector<double>(m, infinity)};
  double limit = calls_.measures.front().limit;
  for (const MeasureLimit& one : calls_.measures) limit = std::min(limit, one.limit);
  attempts_.predict(calls_, 1, present_.h, x_);
  const Solution solution = Newton(differences, {.rtol = limit}, newton_iterations).solve(g, x_, domain, {});
  if (!solution.converged() || attempts_.is_final()) return 0;
  std::copy(solution.x.begin(), solution.x.end(), x_.begin());
  if (!again(x_)) return 0;
  attempts_.find(calls_, found_);
  damped_agreement_.begin(0.0);
  return damped_agreement_.reached(x_, found_) ? g.evaluations + 1 : 0;
}

Repetition::Done Repetition::failed() noexcept {
  attempts_.outcome().iterations = iterations_;
  return std::nullopt;
}

IterationReport Repetition::report() const {
  const auto copied = [](std::span<const double> numbers) {
    return std::vector<double>(numbers.begin(), numbers.end());
  };
  return {.left_domain = left_domain_,
          .first = agreement_.first(),
          .least = agreement_.least(),
          .noise = agreement_.noise(),
          .worst = agreement_.worst(),
          .stagnates = agreement_.stagnates(),
          .grows = agreement_.grows(),
          .escaped = escaped_,
          .best = copied(agreement_.best()),
          .change = copied(agreement_.change()),
          .judged = copied(agreement_.judged())};
}

IterationMemory Repetition::memory() const {
  IterationMemory memory{.given_up = switch_.given_up(), .misses = switch_.misses(), .secants = {}};
  if (calls_.newton) newton_.remember(memory);
  acceleration_.remember(memory);
  return memory;
}

void Repetition::go_on(const IterationMemory& memory) {
  switch_.go_on(memory.given_up, memory.misses);
  acceleration_.go_on(memory);
  if (calls_.newton) newton_.go_on(memory);
}

}  // namespace ssptool
