// Files of an exported FMU. Paths are UTF-8 with the separators of the platform, as importers and parts expect them.
#pragma once

#include <string>

namespace ssptool::runtime {

#ifdef _WIN32
inline constexpr char separator = '\\';
#else
inline constexpr char separator = '/';
#endif

// The path of a file below a folder; the folders in `name` are separated by /.
std::string below(const std::string& folder, const std::string& name);

// A path as a URI, and the path of a URI; a text that is not a URI is returned as a path.
std::string uri_of(const std::string& path);
std::string path_of(const std::string& uri);

// Throws std::runtime_error with the name of the file if it cannot be read.
std::string content_of(const std::string& file);

// A loaded library; the destructor unloads it.
class Library {
 public:
  // Throws std::runtime_error if it cannot be loaded.
  explicit Library(const std::string& file);
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  ~Library();

  // The address of a function; null if the library has none with this name.
  [[nodiscard]] void* find(const char* function) const noexcept;

 private:
  void* handle_;
};

}  // namespace ssptool::runtime
