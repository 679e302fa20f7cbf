// Solutions of loops as Python values, and the solvers for functions of Python, for tests.
#include "../core/loop_solvers.hpp"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

#include "kernel.hpp"

namespace ssptool::binding {

using namespace nb::literals;

namespace {

nb::object solutions_module() { return nb::module_::import_("ssptool.engine.kernel.solutions"); }

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

// A function of Python, with products of its Jacobian, or None.
class PythonFunction final : public LoopFunction {
 public:
  PythonFunction(nb::object g, nb::object product) : g_(std::move(g)), product_(std::move(product)) {}

  std::vector<double> value(std::span<const double> x) override { return result(g_, x); }
  std::vector<double> product(std::span<const double> seed) override { return result(product_, seed); }

 private:
  static std::vector<double> result(const nb::object& function, std::span<const double> x) {
    return doubles(function(array(std::vector<double>(x.begin(), x.end()))));
  }

  nb::object g_, product_;
};

Domain domain_from(const Vector& nominal, const Vector& minimum, const Vector& maximum) {
  for (const Vector* bounds : {&minimum, &maximum}) check_size(bounds->size(), nominal.size(), "the list of bounds");
  const auto numbers = [](const Vector& vector) {
    return std::vector<double>(vector.data(), vector.data() + vector.size());
  };
  return {.nominal = numbers(nominal), .minimum = numbers(minimum), .maximum = numbers(maximum)};
}

// (solution, iterates)
nb::object solve_function(int method, nb::object g, nb::object product, const Vector& x0, const Vector& nominal,
                          const Vector& minimum, const Vector& maximum, double rtol, double atol, double relaxation,
                          Number max_iterations) {
  const Domain domain = domain_from(nominal, minimum, maximum);
  check_size(x0.size(), nominal.size(), "x0");
  LoopJacobians jacobians;
  if (!product.is_none()) jacobians.push_back(std::make_unique<Products>());
  jacobians.push_back(std::make_unique<FiniteDifferences>(Pattern(x0.size(), x0.size(), true), 0x1p-26));
  const SolverOptions options{.convergence = {rtol, atol}, .relaxation = relaxation, .max_iterations = max_iterations};
  const auto solver = solver_for(method_from(method), jacobians, options);
  PythonFunction function(std::move(g), std::move(product));
  std::vector<Iterate> iterates;
  const Watch watch = [&](std::string_view name, std::int64_t number, std::span<const double> x,
                          std::span<const double> residual) {
    iterates.push_back({0, std::string(name), number, {x.begin(), x.end()}, {residual.begin(), residual.end()}});
  };
  Solution solution = solver->solve(function, {x0.data(), x0.data() + x0.size()}, domain, watch);
  const nb::object ok = solutions_module().attr("OK");
  return nb::make_tuple(solution_to_python(std::move(solution), ok), iterates_to_python(std::move(iterates)));
}

}  // namespace

nb::tuple iterates_to_python(std::vector<Iterate> iterates) {
  if (iterates.empty()) return nb::tuple();
  const nb::object type = solutions_module().attr("Iterate");
  nb::list found;
  for (Iterate& one : iterates)
    found.append(type(one.loop, one.solver, one.number, array(std::move(one.x)), array(std::move(one.residual))));
  return nb::tuple(found);
}

LoopMethod method_from(int method) {
  if (method < 0 || method > static_cast<int>(LoopMethod::homotopy)) throw std::invalid_argument("unknown method");
  return static_cast<LoopMethod>(method);
}

nb::object solution_to_python(Solution solution, nb::object rejected) {
  const std::int64_t iterations = solution.iterations;
  return solutions_module().attr("Solution")(
      array(std::move(solution.x)), status_to_python(solution.status), iterations, solution.residual_norm,
      array(std::move(solution.residual)), nb::tuple(nb::cast(solution.history)), solution.solver,
      array(std::move(solution.direction)), switched_to_python(solution.switched), rejected, solution.contradicted);
}

nb::object NativeKernel::solve(Number loop, int method, const Vector& second, bool watched) {
  const LoopMethod chosen = method_from(method);
  std::vector<Iterate> iterates;
  Solved solved;
  {
    Unlocked unlocked;
    const Watching watching(core_->loops, watched ? &iterates : nullptr);
    solved = core_->loop_solutions.solve(index(loop), chosen, span_of(second));
  }
  const nb::object rejected = to_python(solved.solution.rejected);
  return solutions_module().attr("Solved")(to_python(solved.outcome),
                                           solution_to_python(std::move(solved.solution), rejected),
                                           iterates_to_python(std::move(iterates)));
}

nb::object NativeKernel::evaluate_surely(Number schedule, bool watched) {
  std::vector<Iterate> iterates;
  Outcome outcome;
  {
    Unlocked unlocked;
    const Watching watching(core_->loops, watched ? &iterates : nullptr);
    outcome = core_->rescues.evaluate(index(schedule));
  }
  return evaluated_type_(to_python(outcome), latest_rescues(), iterates_to_python(std::move(iterates)));
}

nb::tuple NativeKernel::latest_rescues() const {
  nb::list rescues;
  for (const Rescue& rescue : core_->rescues.latest())
    rescues.append(
        nb::make_tuple(rescue.loop, solution_to_python(rescue.solution, to_python(rescue.solution.rejected))));
  return nb::tuple(rescues);
}

void bind_loop_solvers(nb::module_& module) {
  module.def("solve_function", &solve_function, "method"_a, "g"_a, "product"_a.none(), "x0"_a, "nominal"_a, "minimum"_a,
             "maximum"_a, "rtol"_a, "atol"_a, "relaxation"_a, "max_iterations"_a,
             nb::sig("def solve_function(method: int, g: collections.abc.Callable[[ssptool.engine.kernel.interface."
                     "Floats], ssptool.engine.kernel.interface.Floats], product: collections.abc.Callable[["
                     "ssptool.engine.kernel.interface.Floats], ssptool.engine.kernel.interface.Floats] | None, x0: "
                     "ssptool.engine.kernel.interface.Floats, nominal: ssptool.engine.kernel.interface.Floats, "
                     "minimum: ssptool.engine.kernel.interface.Floats, maximum: "
                     "ssptool.engine.kernel.interface.Floats, rtol: float, atol: float, relaxation: float, "
                     "max_iterations: int) -> tuple[ssptool.engine.kernel.solutions.Solution, "
                     "tuple[ssptool.engine.kernel.solutions.Iterate, ...]]"));
}

}  // namespace ssptool::binding
