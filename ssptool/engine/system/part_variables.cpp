// Values of the variables of a part, by the types of FMI 2.0 and 3.0.
#include <algorithm>
#include <limits>
#include <utility>

#include "part.hpp"

namespace ssptool::runtime {

namespace {

[[noreturn]] void throw_out_of_range(std::int64_t value, std::int64_t least, std::int64_t most) {
  throw std::runtime_error(std::to_string(value) + " is not within " + std::to_string(least) + " to " +
                           std::to_string(most));
}

// Converts to a machine type of FMI; unsigned 64-bit integers are stored as signed ones with the same bits.
template <class T>
T as(const Value& value) {
  if (const auto* number = std::get_if<double>(&value)) return static_cast<T>(*number);
  const auto* integer = std::get_if<std::int64_t>(&value);
  if (integer == nullptr) throw std::runtime_error("found a string where a number is needed");
  if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool> && sizeof(T) < sizeof(std::int64_t))
    if (!std::in_range<T>(*integer))
      throw_out_of_range(*integer, std::numeric_limits<T>::min(), std::numeric_limits<T>::max());
  return static_cast<T>(*integer);
}

template <>
const char* as<const char*>(const Value& value) {
  return std::get<std::string>(value).c_str();
}

template <class T>
Value from(T value) {
  if constexpr (std::is_floating_point_v<T>) return static_cast<double>(value);
  if constexpr (std::is_integral_v<T>) return static_cast<std::int64_t>(value);
}

template <>
Value from(const char* text) {
  return std::string(text == nullptr ? "" : text);
}

}  // namespace

template <class T>
int Part::put(const VariableSet& set) {
  const auto values = std::make_unique<T[]>(set.values.size());
  std::transform(set.values.begin(), set.values.end(), values.get(), &as<T>);
  const fmi::Reference* const references = set.references.data();
  const std::size_t count = set.references.size();
  const std::string name = function("Set", set.suffix);
  if (plan_.fmi_major < 3)
    return functions_.find<int(void*, const fmi::Reference*, std::size_t, const T*)>(name.c_str())(
        component_, references, count, values.get());
  return functions_.find<int(void*, const fmi::Reference*, std::size_t, const T*, std::size_t)>(name.c_str())(
      component_, references, count, values.get(), set.values.size());
}

template <class T>
int Part::fetch(const VariableSet& set, std::size_t size, std::vector<Value>& found) {
  const fmi::Reference* const references = set.references.data();
  const std::size_t count = set.references.size();
  const auto values = std::make_unique<T[]>(size);
  const std::string name = function("Get", set.suffix);
  const int status = plan_.fmi_major < 3
                         ? functions_.find<int(void*, const fmi::Reference*, std::size_t, T*)>(name.c_str())(
                               component_, references, count, values.get())
                         : functions_.find<int(void*, const fmi::Reference*, std::size_t, T*, std::size_t)>(
                               name.c_str())(component_, references, count, values.get(), size);
  for (std::size_t i = 0; status <= fmi::warning && i < size; ++i) found.push_back(from<T>(values[i]));
  return status;
}

int Part::put_binary(const VariableSet& set) {
  using Put =
      int(void*, const fmi::Reference*, std::size_t, const std::size_t*, const std::uint8_t* const*, std::size_t);
  std::vector<std::size_t> sizes;
  std::vector<const std::uint8_t*> contents;
  for (const Value& value : set.values) {
    const auto& bytes = std::get<std::string>(value);
    sizes.push_back(bytes.size());
    contents.push_back(reinterpret_cast<const std::uint8_t*>(bytes.data()));
  }
  return functions_.find<Put>("fmi3SetBinary")(component_, set.references.data(), set.references.size(), sizes.data(),
                                               contents.data(), contents.size());
}

