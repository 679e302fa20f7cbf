#include "json.hpp"

#include <cstdint>
#include <utility>
#include <vector>

#define JSON_NO_IO
#include <nlohmann/json.hpp>

namespace ssptool::runtime {

bool Json::contains(const char* name) const { return value_->contains(name); }
Json Json::at(const char* name) const { return Json(value_->at(name)); }
std::size_t Json::size() const noexcept { return value_->size(); }
Json Json::operator[](std::size_t place) const { return Json(value_->at(place)); }

bool Json::is_null() const noexcept { return value_->is_null(); }
bool Json::is_string() const noexcept { return value_->is_string(); }
bool Json::is_object() const noexcept { return value_->is_object(); }
bool Json::is_boolean() const noexcept { return value_->is_boolean(); }
bool Json::is_number_unsigned() const noexcept { return value_->is_number_unsigned(); }
bool Json::is_number_integer() const noexcept { return value_->is_number_integer(); }

template <class T>
T Json::get() const {
  return value_->get<T>();
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
  try {
    const nlohmann::json value = nlohmann::json::parse(text);
    function(Json(value));
  } catch (const nlohmann::json::exception& error) {
    throw JsonError(error.what());
  }
}

}  // namespace ssptool::runtime
