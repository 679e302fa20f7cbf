#include "json.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#define JSON_NO_IO
#include <nlohmann/json.hpp>

#include "../kernel/core/digits.hpp"

namespace ssptool::runtime {

struct JsonNode {
  using Array = std::vector<JsonNode>;
  // If two members have the same name, the last one is used.
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

constexpr std::size_t deepest = 200;  // limit of nesting, because destructors are recursive

// Builds the tree; the parser of the library calls these functions in the order of the text.
class TreeBuilder {
 public:
  bool null() { return add({}), true; }
  bool boolean(bool value) { return add(JsonNode(value)), true; }
  bool number_integer(std::int64_t value) { return add(JsonNode(value)), true; }
  bool number_unsigned(std::uint64_t value) { return add(JsonNode(value)), true; }
  bool number_float(double value, const std::string&) { return add(JsonNode(value)), true; }
  bool string(std::string& value) { return add(JsonNode(std::move(value))), true; }
  bool binary(nlohmann::json::binary_t&) { return false; }  // does not occur in texts
  bool start_object(std::size_t) { return open(JsonNode(JsonNode::Object())); }
  bool start_array(std::size_t) { return open(JsonNode(JsonNode::Array())); }
  bool end_object() { return open_.pop_back(), true; }
  bool end_array() { return open_.pop_back(), true; }

