// Variables of all types but Float64: cells of eight bytes on one side, what FMI functions take on the other.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "fmi.hpp"
#include "window.hpp"

namespace ssptool {

// Machine types. FMI 1.0 has booleans of 8 bits like FMI 3.0, FMI 2.0 of 32; enumerations are int32 there and int64 in
// FMI 3.0.
enum class Type {
  float64,
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

inline std::int64_t as_integer(double cell) noexcept { return std::bit_cast<std::int64_t>(cell); }
inline double as_cell(std::int64_t number) noexcept { return std::bit_cast<double>(number); }

// Texts that a kernel has met, and what binary variables had, by number; 0 is the empty one. No number means another
// text later.
class Texts {
 public:
  Texts() { number({}, true); }
  Texts(const Texts&) = delete;
  Texts& operator=(const Texts&) = delete;
  ~Texts() = default;

  // So many numbers were given out.
  [[nodiscard]] std::int64_t size() const noexcept { return next_; }
  // Memory that they take, about.
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  // Null if no text has this number, or it is forgotten.
  [[nodiscard]] const std::string* find(std::int64_t number) const;
  [[nodiscard]] const std::string& at(std::int64_t number) const { return all_.at(number).text; }
  std::int64_t number(std::string_view text, bool keep = false);
  // All that are not to be kept and not among the needed ones, which are in order; gives their numbers, in order.
  std::vector<std::int64_t> forget(std::span<const std::int64_t> needed);

 private:
  struct Entry {
    std::string text;
    bool keep;
  };
  std::unordered_map<std::int64_t, Entry> all_;  // strings stay where they are
  std::unordered_map<std::string_view, std::int64_t> numbers_;
  std::int64_t next_ = 0;
  std::size_t bytes_ = 0;
};

// Variables of one type that are set or got together, and the memory that the FMU is given.
struct Typed {
  Type type;
  std::vector<Slot> slots;
  std::vector<fmi::Reference> references;  // of an array one
  std::vector<std::uint64_t> memory;       // for machine types of up to eight bytes
  std::vector<std::size_t> sizes;          // of what is binary, whose addresses are in the memory

  // Fill the memory from cells; the rank of the first value that does not fit the type, if there is one.
  std::optional<std::size_t> pack(const double* cells, const Texts&);
  // Fill cells from the memory; the rank of the first value that is nan or inf, if there is one.
  std::optional<std::size_t> unpack(double* cells, Texts&);
};

}  // namespace ssptool
