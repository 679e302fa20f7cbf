#include "conversions.hpp"

#include <algorithm>
#include <map>

namespace ssptool::binding {

// A one-dimensional array.
std::vector<double> doubles(nb::handle array) {
  const auto view = nb::cast<Vector>(array);
  return {view.data(), view.data() + view.size()};
}

nb::object array(DenseMatrix matrix) {
  auto* numbers = new std::vector<double>(std::move(matrix.elements));
  const nb::capsule owner(numbers, [](void* data) noexcept { delete static_cast<std::vector<double>*>(data); });
  const std::size_t shape[] = {matrix.rows, matrix.columns};
  return nb::cast(nb::ndarray<nb::numpy, double>(numbers->data(), 2, shape, owner));
}

nb::object array(const std::vector<bool>& truths) {
  auto* values = new bool[truths.size()];
  const nb::capsule owner(values, [](void* data) noexcept { delete[] static_cast<bool*>(data); });
  std::copy(truths.begin(), truths.end(), values);
  const std::size_t shape[] = {truths.size()};
  return nb::cast(nb::ndarray<nb::numpy, bool>(values, 1, shape, owner));
}

Call call_from(nb::handle call) {
  return {static_cast<Index>(attribute<Number>(call, "instance")), indices<Slot>(call.attr("inputs")),
          indices<Slot>(call.attr("outputs"))};
}

FunctionTable function_table(nb::handle functions) {
  std::map<std::string, void*> addresses;
  for (const nb::handle name : functions) addresses[nb::cast<std::string>(name)] = address(functions[name]);
  return FunctionTable(std::move(addresses));
}

}  // namespace ssptool::binding
