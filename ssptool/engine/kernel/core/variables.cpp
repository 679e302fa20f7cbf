#include "variables.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

namespace ssptool {

namespace {

struct Row {
  std::string_view name;  // in the tables from Python
  int fmi_major;
  Type type;
  AccessNames functions;
};

constexpr std::array rows = {
    Row{"Float64", 1, Type::float64, {"fmiSetReal", "fmiGetReal"}},
    Row{"held Float64", 1, Type::held, {"fmiSetReal", "fmiGetReal"}},
    Row{"Int32", 1, Type::int32, {"fmiSetInteger", "fmiGetInteger"}},
    Row{"Boolean", 1, Type::boolean, {"fmiSetBoolean", "fmiGetBoolean"}},
    Row{"Enumeration", 1, Type::int32, {"fmiSetInteger", "fmiGetInteger"}},
    Row{"String", 1, Type::string, {"fmiSetString", "fmiGetString"}},
    Row{"Float64", 2, Type::float64, {"fmi2SetReal", "fmi2GetReal"}},
    Row{"held Float64", 2, Type::held, {"fmi2SetReal", "fmi2GetReal"}},
    Row{"Int32", 2, Type::int32, {"fmi2SetInteger", "fmi2GetInteger"}},
    Row{"Boolean", 2, Type::boolean32, {"fmi2SetBoolean", "fmi2GetBoolean"}},
    Row{"Enumeration", 2, Type::int32, {"fmi2SetInteger", "fmi2GetInteger"}},
    Row{"String", 2, Type::string, {"fmi2SetString", "fmi2GetString"}},
    Row{"Float64", 3, Type::float64, {"fmi3SetFloat64", "fmi3GetFloat64"}},
    Row{"held Float64", 3, Type::held, {"fmi3SetFloat64", "fmi3GetFloat64"}},
    Row{"Float32", 3, Type::float32, {"fmi3SetFloat32", "fmi3GetFloat32"}},
    Row{"Int8", 3, Type::int8, {"fmi3SetInt8", "fmi3GetInt8"}},
    Row{"UInt8", 3, Type::uint8, {"fmi3SetUInt8", "fmi3GetUInt8"}},
    Row{"Int16", 3, Type::int16, {"fmi3SetInt16", "fmi3GetInt16"}},
    Row{"UInt16", 3, Type::uint16, {"fmi3SetUInt16", "fmi3GetUInt16"}},
    Row{"Int32", 3, Type::int32, {"fmi3SetInt32", "fmi3GetInt32"}},
    Row{"UInt32", 3, Type::uint32, {"fmi3SetUInt32", "fmi3GetUInt32"}},
    Row{"Int64", 3, Type::int64, {"fmi3SetInt64", "fmi3GetInt64"}},
    Row{"UInt64", 3, Type::uint64, {"fmi3SetUInt64", "fmi3GetUInt64"}},
    Row{"Boolean", 3, Type::boolean, {"fmi3SetBoolean", "fmi3GetBoolean"}},
    Row{"String", 3, Type::string, {"fmi3SetString", "fmi3GetString"}},
    Row{"Enumeration", 3, Type::int64, {"fmi3SetInt64", "fmi3GetInt64"}},
    Row{"Binary", 3, Type::binary, {"fmi3SetBinary", "fmi3GetBinary"}},
};

// Calls `visit` with a pointer of the machine type to the memory.
template <class Visit>
auto on_integers(Type type, std::uint64_t* memory, Visit visit) {
  switch (type) {
    case Type::int8: return visit(reinterpret_cast<std::int8_t*>(memory));
    case Type::uint8: return visit(reinterpret_cast<std::uint8_t*>(memory));
    case Type::int16: return visit(reinterpret_cast<std::int16_t*>(memory));
    case Type::uint16: return visit(reinterpret_cast<std::uint16_t*>(memory));
    case Type::int32: return visit(reinterpret_cast<std::int32_t*>(memory));
    case Type::uint32: return visit(reinterpret_cast<std::uint32_t*>(memory));
    case Type::uint64: return visit(reinterpret_cast<std::uint64_t*>(memory));
    default: return visit(reinterpret_cast<std::int64_t*>(memory));
  }
}

// The rank of the first value that is nan or inf, if any.
template <class Real>
std::optional<std::size_t> unpack_reals(const Real* in, const std::vector<Slot>& slots, double* values) {
  std::optional<std::size_t> wrong;
  for (std::size_t i = slots.size(); i-- > 0;) {
    values[slots[i]] = in[i];
    if (!std::isfinite(in[i])) wrong = i;
  }
  return wrong;
}

void add(Variables& found, const Variables& known, std::size_t rank) {
  found.slots.push_back(known.slots[rank]);
  found.references.push_back(known.references[rank]);
  found.types.push_back(known.types[rank]);
  found.elements.push_back(known.elements[rank]);
}

// FMI sets and gets arrays only as a whole.
void check_whole(const Variables& known, const std::vector<std::size_t>& ranks) {
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const std::size_t rank = ranks[i];
    const bool begins = known.elements[rank] == 0 || (i > 0 && ranks[i - 1] + 1 == rank);
    const bool last = rank + 1 == known.elements.size() || known.elements[rank + 1] == 0;
    if (!begins || !(last || (i + 1 < ranks.size() && ranks[i + 1] == rank + 1)))
      throw std::invalid_argument("slot " + std::to_string(known.slots[rank]) +
                                  " is an element of an array, which is set and got as a whole");
  }
}

}  // namespace

std::optional<Type> machine_type(std::string_view name, int fmi_major) noexcept {
  for (const Row& row : rows)
    if (row.fmi_major == fmi_major && row.name == name) return row.type;
  return std::nullopt;
}

