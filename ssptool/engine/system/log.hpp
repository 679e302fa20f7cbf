// Messages of a system and its parts, on their way to the importer.
#pragma once

#include <string>

namespace ssptool::runtime {

// As FMI numbers them.
enum class Status : int { ok, warning, discard, error, fatal, pending };

class Log {
 public:
  virtual void write(Status, const char* category, const std::string& message) noexcept = 0;

 protected:
  ~Log() = default;
};

}  // namespace ssptool::runtime
