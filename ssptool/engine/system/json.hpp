// Values of JSON by name, without the templates of the library that reads them: each file that includes them would take
// a minute to compile with sanitizers. Its parser alone is used, not its tree: that is 43 kB larger than this one, and
// the runtime is in every exported FMU once for each platform.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>

namespace ssptool::runtime {

// A text that is no JSON, with the line of what is wrong, or a value that is missing or wrong, with its place, such as
// "wires[3].to".
struct JsonError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct JsonNode;

// A view of a value; it lives as long as the text is read (see `read_json`).
class Json {
 public:
  explicit Json(const JsonNode& value) noexcept : value_(&value) {}

  // Of an object; `at` names what is missing.
  [[nodiscard]] bool contains(const char* name) const;
  [[nodiscard]] Json at(const char* name) const;
  // Of an array.
  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] Json operator[](std::size_t place) const;

  // All functions from here to `get` throw unless the value is as stated.
  // An array of so many values; at least so many.
  Json sized(std::size_t count) const;
  Json at_least(std::size_t count) const;
  // An integer ≥ 0 below the limit; within these bounds; a word, by its place among these.
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
  [[nodiscard]] bool is_negative() const noexcept;  // an integer

  // Made for the types at the end of json.cpp.
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

// Gives the value of a text to a function. Throws JsonError, also for what the function asks of the value in vain.
void read_json(const std::string& text, const std::function<void(Json)>& function);

}  // namespace ssptool::runtime
