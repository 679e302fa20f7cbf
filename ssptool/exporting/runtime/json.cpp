#include "json.hpp"

#include <cmath>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#define JSON_NO_IO
#include <nlohmann/json.hpp>

namespace ssptool::runtime {

struct JsonNode {
  using Array = std::vector<JsonNode>;
  // Of two members with one name, the last counts.
  struct Object {
    std::vector<std::string> names;
    Array values;
  };
  using Content = std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, Array, Object>;

  JsonNode() = default;
  template <class T>
  explicit JsonNode(T value) : content(std::move(value)) {}

  Content content;
};

namespace {

constexpr std::size_t deepest = 200;  // destructors call themselves for what is inside

// Makes the tree of what the parser of the library finds, which calls these functions in the order of the text.
class TreeBuilder {
 public:
  bool null() { return add({}), true; }
  bool boolean(bool value) { return add(JsonNode(value)), true; }
  bool number_integer(std::int64_t value) { return add(JsonNode(value)), true; }
  bool number_unsigned(std::uint64_t value) { return add(JsonNode(value)), true; }
  bool number_float(double value, const std::string&) { return add(JsonNode(value)), true; }
  bool string(std::string& value) { return add(JsonNode(std::move(value))), true; }
  bool binary(nlohmann::json::binary_t&) { return false; }  // not in texts
  bool start_object(std::size_t) { return open(JsonNode(JsonNode::Object())); }
  bool start_array(std::size_t) { return open(JsonNode(JsonNode::Array())); }
  bool end_object() { return open_.pop_back(), true; }
  bool end_array() { return open_.pop_back(), true; }

  bool key(std::string& name) {
    std::get<JsonNode::Object>(open_.back()->content).names.push_back(std::move(name));
    return true;
  }

  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& error) {
    throw JsonError(error.what());
  }

  JsonNode whole;

 private:
  JsonNode& add(JsonNode&& node) {
    if (open_.empty()) return whole = std::move(node);
    auto& content = open_.back()->content;
    if (auto* const array = std::get_if<JsonNode::Array>(&content)) return array->emplace_back(std::move(node));
    return std::get<JsonNode::Object>(content).values.emplace_back(std::move(node));
  }

  bool open(JsonNode&& node) {
    if (open_.size() == deepest) throw JsonError("there are too many levels");
    open_.push_back(&add(std::move(node)));
    return true;
  }

  // Arrays and objects that have not ended, each in the one before, which gets nothing meanwhile.
  std::vector<JsonNode*> open_;
};

[[noreturn]] void refuse_type(const char* wanted) { throw JsonError(std::string("a value is not ") + wanted); }

template <class T>
const T& content_as(const JsonNode& node, const char* wanted) {
  if (const T* found = std::get_if<T>(&node.content)) return *found;
  refuse_type(wanted);
}

const JsonNode* member(const JsonNode& node, const char* name) {
  const auto& object = content_as<JsonNode::Object>(node, "an object");
  for (std::size_t i = object.names.size(); i-- > 0;)
    if (object.names[i] == name) return &object.values[i];
  return nullptr;
}

// JSON has no numbers that are not finite: they are texts, as xs:double spells them.
double real_number(const JsonNode& node) {
  if (const auto* name = std::get_if<std::string>(&node.content)) {
    if (*name == "INF") return HUGE_VAL;
    if (*name == "-INF") return -HUGE_VAL;
    if (*name == "NaN") return std::nan("");
  }
  if (const auto* number = std::get_if<double>(&node.content)) return *number;
  if (const auto* number = std::get_if<std::int64_t>(&node.content)) return static_cast<double>(*number);
  return static_cast<double>(content_as<std::uint64_t>(node, "a number"));
}

// A negative one as its complement.
std::uint64_t whole_number(const JsonNode& node) {
  if (const auto* number = std::get_if<std::int64_t>(&node.content)) return static_cast<std::uint64_t>(*number);
  return content_as<std::uint64_t>(node, "an integer");
}

template <class T>
struct Read {
  static T from(const JsonNode& node) {
    if constexpr (std::is_same_v<T, bool>)
      return content_as<bool>(node, "true or false");
    else if constexpr (std::is_integral_v<T>)
      return static_cast<T>(whole_number(node));
    else if constexpr (std::is_same_v<T, double>)
      return real_number(node);
    else
      return content_as<T>(node, "a text");
  }
};

const JsonNode& element(const JsonNode& node, std::size_t place) {
  const auto& array = content_as<JsonNode::Array>(node, "an array");
  if (place < array.size()) return array[place];
  throw JsonError("an array has only " + std::to_string(array.size()) + " values");
}

template <class T>
struct Read<std::vector<T>> {
  static std::vector<T> from(const JsonNode& node) {
    std::vector<T> found;
    for (const JsonNode& item : content_as<JsonNode::Array>(node, "an array")) found.push_back(Read<T>::from(item));
    return found;
  }
};

template <class A, class B>
struct Read<std::pair<A, B>> {
  static std::pair<A, B> from(const JsonNode& node) {
    return {Read<A>::from(element(node, 0)), Read<B>::from(element(node, 1))};
  }
};

}  // namespace

bool Json::contains(const char* name) const { return member(*value_, name) != nullptr; }

Json Json::at(const char* name) const {
  if (const JsonNode* found = member(*value_, name)) return Json(*found);
  throw JsonError(std::string("there is no ") + name);
}

std::size_t Json::size() const noexcept {
  const auto* const array = std::get_if<JsonNode::Array>(&value_->content);
  return array != nullptr ? array->size() : 0;
}

Json Json::operator[](std::size_t place) const { return Json(element(*value_, place)); }

bool Json::is_null() const noexcept { return std::holds_alternative<std::monostate>(value_->content); }
bool Json::is_string() const noexcept { return std::holds_alternative<std::string>(value_->content); }
bool Json::is_object() const noexcept { return std::holds_alternative<JsonNode::Object>(value_->content); }
bool Json::is_boolean() const noexcept { return std::holds_alternative<bool>(value_->content); }
bool Json::is_integer() const noexcept {
  return std::holds_alternative<std::int64_t>(value_->content) ||
         std::holds_alternative<std::uint64_t>(value_->content);
}

template <class T>
T Json::get() const {
  return Read<T>::from(*value_);
}

template bool Json::get() const;
template int Json::get() const;
template std::int64_t Json::get() const;
template std::uint32_t Json::get() const;
template std::size_t Json::get() const;
template double Json::get() const;
template std::string Json::get() const;
template std::vector<std::uint32_t> Json::get() const;
template std::vector<std::size_t> Json::get() const;
template std::vector<double> Json::get() const;
template std::vector<std::string> Json::get() const;
template std::vector<std::vector<std::size_t>> Json::get() const;
template std::vector<std::vector<double>> Json::get() const;
template std::vector<std::pair<std::size_t, std::size_t>> Json::get() const;
template std::vector<std::pair<double, double>> Json::get() const;

void read_json(const std::string& text, const std::function<void(Json)>& function) {
  TreeBuilder builder;
  nlohmann::json::sax_parse(text, &builder);
  function(Json(builder.whole));
}

}  // namespace ssptool::runtime
