// Solvers of algebraic loops for functions of Python.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <stdexcept>
#include <utility>

#include "../../../../ssptool/engine/kernel/core/loop_solvers.hpp"
#include "methods.hpp"

namespace ssptool::binding
{

using namespace nb::literals;

namespace
{

// A function of Python, with products of its Jacobian, or None.
class PythonFunction final : public LoopFunction
{
  public:
    PythonFunction(nb::object g, nb::object product) : g_(std::move(g)), product_(std::move(product))
    {
    }

    std::vector<double> value(std::span<const double> x) override
    {
        return result(g_, x);
    }
    std::vector<double> product(std::span<const double> seed) override
    {
        return result(product_, seed);
    }

  private:
    static std::vector<double> result(const nb::object &function, std::span<const double> x)
    {
        return doubles(function(array(std::vector<double>(x.begin(), x.end()))));
    }

    nb::object g_, product_;
};

Domain domain_from(const Vector &nominal, const Vector &minimum, const Vector &maximum)
{
    for (const Vector *bounds : {&minimum, &maximum})
        check_size(bounds->size(), nominal.size(), "the list of bounds");
    const auto numbers = [](const Vector &vector) {
        return std::vector<double>(vector.data(), vector.data() + vector.size());
    };
    return {.nominal = numbers(nominal), .minimum = numbers(minimum), .maximum = numbers(maximum)};
}

// (solution, iterates)
nb::object solve_function(int method, nb::object g, nb::object product, const Vector &x0, const Vector &nominal,
                          const Vector &minimum, const Vector &maximum, double rtol, double atol, double relaxation,
                          Number max_iterations)
{
    const Domain domain = domain_from(nominal, minimum, maximum);
    check_size(x0.size(), nominal.size(), "x0");
    LoopJacobians jacobians;
    if (!product.is_none())
        jacobians.push_back(std::make_unique<Products>());
    jacobians.push_back(std::make_unique<FiniteDifferences>(Pattern(x0.size(), x0.size(), true), 0x1p-26));
    const SolverOptions options{
        .convergence = {rtol, atol}, .relaxation = relaxation, .max_iterations = max_iterations};
    const auto solver = solver_for(method_from(method), jacobians, options);
    PythonFunction function(std::move(g), std::move(product));
    std::vector<Iterate> iterates;
    const Watch watch = [&](std::string_view name, std::int64_t number, std::span<const double> x,
                            std::span<const double> residual) {
        iterates.push_back({0, std::string(name), number, {x.begin(), x.end()}, {residual.begin(), residual.end()}});
    };
    Solution solution = solver->solve(function, {x0.data(), x0.data() + x0.size()}, domain, watch);
    const nb::object ok = vocabulary("OK");
    return nb::make_tuple(solution_to_python(std::move(solution), ok), iterates_to_python(std::move(iterates)));
}

} // namespace

LoopMethod method_from(int method)
{
    if (method < 0 || method > static_cast<int>(LoopMethod::homotopy))
        throw std::invalid_argument("unknown method");
    return static_cast<LoopMethod>(method);
}

void bind_loop_solvers(nb::module_ &module)
{
    module.def("solve_function", &solve_function, "method"_a, "g"_a, "product"_a.none(), "x0"_a, "nominal"_a,
               "minimum"_a, "maximum"_a, "rtol"_a, "atol"_a, "relaxation"_a, "max_iterations"_a);
}

} // namespace ssptool::binding
