// Substeps that parts need in each macro step: the first macro step is repeated from a saved state with more and more
// substeps, until its outputs no longer depend on their number.
#include "needed_substeps.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "system.hpp"

namespace ssptool::runtime {

namespace {

using Values = std::vector<double>;

constexpr std::int64_t fewest = 2, most = 1024;
// Relative difference up to which changes of outputs are equal; relative change that may be due to rounding.
constexpr double alike = 1e-2, nothing = 1e-9;
// Change of an input, relative to the larger of size and nominal value.
constexpr double disturbance = 1e-2;

// The macro step of one part, tried from its saved state.
class TriedStep {
 public:
  TriedStep(Part& part, Instance& instance, const SubstepTrial& trial, double start, double step)
      : part_(part), instance_(instance), shown_{trial.type, {}, {}, {}}, start_(start), step_(step) {
    for (const RealEnd& output : trial.outputs) shown_.references.push_back(output.reference);
  }

  // Outputs before the step.
  [[nodiscard]] Values before() { return outputs(); }
  // Outputs after `count` substeps with these inputs; none if a step fails. Throws if the part cannot continue after
  // the failure.
  [[nodiscard]] std::optional<Values> after(std::int64_t count, const Values& inputs) {
    check(instance_.restore());
    const Values still(inputs.size());
    const double size = step_ / static_cast<double>(count);
    Failure failure;
    for (std::int64_t k = 0; !failure && k < count; ++k)
      failure = instance_.step(start_ + static_cast<double>(k) * size, size,
                               {inputs.data(), still.data(), still.data(), inputs.size()});
    if (failure && failure.status >= static_cast<int>(Status::fatal)) check(failure);
    return failure ? std::nullopt : std::optional(outputs());
  }
  void check(const Failure& failure) const {
    if (!failure) return;
    Refusal refusal{};
    refusal.part = part_.plan().name;
    refusal.function = failure.function;
    refusal.status = failure.status;
    throw Refused(static_cast<Status>(failure.status), refusal.function, refusal);
  }

 private:
  [[nodiscard]] Values outputs() {
    Values found;
    for (const Value& value : part_.get(shown_)) found.push_back(std::get<double>(value));
    return found;
  }

  Part& part_;
  Instance& instance_;
  VariableSet shown_;
  double start_, step_;
};

// Whether both changes since `before` are equal up to a small part.
bool agree(const Values& one, const Values& other, const Values& before, const std::vector<RealEnd>& ends) {
  for (std::size_t i = 0; i < ends.size(); ++i) {
    const double change = std::abs(other[i] - before[i]);
    if (!(std::abs(one[i] - other[i]) <= std::max(alike * change, nothing * size(before[i], ends[i])))) return false;
  }
  return true;
}

}  // namespace

// Tried with the present inputs and with changed ones, because a part at equilibrium does not show how fast it is. More
// than two numbers of substeps are compared, because two may agree by chance.
std::int64_t System::needed_substeps(const SubstepTrial& trial) {
  Instance& instance = kernel_->members.instance(trial.part);
  TriedStep step(*parts_[trial.part], instance, trial, plan_.start, plan_.step);
  const std::vector<Slot> slots = of_type(kernel_->members[trial.part].inputs, Type::float64).slots;
  std::array<Values, 2> inputs;
  for (const Slot slot : slots) {
    const double value = kernel_->slot_values.values[slot];
    const auto end = std::ranges::find(trial.inputs, slot, &RealEnd::slot);
    const auto place = static_cast<std::size_t>(end - trial.inputs.begin());
    inputs[0].push_back(value);
    inputs[1].push_back(end == trial.inputs.end() ? value : beside(value, *end, place, disturbance));
  }
  step.check(instance.save());
  const Values before = step.before();
  std::array<std::optional<Values>, 2> coarse, fine;
  std::int64_t count = fewest, found = 0;
  int agreements = 0;
  for (; found == 0 && count <= 4 * most; count *= 2) {
    for (std::size_t which = 0; which < 2; ++which)
      coarse[which] = std::exchange(fine[which], step.after(count, inputs[which]));
    const auto same = [&](std::size_t which) {
      return coarse[which] && fine[which] && agree(*coarse[which], *fine[which], before, trial.outputs);
    };
    agreements = same(0) && same(1) ? agreements + 1 : 0;
    if (agreements == 2) found = count / 4;
  }
  step.check(instance.restore());
  instance.release();
  kernel_->members.leave_mode(trial.part);
  return found;
}

std::vector<std::int64_t> System::needed_substeps(const std::vector<SubstepTrial>& trials) {
  std::vector<std::int64_t> found;
  for (const SubstepTrial& one : trials) found.push_back(needed_substeps(one));
  return found;
}

}  // namespace ssptool::runtime