int Part::fetch_binary(const VariableSet& set, std::size_t size, std::vector<Value>& found) {
  using Fetch = int(void*, const fmi::Reference*, std::size_t, std::size_t*, const std::uint8_t**, std::size_t);
  std::vector<std::size_t> sizes(size);
  std::vector<const std::uint8_t*> contents(size);
  const int status = functions_.find<Fetch>("fmi3GetBinary")(component_, set.references.data(), set.references.size(),
                                                             sizes.data(), contents.data(), size);
  for (std::size_t i = 0; status <= fmi::warning && i < size; ++i)
    found.emplace_back(sizes[i] == 0 ? std::string()
                                     : std::string(reinterpret_cast<const char*>(contents[i]), sizes[i]));
  return status;
}

// By the suffix of the function names; booleans have 8 bits in FMI 1.0, 32 in FMI 2.0.
const Part::TypeAccess& Part::access(const std::string& suffix) const {
  static const TypeAccess boolean_of_fmi1{&Part::put<signed char>, &Part::fetch<signed char>};
  static const std::map<std::string, TypeAccess> before_fmi3{
      {"Real", {&Part::put<double>, &Part::fetch<double>}},
      {"Integer", {&Part::put<std::int32_t>, &Part::fetch<std::int32_t>}},
      {"Boolean", {&Part::put<std::int32_t>, &Part::fetch<std::int32_t>}},
      {"String", {&Part::put<const char*>, &Part::fetch<const char*>}},
  };
  static const std::map<std::string, TypeAccess> of_fmi3{
      {"Float64", {&Part::put<double>, &Part::fetch<double>}},
      {"Float32", {&Part::put<float>, &Part::fetch<float>}},
      {"Int8", {&Part::put<std::int8_t>, &Part::fetch<std::int8_t>}},
      {"UInt8", {&Part::put<std::uint8_t>, &Part::fetch<std::uint8_t>}},
      {"Int16", {&Part::put<std::int16_t>, &Part::fetch<std::int16_t>}},
      {"UInt16", {&Part::put<std::uint16_t>, &Part::fetch<std::uint16_t>}},
      {"Int32", {&Part::put<std::int32_t>, &Part::fetch<std::int32_t>}},
      {"UInt32", {&Part::put<std::uint32_t>, &Part::fetch<std::uint32_t>}},
      {"Int64", {&Part::put<std::int64_t>, &Part::fetch<std::int64_t>}},
      {"UInt64", {&Part::put<std::uint64_t>, &Part::fetch<std::uint64_t>}},
      {"Boolean", {&Part::put<bool>, &Part::fetch<bool>}},
      {"String", {&Part::put<const char*>, &Part::fetch<const char*>}},
      {"Binary", {&Part::put_binary, &Part::fetch_binary}},
  };
  if (plan_.fmi_major < 2 && suffix == "Boolean") return boolean_of_fmi1;
  const auto& known = plan_.fmi_major < 3 ? before_fmi3 : of_fmi3;
  const auto found = known.find(suffix);
  if (found == known.end())
    throw Refused(Status::error, "component " + plan_.name + ": variables of type " + suffix + " are not supported");
  return found->second;
}

std::string Part::function(const char* verb, const std::string& suffix) const {
  return prefix_of(plan_.fmi_major) + verb + suffix;
}

void Part::set(const VariableSet& set) {
  check(function("Set", set.suffix).c_str(), (this->*access(set.suffix).put)(set));
}

std::vector<Value> Part::get(const VariableSet& set) {
  std::vector<Value> found;
  const std::size_t size = std::max(set.slots.size(), set.references.size());
  check(function("Get", set.suffix).c_str(), (this->*access(set.suffix).fetch)(set, size, found));
  return found;
}

void Part::set(const PartVariable& variable, std::vector<Value> values) {
  set(VariableSet{variable.suffix, {variable.reference}, std::move(values), {}});
}

std::vector<Value> Part::get(const PartVariable& variable) {
  std::vector<Value> found;
  check(function("Get", variable.suffix).c_str(),
        (this->*access(variable.suffix).fetch)({variable.suffix, {variable.reference}, {}, {}}, variable.size, found));
  return found;
}

}  // namespace ssptool::runtime
