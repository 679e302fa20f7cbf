// Integrators as a Python class, for functions of Python: the GIL is released while they work, but in these.
#include "../../../../ssptool/engine/kernel/binding/ode_solvers.hpp"

#include <memory>
#include <utility>

#include "methods.hpp"

namespace ssptool::binding
{

using namespace nb::literals;

namespace
{

std::uintptr_t address_of(const double *numbers)
{
    return reinterpret_cast<std::uintptr_t>(numbers);
}

bool truth(const nb::object &object)
{
    const int found = PyObject_IsTrue(object.ptr());
    if (found < 0)
        throw nb::python_error();
    return found == 1;
}

// Functions of Python.
class PythonOdeProblem final : public OdeProblem
{
  public:
    PythonOdeProblem(nb::object f, nb::object g, nb::object jacobian, std::size_t states)
        : f_(std::move(f)), g_(std::move(g)), jacobian_(std::move(jacobian)), states_(states)
    {
    }

    bool slopes(double t, const double *x, double *dx) override
    {
        const nb::gil_scoped_acquire locked;
        return truth(f_(t, address_of(x), address_of(dx)));
    }

    bool indicators(double t, const double *x, double *z) override
    {
        const nb::gil_scoped_acquire locked;
        return truth(g_(t, address_of(x), address_of(z)));
    }

    [[nodiscard]] bool has_jacobian() const override
    {
        return !jacobian_.is_none();
    }

    bool jacobian(double t, const double *x, double *columns) override
    {
        const nb::gil_scoped_acquire locked;
        const std::size_t shape[] = {states_, states_};
        const std::int64_t strides[] = {1, static_cast<std::int64_t>(states_)};
        const nb::object matrix =
            nb::cast(nb::ndarray<nb::numpy, double>(columns, 2, shape, nb::none(), strides), nb::rv_policy::reference);
        return truth(jacobian_(t, address_of(x), matrix));
    }

    // They may lead to the solver, in a circle that Python does not see.
    void let_go()
    {
        f_ = g_ = jacobian_ = nb::none();
    }

  private:
    nb::object f_, g_, jacobian_;
    std::size_t states_;
};

class NativeOdeSolver
{
  public:
    NativeOdeSolver(int kind, nb::object f, Number states, double rtol, nb::object g, Number roots, nb::object jacobian,
                    nb::handle cvode)
        : problem_(std::move(f), std::move(g), std::move(jacobian), static_cast<std::size_t>(states)),
          core_(solver_from(kind, problem_, {static_cast<std::size_t>(states), static_cast<std::size_t>(roots)}, rtol,
                            cvode)),
          arrival_type_(words("Arrival")), failure_type_(words("IntegrationFailed"))
    {
    }

    OdeSolver &core()
    {
        return *core_;
    }
    void close()
    {
        problem_.let_go();
    }

    nb::object reach(double limit, bool step_by_step)
    {
        Arrival arrival;
        try {
            const Unlocked unlocked;
            arrival = core_->reach(limit, step_by_step);
        } catch (const IntegrationFailed &failure) {
            raise(failure);
        }
        if (arrival.roots.empty())
            return arrival_type_(arrival.t);
        nb::list roots;
        for (const std::size_t root : arrival.roots)
            roots.append(root);
        return arrival_type_(arrival.t, nb::tuple(roots));
    }

    void interpolate(double t)
    {
        try {
            core_->interpolate(t);
        } catch (const IntegrationFailed &failure) {
            raise(failure);
        }
    }

  private:
    [[noreturn]] void raise(const IntegrationFailed &failure) const
    {
        PyErr_SetObject(failure_type_.ptr(), failure_type_(failure.t, failure.what()).ptr());
        throw nb::python_error();
    }

    PythonOdeProblem problem_;
    std::unique_ptr<OdeSolver> core_;
    nb::object arrival_type_, failure_type_;
};

using View = nb::ndarray<nb::numpy, double, nb::ndim<1>>;

View view(std::span<double> numbers)
{
    return View(numbers.data(), {numbers.size()});
}

nb::object to_python(const Effort &effort)
{
    return words("Effort")(effort.steps, effort.evaluations, effort.error_test_failures, effort.convergence_failures,
                           effort.jacobians, effort.root_evaluations);
}

} // namespace

void bind_ode_solvers(nb::module_ &module)
{
    static constexpr auto vector = nb::rv_policy::reference_internal;
    nb::class_<NativeOdeSolver>(module, "NativeOdeSolver")
        .def(nb::init<int, nb::object, Number, double, nb::object, Number, nb::object, nb::handle>(), "kind"_a, "f"_a,
             "n"_a, "rtol"_a, "g"_a = nb::none(), "roots"_a = 0, "jacobian"_a = nb::none(), "cvode"_a = nb::none())
        .def_prop_ro(
            "x", [](NativeOdeSolver &self) { return view(self.core().x()); }, vector)
        .def_prop_ro(
            "atol", [](NativeOdeSolver &self) { return view(self.core().atol()); }, vector)
        .def_prop_ro(
            "between", [](NativeOdeSolver &self) { return view(self.core().between()); }, vector)
        .def(
            "start", [](NativeOdeSolver &self, double t, double first_step) { self.core().start(t, first_step); },
            "t"_a, "first_step"_a = 0.0)
        .def("reach", &NativeOdeSolver::reach, "limit"_a, nb::kw_only(), "step_by_step"_a = true)
        .def("interpolate", &NativeOdeSolver::interpolate, "t"_a)
        .def(
            "limit_step", [](NativeOdeSolver &self, double h) { self.core().limit_step(h); }, "h"_a)
        .def_prop_ro("time", [](NativeOdeSolver &self) { return self.core().time(); })
        .def_prop_ro("elapsed", [](NativeOdeSolver &self) { return self.core().elapsed(); })
        .def_prop_ro("first_step", [](NativeOdeSolver &self) { return self.core().first_step(); })
        .def_prop_ro("has_moved", [](NativeOdeSolver &self) { return self.core().has_moved(); })
        .def_prop_ro("effort", [](NativeOdeSolver &self) { return to_python(self.core().effort()); })
        .def("close", &NativeOdeSolver::close);
}

} // namespace ssptool::binding