AccessNames access_names(Type type, int fmi_major) noexcept {
  for (const Row& row : rows)
    if (row.fmi_major == fmi_major && row.type == type) return row.functions;
  return {nullptr, nullptr};
}

std::optional<std::size_t> Typed::pack(const double* values, const StringTable& contents) {
  const std::size_t n = slots.size();
  switch (type) {
    case Type::held: {
      auto* out = reinterpret_cast<double*>(memory.data());
      for (std::size_t i = 0; i < n; ++i) out[i] = values[slots[i]];
      return std::nullopt;
    }
    case Type::float32: {
      auto* out = reinterpret_cast<float*>(memory.data());
      for (std::size_t i = 0; i < n; ++i) {
        out[i] = static_cast<float>(values[slots[i]]);
        if (std::isinf(out[i]) && std::isfinite(values[slots[i]])) return i;
      }
      return std::nullopt;
    }
    case Type::boolean: {
      auto* out = reinterpret_cast<bool*>(memory.data());
      for (std::size_t i = 0; i < n; ++i) out[i] = as_integer(values[slots[i]]) != 0;
      return std::nullopt;
    }
    case Type::boolean32: {
      auto* out = reinterpret_cast<std::int32_t*>(memory.data());
      for (std::size_t i = 0; i < n; ++i) out[i] = as_integer(values[slots[i]]) != 0 ? 1 : 0;
      return std::nullopt;
    }
    case Type::string: {
      auto* out = reinterpret_cast<const char**>(memory.data());
      for (std::size_t i = 0; i < n; ++i) out[i] = contents.at(as_integer(values[slots[i]])).c_str();
      return std::nullopt;
    }
    case Type::binary: {
      auto* out = reinterpret_cast<const char**>(memory.data());
      for (std::size_t i = 0; i < n; ++i) {
        const std::string& content = contents.at(as_integer(values[slots[i]]));
        out[i] = content.data();
        sizes[i] = content.size();
      }
      return std::nullopt;
    }
    default: break;
  }
  return on_integers(type, memory.data(), [&]<class T>(T* out) -> std::optional<std::size_t> {
    for (std::size_t i = 0; i < n; ++i) {
      const std::int64_t number = as_integer(values[slots[i]]);
      out[i] = static_cast<T>(number);
      if (static_cast<std::int64_t>(out[i]) != number) return i;  // for UInt64, the same bits always fit
    }
    return std::nullopt;
  });
}

std::optional<std::size_t> Typed::unpack(double* values, StringTable& contents) {
  const std::size_t n = slots.size();
  switch (type) {
    case Type::held: return unpack_reals(reinterpret_cast<const double*>(memory.data()), slots, values);
    case Type::float32: return unpack_reals(reinterpret_cast<const float*>(memory.data()), slots, values);
    case Type::boolean: {
      // Bytes that are not a valid C bool count as true.
      const auto* in = reinterpret_cast<const std::uint8_t*>(memory.data());
      for (std::size_t i = 0; i < n; ++i) values[slots[i]] = as_double(in[i] != 0 ? 1 : 0);
      return std::nullopt;
    }
    case Type::boolean32: {
      const auto* in = reinterpret_cast<const std::int32_t*>(memory.data());
      for (std::size_t i = 0; i < n; ++i) values[slots[i]] = as_double(in[i] != 0 ? 1 : 0);
      return std::nullopt;
    }
    case Type::string: {
      const auto* in = reinterpret_cast<const char* const*>(memory.data());
      for (std::size_t i = 0; i < n; ++i) values[slots[i]] = as_double(in[i] == nullptr ? 0 : contents.number(in[i]));
      return std::nullopt;
    }
    case Type::binary: {
      // The pointers of an FMU are valid until its next call.
      const auto* in = reinterpret_cast<const char* const*>(memory.data());
      for (std::size_t i = 0; i < n; ++i)
        values[slots[i]] = as_double(in[i] == nullptr ? 0 : contents.number({in[i], sizes[i]}));
      return std::nullopt;
    }
    default: break;
  }
  return on_integers(type, memory.data(), [&]<class T>(const T* in) -> std::optional<std::size_t> {
    for (std::size_t i = 0; i < n; ++i) values[slots[i]] = as_double(static_cast<std::int64_t>(in[i]));
    return std::nullopt;
  });
}

Variables of_type(const Variables& variables, Type type) {
  Variables found;
  for (std::size_t i = 0; i < variables.slots.size(); ++i)
    if (variables.types[i] == type) add(found, variables, i);
  return found;
}

Variables some_of(const Variables& known, const std::vector<Slot>& slots, const char* kind) {
  Variables found;
  std::vector<std::size_t> ranks;
  auto from = known.slots.begin();  // place of the last one, because the order is usually the same
  for (const Slot slot : slots) {
    auto place = std::find(from, known.slots.end(), slot);
    if (place == known.slots.end()) place = std::find(known.slots.begin(), from, slot);
    if (place == from && (from == known.slots.end() || *from != slot))
      throw std::invalid_argument("slot " + std::to_string(slot) + " is not an " + kind + " of the instance called");
    from = place;
    ranks.push_back(static_cast<std::size_t>(place - known.slots.begin()));
    add(found, known, ranks.back());
  }
  check_whole(known, ranks);
  return found;
}

std::vector<Typed> by_type(const Variables& variables) {
  std::vector<Typed> found;
  for (Type type = Type::held; type <= Type::binary; type = static_cast<Type>(static_cast<int>(type) + 1)) {
    Variables own = of_type(variables, type);
    const std::size_t count = own.slots.size();
    if (count > 0)
      found.push_back({type, std::move(own.slots), own.distinct(), std::vector<std::uint64_t>(count),
                       std::vector<std::size_t>(type == Type::binary ? count : 0)});
  }
  return found;
}

}  // namespace ssptool
