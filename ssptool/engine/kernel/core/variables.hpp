// The variables of an instance: slots of eight bytes, and the arguments of FMI functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "fmi.hpp"
#include "slot_values.hpp"

namespace ssptool {

// Machine types. `held` is a double that is set before a step and does not vary over it. Booleans have 8 bits in FMI
// 1.0 and 3.0, 32 bits in FMI 2.0; enumerations are int32 in FMI 1.0 and 2.0, int64 in FMI 3.0.
enum class Type {
  float64,
  held,
  float32,
  int8,
  uint8,
  int16,
  uint16,
  int32,
  uint32,
  int64,
  uint64,
  boolean,
  boolean32,
  string,
  binary
};

// The type with this name in tables from Python; none if this version of FMI does not have it.
std::optional<Type> machine_type(std::string_view name, int fmi_major) noexcept;

// Functions that set and get variables of a type; null if this version of FMI does not have it.
struct AccessNames {
  const char *set, *get;
};
AccessNames access_names(Type, int fmi_major) noexcept;

// Variables of one type that are set or got together, and the memory for the FMU.
struct Typed {
  Type type;
  std::vector<Slot> slots;
  std::vector<fmi::Reference> references;  // an array has a single one
  std::vector<std::uint64_t> memory;       // for machine types of up to eight bytes
  std::vector<std::size_t> sizes;          // of binary data, whose addresses are in the memory

  // Fills the memory from slots; returns the rank of the first value that does not fit the type, if any.
  std::optional<std::size_t> pack(const double* values, const StringTable&);
  // Fills slots from the memory; returns the rank of the first value that is nan or inf, if any.
  std::optional<std::size_t> unpack(double* values, StringTable&);
};

// Variables: slots, references, types and elements with the same index belong together.
struct Variables {
  std::vector<Slot> slots;
  std::vector<fmi::Reference> references;
  std::vector<Type> types;
  std::vector<std::size_t> elements;  // index in an array; 0 for scalars

  // The arguments of FMI functions: an array has one reference.
  [[nodiscard]] std::vector<fmi::Reference> distinct() const {
    std::vector<fmi::Reference> found;
    for (std::size_t i = 0; i < references.size(); ++i)
      if (elements[i] == 0) found.push_back(references[i]);
    return found;
  }
};

// Those of one type.
Variables of_type(const Variables&, Type);

// The known variables in these slots; arrays must be complete; throws for others. `kind` names them in messages.
Variables some_of(const Variables& known, const std::vector<Slot>& slots, const char* kind);

// All except Float64, by type.
std::vector<Typed> by_type(const Variables&);

}  // namespace ssptool
