// The variables of an instance: slots of eight bytes on one side, what FMI functions take on the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "fmi.hpp"
#include "slot_values.hpp"

namespace ssptool {

// Machine types. `held` is a double that is set before a step and has no part in what inputs do over it. FMI 1.0 has
// booleans of 8 bits like FMI 3.0, FMI 2.0 of 32; enumerations are int32 there and int64 in FMI 3.0.
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

// How a type is called in the tables that come from Python; none if that version of FMI does not have it.
std::optional<Type> machine_type(std::string_view name, int fmi_major) noexcept;

// The functions that set and get variables of a type; null if that version of FMI does not have it.
struct AccessNames {
  const char *set, *get;
};
AccessNames access_names(Type, int fmi_major) noexcept;

// Variables of one type that are set or got together, and the memory that the FMU is given.
struct Typed {
  Type type;
  std::vector<Slot> slots;
  std::vector<fmi::Reference> references;  // of an array one
  std::vector<std::uint64_t> memory;       // for machine types of up to eight bytes
  std::vector<std::size_t> sizes;          // of what is binary, whose addresses are in the memory

  // Fill the memory from slots; the rank of the first value that does not fit the type, if there is one.
  std::optional<std::size_t> pack(const double* values, const StringTable&);
  // Fill slots from the memory; the rank of the first value that is nan or inf, if there is one.
  std::optional<std::size_t> unpack(double* values, StringTable&);
};

// Variables: slots, references, types and elements of the same rank belong together.
struct Variables {
  std::vector<Slot> slots;
  std::vector<fmi::Reference> references;
  std::vector<Type> types;
  std::vector<std::size_t> elements;  // the place in an array; 0 of scalars

  // What FMI functions take: of an array one.
  [[nodiscard]] std::vector<fmi::Reference> distinct() const {
    std::vector<fmi::Reference> found;
    for (std::size_t i = 0; i < references.size(); ++i)
      if (elements[i] == 0) found.push_back(references[i]);
    return found;
  }
};

// Those of one type.
Variables of_type(const Variables&, Type);

// The known ones in these slots, of an array all or none; throws for others. `kind` is what they are, in words.
Variables some_of(const Variables& known, const std::vector<Slot>& slots, const char* kind);

// All but those of type Float64, by type.
std::vector<Typed> by_type(const Variables&);

}  // namespace ssptool
