// Dense linear algebra.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include "../../../../ssptool/engine/kernel/core/exponential.hpp"
#include "methods.hpp"

namespace ssptool::binding
{

using namespace nb::literals;

namespace
{

void check_square(const DenseMatrix &matrix)
{
    if (matrix.rows != matrix.columns)
        throw std::invalid_argument("the matrix must be square");
}

FullPivotLu factorized(const Matrix &array)
{
    DenseMatrix matrix = dense_from(array);
    if (matrix.columns != matrix.rows && matrix.columns != matrix.rows + 1)
        throw std::invalid_argument("the matrix must have as many columns as rows, or one more");
    return FullPivotLu(std::move(matrix));
}

nb::object inverse(const Matrix &array)
{
    const DenseMatrix matrix = dense_from(array);
    check_square(matrix);
    auto found = inverse_of(matrix);
    return found ? ssptool::binding::array(std::move(*found)) : nb::none();
}

nb::object corrected(const std::vector<std::pair<Vector, Vector>> &columns, const Vector &residual, double limit)
{
    std::vector<SecantColumn> secants;
    for (const auto &[change, answer] : columns) {
        check_size(change.size(), residual.size(), "a column");
        check_size(answer.size(), residual.size(), "a column");
        secants.push_back({span_of(change), span_of(answer)});
    }
    return array(correction(secants, span_of(residual), limit));
}

nb::object exponential_of(const Matrix &array)
{
    DenseMatrix matrix = dense_from(array);
    check_square(matrix);
    return ssptool::binding::array(exponential(std::move(matrix)));
}

nb::object response(const Matrix &a, const Matrix &b, double h, const std::vector<int> &orders)
{
    const DenseMatrix states = dense_from(a), inputs = dense_from(b);
    check_square(states);
    check_size(inputs.rows, states.rows, "a column");
    check_size(orders.size(), inputs.columns, "the list of orders");
    return array(step_response(states, inputs, h, orders));
}

} // namespace

void bind_dense(nb::module_ &module)
{
    nb::class_<FullPivotLu>(module, "NativeLu")
        .def(
            "__init__", [](FullPivotLu *self, const Matrix &matrix) { new (self) FullPivotLu(factorized(matrix)); },
            "matrix"_a)
        .def_prop_ro("rank", &FullPivotLu::rank)
        .def_prop_ro("smallest_pivot", &FullPivotLu::smallest_pivot)
        .def_prop_ro("largest_pivot", &FullPivotLu::largest_pivot)
        .def_prop_ro("last_pivot", &FullPivotLu::last_pivot)
        .def("regular", &FullPivotLu::regular, "precision"_a)
        .def(
            "solve",
            [](const FullPivotLu &self, const Vector &right) {
                check_size(right.size(), self.size(), "the right-hand side");
                return array(self.solve(span_of(right)));
            },
            "right"_a)
        .def("inverse", [](const FullPivotLu &self) { return array(self.inverse()); })
        .def("null_vector", [](const FullPivotLu &self) { return array(self.null_vector()); });
    module.def("inverse_of", &inverse, "matrix"_a);
    module.def("exponential", &exponential_of, "matrix"_a);
    module.def("step_response", &response, "a"_a, "b"_a, "h"_a, "orders"_a);
    module.def("correction", &corrected, "columns"_a, "residual"_a, "limit"_a);
}

} // namespace ssptool::binding
