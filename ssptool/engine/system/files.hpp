// Files of an exported FMU. Paths are UTF-8 texts with the separators of the platform, as importers and parts have
// them.
#pragma once

#include <string>

namespace ssptool::runtime {

#ifdef _WIN32
inline constexpr char separator = '\\';
#else
inline constexpr char separator = '/';
#endif

// The path of a file below a folder; `name` has / between its folders.
std::string below(const std::string& folder, const std::string& name);

// A path as a URI, and the path that a URI states; what is no URI is a path already.
std::string uri_of(const std::string& path);
std::string path_of(const std::string& uri);

// Throws std::runtime_error, which names the file, if it cannot be read.
std::string content_of(const std::string& file);

// A loaded library; it is unloaded at the end.
class Library {
 public:
  // Throws std::runtime_error if it cannot be loaded.
  explicit Library(const std::string& file);
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library();

  // Null if there is none of this name.
  [[nodiscard]] void* find(const char* function) const noexcept;

 private:
  void* handle_;
};

}  // namespace ssptool::runtime
