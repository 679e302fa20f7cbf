// Solutions of loops, and reports of iterated steps, as Python values.
#include <nanobind/stl/vector.h>

#include <utility>

#include "kernel.hpp"

namespace ssptool::binding {

namespace {

nb::object status_to_python(SolutionStatus status) {
  static constexpr const char* names[] = {"CONVERGED",    "MAX_ITERATIONS", "DIVERGED",  "STALLED",  "SINGULAR",
                                          "INCONSISTENT", "UNDETERMINED",   "SWITCHING", "NONFINITE"};
  return solutions_module().attr("SolutionStatus").attr(names[static_cast<std::size_t>(status)]);
}

nb::object switched_to_python(const std::vector<std::vector<std::int64_t>>& rows) {
  const std::size_t width = rows.empty() ? 0 : rows.front().size();
  auto* numbers = new std::vector<std::int64_t>();
  const nb::capsule owner(numbers, [](void* data) noexcept { delete static_cast<std::vector<std::int64_t>*>(data); });
  for (const auto& row : rows) numbers->insert(numbers->end(), row.begin(), row.end());
  const std::size_t shape[] = {rows.size(), width};
  return nb::cast(nb::ndarray<nb::numpy, std::int64_t>(numbers->data(), 2, shape, owner));
}

}  // namespace

nb::object vocabulary(const char* name) { return nb::module_::import_("ssptool.engine.kernel.calls").attr(name); }

nb::object solutions_module() { return nb::module_::import_("ssptool.engine.kernel.solutions"); }

nb::object rows_of(std::vector<double> numbers, std::size_t width) {
  DenseMatrix matrix(numbers.size() / width, width);
  matrix.elements = std::move(numbers);
  return array(std::move(matrix));
}

nb::object to_python(IterationReport report) {
  return vocabulary("IterationReport")(report.left_domain, report.first, report.least, report.noise, report.worst,
                                       report.stagnates, report.grows, report.escaped, array(std::move(report.best)),
                                       array(std::move(report.change)), rows_of(std::move(report.judged), 2));
}

nb::object to_python(const AcceptedSteps& steps) {
  return vocabulary("AcceptedSteps")(
      steps.floor, steps.noisy, steps.level, steps.signal, steps.time, steps.damped, steps.damped_from,
      steps.unrepeated, steps.unrepeated_from, steps.failed, steps.failed_damped, steps.unconverged, steps.residual,
      steps.open_signal, steps.open_time, steps.grows, steps.steps, steps.unplanned, static_cast<Number>(steps.trial),
      steps.by_newton, steps.by_newton_from, steps.ends, steps.ends_from, steps.phase.left, steps.phase.length,
      steps.phase.since);
}

nb::tuple iterates_to_python(std::vector<Iterate> iterates) {
  if (iterates.empty()) return nb::tuple();
  const nb::object type = solutions_module().attr("Iterate");
  nb::list found;
  for (Iterate& one : iterates)
    found.append(type(one.loop, one.solver, one.number, array(std::move(one.x)), array(std::move(one.residual))));
  return nb::tuple(found);
}

nb::object solution_to_python(Solution solution, nb::object rejected) {
  const std::int64_t iterations = solution.iterations;
  return solutions_module().attr("Solution")(
      array(std::move(solution.x)), status_to_python(solution.status), iterations, solution.residual_norm,
      array(std::move(solution.residual)), nb::tuple(nb::cast(solution.history)), solution.solver,
      array(std::move(solution.direction)), switched_to_python(solution.switched), rejected, solution.contradicted);
}

nb::tuple NativeKernel::latest_rescues() const {
  nb::list rescues;
  for (const Rescue& rescue : core_->rescues.latest())
    rescues.append(
        nb::make_tuple(rescue.loop, solution_to_python(rescue.solution, to_python(rescue.solution.rejected))));
  return nb::tuple(rescues);
}

}  // namespace ssptool::binding
