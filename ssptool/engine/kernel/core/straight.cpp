// Macro steps as they mostly are: inputs are held, or go on along lines, and all instances step. Then everything that
// is done for an instance is done in one go, and its inputs are set from where their values are.
#include <algorithm>
#include <bit>
#include <cmath>

#include "kernel.hpp"
#include "prefetch.hpp"

namespace ssptool {

// For all macro steps but the first, which has made sure that second derivatives are zero and that there are two points
// for a line.
std::vector<Kernel::Task> Kernel::straight(const std::vector<Task>& tasks) {
  const bool bends = std::any_of(tasks.begin(), tasks.end(),
                                 [](const Task& one) { return one.op == Op::iterate || one.op == Op::forget; });
  if (bends || workers_) return tasks;
  std::vector<Task> found;
  std::vector<Task> before;  // those just before that say how inputs run
  for (const Task& task : tasks) {
    if (task.op == Op::hold || (task.op == Op::extrapolate && task.order == 1 && accepted_ > 1)) {
      before.push_back(task);
      continue;
    }
    const bool together = task.op == Op::advance && covers(before, *task.group);
    if (together)
      for (const Task& one : before) prepare_straight(one);
    else
      found.insert(found.end(), before.begin(), before.end());
    before.clear();
    found.push_back(task);
    found.back().straight |= together;
  }
  found.insert(found.end(), before.begin(), before.end());
  return found;
}

// Whether they say so for the very instances of the group.
bool Kernel::covers(const std::vector<Task>& tasks, const Group& group) {
  std::vector<Small> covered, stepped = group.instances;
  for (const Task& task : tasks)
    covered.insert(covered.end(), task.group->instances.begin(), task.group->instances.end());
  std::sort(covered.begin(), covered.end());
  std::sort(stepped.begin(), stepped.end());
  return covered == stepped;
}

void Kernel::prepare_straight(const Task& task) noexcept {
  for (const Index index : task.group->instances) {
    steppers_[index].on_lines = task.op == Op::extrapolate;
    steppers_[index].told = true;  // rates, it may be, in the first step
  }
}

bool Kernel::step_all_straight(const Group& group, double t, double h) noexcept {
  report(t);
  const Prefetch ahead(group.instances);
  const Line line{accepted(0).values, accepted(1).values, accepted(0).t - accepted(1).t};
  for (const Small& index : group.instances) {
    ahead.of(&index, [this](Small other) { return steppers_[other].reals.component(); });
    Stepper& stepper = steppers_[index];
    const bool ok =
        stepper.plain_step != nullptr ? step_straight(stepper, index, line, t, h) : step_otherwise(index, t, h);
    if (!ok) [[unlikely]]
      return false;
  }
  return true;
}

inline bool Kernel::step_straight(Stepper& stepper, Index index, const Line& line, double t, double h) noexcept {
  int status = stepper.set(references_.data(), stepper.on_lines ? line.now : values_.data());
  if (status > fmi::warning) [[unlikely]]
    return not_set(index, status);
  if (stepper.on_lines && follow(stepper, line))
    if (const Failure failure = instances_[index]->tell(t, input_rates_.data() + stepper.inputs, stepper.told))
        [[unlikely]]
      return retreat(stepper, index, failure, t, h);
  status = stepper.plain_step(stepper.reals.component(), t, h, stepper.saved ? 0 : 1);
  if (status > fmi::warning) [[unlikely]]
    return failed(index, {fmi::v2::do_step, status});
  status = stepper.get(references_.data(), values_.data());
  if (status > fmi::warning) [[unlikely]]
    return not_got(index, status);
  return stepper.got_finite(values_.data()) || nonfinite(stepper, index);
}

// Derivatives of the inputs; whether the FMU is to be told, since some are not zero, or were not.
inline bool Kernel::follow(Stepper& stepper, const Line& line) noexcept {
  double* const rates = input_rates_.data() + stepper.inputs;
  const double *const now = line.now + stepper.inputs, *const before = line.before + stepper.inputs;
  bool moving = false;
  for (std::size_t i = 0; i < stepper.input_count; ++i) {
    rates[i] = (now[i] - before[i]) / line.h;
    moving = moving || rates[i] != 0.0;
  }
  return std::exchange(stepper.told, moving) || moving;
}

// An FMU that does not follow lines any more.
bool Kernel::retreat(Stepper& stepper, Index index, const Failure& failure, double t, double h) noexcept {
  if (instances_[index]->following().order > 0) return failed(index, failure);
  stepper.plain_step = nullptr;
  return step_otherwise(index, t, h);
}

// Where there is more to an instance.
bool Kernel::step_otherwise(Index index, double t, double h) noexcept {
  const Inputs& inputs = step_parts_[index].inputs;
  if (steppers_[index].on_lines)
    extrapolate(inputs, 1);
  else
    hold(inputs);
  return step(index, t, h);
}

}  // namespace ssptool
