// Conversions between Python objects and objects of the kernel.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "../core/dense.hpp"
#include "../core/kernel.hpp"

namespace ssptool::binding {

namespace nb = nanobind;

using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Numbers = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Rows = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Number = std::int64_t;  // an index from Python: a negative one becomes too large and is refused as that
using Unlocked = nb::gil_scoped_release;

template <class T>
T attribute(nb::handle object, const char* name) {
  return nb::cast<T>(object.attr(name));
}

inline std::span<const double> span_of(const Vector& vector) { return {vector.data(), vector.size()}; }

// Any sequence of numbers, such as a tuple or an array.
template <class T>
std::vector<T> numbers(nb::handle sequence) {
  std::vector<T> result;
  for (const nb::handle item : sequence) result.push_back(nb::cast<T>(item));
  return result;
}

template <class T>
std::vector<T> indices(nb::handle sequence) {
  std::vector<T> result;
  for (const nb::handle item : sequence) result.push_back(static_cast<T>(nb::cast<Number>(item)));
  return result;
}

inline Index index(Number number) { return static_cast<Index>(number); }
inline void* address(nb::handle number) { return reinterpret_cast<void*>(nb::cast<std::uintptr_t>(number)); }

// A one-dimensional array.
std::vector<double> doubles(nb::handle array);

// A new array with these numbers.
template <class T>
nb::object array(std::vector<T> numbers) {
  auto* result = new std::vector<T>(std::move(numbers));
  const nb::capsule owner(result, [](void* data) noexcept { delete static_cast<std::vector<T>*>(data); });
  const std::size_t shape[] = {result->size()};
  return nb::cast(nb::ndarray<nb::numpy, T>(result->data(), 1, shape, owner));
}

// A new two-dimensional array.
nb::object array(DenseMatrix);
// A new array of truth values.
nb::object array(const std::vector<bool>&);

Call call_from(nb::handle call);
// Names of functions → their addresses.
FunctionTable function_table(nb::handle functions);

}  // namespace ssptool::binding