  bool key(std::string& name) {
    std::get<JsonNode::Object>(open_.back()->content).names.push_back(std::move(name));
    return true;
  }

  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& error) {
    std::string message = error.what();  // may be cut within a UTF-8 sequence
    std::ranges::replace_if(message, [](char c) { return static_cast<unsigned char>(c) >= 0x80U; }, '?');
    throw JsonError(message);
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

  // Arrays and objects that are still open, from outside to inside; only the innermost one receives values.
  std::vector<JsonNode*> open_;
};

// A value of the wrong type or out of range.
struct WrongValue : JsonError {
  WrongValue(const JsonNode& node, const std::string& why) : JsonError(why), at(&node) {}
  const JsonNode* at;
};

constexpr std::size_t longest_shown = 60;

// The beginning of a text, cut between UTF-8 sequences.
std::string beginning(const std::string& text) {
  std::size_t size = std::min(text.size(), longest_shown);
  while (size < text.size() && size > 0 && (static_cast<unsigned char>(text[size]) & 0xC0U) == 0x80U) --size;
  return text.substr(0, size);
}

std::string shown(const JsonNode& node) {
  if (const auto* text = std::get_if<std::string>(&node.content)) return '"' + beginning(*text) + '"';
  if (const auto* truth = std::get_if<bool>(&node.content)) return *truth ? "true" : "false";
  if (const auto* number = std::get_if<std::int64_t>(&node.content)) return std::to_string(*number);
  if (const auto* number = std::get_if<std::uint64_t>(&node.content)) return std::to_string(*number);
  if (const auto* number = std::get_if<double>(&node.content)) return digits(*number, 17);
  if (std::holds_alternative<JsonNode::Array>(node.content)) return "an array";
  return std::holds_alternative<JsonNode::Object>(node.content) ? "an object" : "null";
}

[[noreturn]] void refuse_value(const JsonNode& node, const std::string& wanted) {
  throw WrongValue(node, " is " + shown(node) + ", must be " + wanted);
}

// Finds the place of a value in the tree; returns whether the tree contains the value.
bool find(const JsonNode& tree, const JsonNode& wanted, std::string& place) {
  if (&tree == &wanted) return true;
  const auto inside = [&](const JsonNode::Array& values, const auto& name) {
    for (std::size_t i = 0; i < values.size(); ++i)
      if (find(values[i], wanted, place)) return place.insert(0, name(i)), true;
    return false;
  };
  if (const auto* array = std::get_if<JsonNode::Array>(&tree.content))
    return inside(*array, [](std::size_t i) { return '[' + std::to_string(i) + ']'; });
  const auto* object = std::get_if<JsonNode::Object>(&tree.content);
  return object != nullptr && inside(object->values, [&](std::size_t i) { return '.' + object->names[i]; });
}

template <class T>
const T& content_as(const JsonNode& node, const char* wanted) {
  if (const T* found = std::get_if<T>(&node.content)) return *found;
  refuse_value(node, wanted);
}

const JsonNode* member(const JsonNode& node, const char* name) {
  const auto& object = content_as<JsonNode::Object>(node, "an object");
  for (std::size_t i = object.names.size(); i-- > 0;)
    if (object.names[i] == name) return &object.values[i];
  return nullptr;
}

// JSON has no non-finite numbers: they are written as texts, spelled as in xs:double.
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

// Negative numbers are stored as their two's complement.
std::uint64_t whole_number(const JsonNode& node, std::int64_t least, std::uint64_t most) {
  const auto* const number = std::get_if<std::int64_t>(&node.content);
  const auto* const natural = std::get_if<std::uint64_t>(&node.content);
  if (number != nullptr && *number >= least && std::cmp_less_equal(*number, most))
    return static_cast<std::uint64_t>(*number);
  if (natural != nullptr && *natural <= most && std::cmp_less_equal(least, *natural)) return *natural;
  refuse_value(node, "an integer from " + std::to_string(least) + " to " + std::to_string(most));
}

template <class T>
struct Read {
  static T from(const JsonNode& node) {
    if constexpr (std::is_same_v<T, bool>)
      return content_as<bool>(node, "true or false");
    else if constexpr (std::is_integral_v<T>)
      return static_cast<T>(whole_number(node, static_cast<std::int64_t>(std::numeric_limits<T>::min()),
                                         static_cast<std::uint64_t>(std::numeric_limits<T>::max())));
    else if constexpr (std::is_same_v<T, double>)
      return real_number(node);
    else
      return content_as<T>(node, "a text");
  }
};

const JsonNode::Array& array_of(const JsonNode& node) { return content_as<JsonNode::Array>(node, "an array"); }

[[noreturn]] void refuse_size(const JsonNode& node, std::size_t found, const std::string& wanted) {
  throw WrongValue(node, " has " + std::to_string(found) + " values, must have " + wanted);
}

const JsonNode& element(const JsonNode& node, std::size_t place) {
  const auto& array = array_of(node);
  if (place < array.size()) return array[place];
  refuse_size(node, array.size(), "more");
}

template <class T>
struct Read<std::vector<T>> {
  static std::vector<T> from(const JsonNode& node) {
    std::vector<T> found;
    for (const JsonNode& item : array_of(node)) found.push_back(Read<T>::from(item));
    return found;
  }
};

}  // namespace

bool Json::contains(const char* name) const { return member(*value_, name) != nullptr; }

Json Json::at(const char* name) const {
  if (const JsonNode* found = member(*value_, name)) return Json(*found);
  throw WrongValue(*value_, std::string(" has no ") + name);
}

std::size_t Json::size() const { return array_of(*value_).size(); }

Json Json::sized(std::size_t count) const {
  if (size() != count) refuse_size(*value_, size(), std::to_string(count));
  return *this;
}

Json Json::at_least(std::size_t count) const {
  if (size() < count) refuse_size(*value_, size(), "at least " + std::to_string(count));
  return *this;
}

std::size_t Json::below(std::size_t limit) const {
  if (limit == 0) refuse("left out, because there is nothing that it counts");
  return static_cast<std::size_t>(whole_number(*value_, 0, limit - 1));
}

std::int64_t Json::between(std::int64_t least, std::int64_t most) const {
  return static_cast<std::int64_t>(whole_number(*value_, least, static_cast<std::uint64_t>(most)));
}

std::size_t Json::one_of(std::initializer_list<std::string_view> words) const {
  const auto& found = content_as<std::string>(*value_, "a text");
  const auto* const known = std::find(words.begin(), words.end(), found);
  if (known != words.end()) return static_cast<std::size_t>(known - words.begin());
  std::string all;
  for (const std::string_view word : words) (all += all.empty() ? "" : ", ") += word;
  refuse("one of " + all);
}

// Not inlined, because the code that reads plans calls it very often.
[[gnu::noinline]] void Json::require(bool right, const char* wanted) const {
  if (!right) refuse(wanted);
}

void Json::refuse(const std::string& wanted) const { refuse_value(*value_, wanted); }

Json Json::operator[](std::size_t place) const { return Json(element(*value_, place)); }

bool Json::is_null() const noexcept { return std::holds_alternative<std::monostate>(value_->content); }
bool Json::is_string() const noexcept { return std::holds_alternative<std::string>(value_->content); }
bool Json::is_object() const noexcept { return std::holds_alternative<JsonNode::Object>(value_->content); }
bool Json::is_boolean() const noexcept { return std::holds_alternative<bool>(value_->content); }
bool Json::is_integer() const noexcept {
  return std::holds_alternative<std::int64_t>(value_->content) ||
         std::holds_alternative<std::uint64_t>(value_->content);
}

bool Json::is_negative() const noexcept {
  const auto* const number = std::get_if<std::int64_t>(&value_->content);
  return number != nullptr && *number < 0;
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
template std::vector<double> Json::get() const;
template std::vector<std::string> Json::get() const;

void read_json(const std::string& text, const std::function<void(Json)>& function) {
  TreeBuilder builder;
  nlohmann::json::sax_parse(text, &builder);
  try {
    function(Json(builder.whole));
  } catch (const WrongValue& wrong) {
    std::string place;
    find(builder.whole, *wrong.at, place);
    throw JsonError((place.empty() ? "the whole" : place.substr(place[0] == '.')) + wrong.what());
  }
}

}  // namespace ssptool::runtime
