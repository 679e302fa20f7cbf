// Access to JSON values by name, without the templates of the library that reads them: they would add a minute to the
// compilation of each file with sanitizers. Only the parser of that library is used; its tree would add 43 kB more than
// this one to the runtime, which is in every exported FMU once for each platform.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>

namespace ssptool::runtime {

// A text that is not JSON (the message contains the line of the error), or a value that is missing or wrong (with its
// place, such as "wires[3].to").
struct JsonError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct JsonNode;

// A view of a value; it is valid while the text is being read (see `read_json`).
class Json {
 public:
  explicit Json(const JsonNode& value) noexcept : value_(&value) {}

  // For an object; `at` reports the name of a missing member.
  [[nodiscard]] bool contains(const char* name) const;
  [[nodiscard]] Json at(const char* name) const;
  // For an array.
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] Json operator[](std::size_t place) const;

  // All functions from here to `get` throw if the value is not as required. Here: an array of exactly, or at least,
  // `count` values.
  Json sized(std::size_t count) const;
  Json at_least(std::size_t count) const;
  // An integer ≥ 0 below a limit; an integer within bounds; the place of a word in a list.
  [[nodiscard]] std::size_t below(std::size_t limit) const;
  [[nodiscard]] std::int64_t between(std::int64_t least, std::int64_t most) const;
  [[nodiscard]] std::size_t one_of(std::initializer_list<std::string_view> words) const;
  void require(bool right, const char* wanted) const;
  [[noreturn]] void refuse(const std::string& wanted) const;

  [[nodiscard]] bool is_null() const noexcept;
  [[nodiscard]] bool is_string() const noexcept;
  [[nodiscard]] bool is_object() const noexcept;
  [[nodiscard]] bool is_boolean() const noexcept;
  [[nodiscard]] bool is_integer() const noexcept;
  [[nodiscard]] bool is_negative() const noexcept;  // for an integer

  // Instantiated for the types at the end of json.cpp.
  template <class T>
  [[nodiscard]] T get() const;
  template <class T>
  [[nodiscard]] T value(const char* name, T otherwise) const {
    return contains(name) ? at(name).get<T>() : otherwise;
  }

  class Items;
  [[nodiscard]] Items begin() const noexcept;
  [[nodiscard]] Items end() const;

 private:
  const JsonNode* value_;
};

class Json::Items {
 public:
  Items(Json array, std::size_t place) noexcept : array_(array), place_(place) {}
  Json operator*() const { return array_[place_]; }
  Items& operator++() noexcept { return ++place_, *this; }
  bool operator!=(const Items& other) const noexcept { return place_ != other.place_; }

 private:
  Json array_;
  std::size_t place_;
};

inline Json::Items Json::begin() const noexcept { return {*this, 0}; }
inline Json::Items Json::end() const { return {*this, size()}; }

// Parses a text and passes its value to a function. Throws JsonError, also for wrong values that the function
// encounters.
void read_json(const std::string& text, const std::function<void(Json)>& function);

}  // namespace ssptool::runtime
