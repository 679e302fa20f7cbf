#include "files.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string_view>

#ifdef _WIN32
// Without macros such as interface and min.
#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <windows.h>
#else
#include <dlfcn.h>
#endif

namespace ssptool::runtime {

namespace {

// std::isalnum depends on the locale, and might accept other letters.
constexpr bool stands_for_itself(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
         std::string_view("/-_.~:").find(c) != std::string_view::npos;
}

std::string unescaped(std::string_view text) {
  std::string found;
  for (std::size_t i = 0; i < text.size(); ++i) {
    int code = 0;
    const char* const digits = text.data() + i + 1;
    if (text[i] == '%' && i + 2 < text.size() && std::from_chars(digits, digits + 2, code, 16).ptr == digits + 2) {
      found += static_cast<char>(code);
      i += 2;
    } else {
      found += text[i];
    }
  }
  return found;
}

std::string with_separators(std::string path) {
  if constexpr (separator != '/') std::ranges::replace(path, '/', separator);
  return path;
}

}  // namespace

std::string below(const std::string& folder, const std::string& name) {
  std::string path = folder;
  if (path.empty() || path.back() != separator) path += separator;
  return path + with_separators(name);
}

std::string uri_of(const std::string& path) {
  std::string text = path;
  if constexpr (separator != '/') std::ranges::replace(text, separator, '/');
  std::string found = text.starts_with("//") ? "file:" : text.starts_with('/') ? "file://" : "file:///";
  for (const char c : text) {
    if (stands_for_itself(c)) {
      found += c;
    } else {
      std::array<char, 4> escaped{};
      std::snprintf(escaped.data(), escaped.size(), "%%%02X", static_cast<unsigned>(static_cast<unsigned char>(c)));
      found += escaped.data();
    }
  }
  return found;
}

std::string path_of(const std::string& uri) {
  constexpr bool has_drives = separator != '/';
  for (const std::string_view scheme : {"file://localhost/", "file:///", "file://", "file:/"}) {
    if (!uri.starts_with(scheme)) continue;
    std::string path = unescaped(std::string_view(uri).substr(scheme.size()));
    if (scheme == "file://") return with_separators("//" + path);  // of another computer
    return with_separators(has_drives ? path : "/" + path);
  }
  return with_separators(uri);
}

#ifdef _WIN32

namespace {

// An absolute path, because libraries are not found otherwise; if it is long, in the form without a length limit.
std::wstring wide(const std::string& path) {
  const auto size = static_cast<int>(path.size());
  std::wstring text(static_cast<std::size_t>(MultiByteToWideChar(CP_UTF8, 0, path.data(), size, nullptr, 0)), L'\0');
  MultiByteToWideChar(CP_UTF8, 0, path.data(), size, text.data(), static_cast<int>(text.size()));
  std::wstring whole(GetFullPathNameW(text.c_str(), 0, nullptr, nullptr), L'\0');
  whole.resize(GetFullPathNameW(text.c_str(), static_cast<DWORD>(whole.size()), whole.data(), nullptr));
  if (whole.size() >= MAX_PATH && !whole.starts_with(L"\\\\")) whole.insert(0, L"\\\\?\\");
  return whole;
}

std::FILE* opened(const std::string& file) { return _wfopen(wide(file).c_str(), L"rb"); }

// Windows reports the same error for a missing file and for a file that needs another, missing one.
std::string why_not_loaded(const std::wstring& file, DWORD error) {
  if (error == ERROR_BAD_EXE_FORMAT) return "it is not a library for this platform";
  if (error != ERROR_MOD_NOT_FOUND) return "error " + std::to_string(error);
  return GetFileAttributesW(file.c_str()) == INVALID_FILE_ATTRIBUTES ? "the file does not exist"
                                                                     : "a library that it needs was not found";
}

}  // namespace

// The folder of the library is also searched for the libraries that it needs.
Library::Library(const std::string& file) {
  const std::wstring path = wide(file);
  handle_ = LoadLibraryExW(path.c_str(), nullptr, LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR | LOAD_LIBRARY_SEARCH_DEFAULT_DIRS);
  const DWORD error = GetLastError();
  if (handle_ == nullptr) throw std::runtime_error(file + " cannot be loaded: " + why_not_loaded(path, error));
}

Library::~Library() { FreeLibrary(static_cast<HMODULE>(handle_)); }

void* Library::find(const char* function) const noexcept {
  return reinterpret_cast<void*>(GetProcAddress(static_cast<HMODULE>(handle_), function));
}

#else

namespace {

std::FILE* opened(const std::string& file) { return std::fopen(file.c_str(), "rb"); }

}  // namespace

Library::Library(const std::string& file) : handle_(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ == nullptr) throw std::runtime_error(dlerror());  // the message names the file
}

Library::~Library() { dlclose(handle_); }

void* Library::find(const char* function) const noexcept { return dlsym(handle_, function); }

#endif

// Streams would make this library larger by a third.
std::string content_of(const std::string& file) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> stream(opened(file), &std::fclose);
  if (stream == nullptr) throw std::runtime_error("cannot read " + file);
  std::string content;
  std::array<char, 1U << 16U> piece;
  while (const std::size_t size = std::fread(piece.data(), 1, piece.size(), stream.get()))
    content.append(piece.data(), size);
  return content;
}

}  // namespace ssptool::runtime
