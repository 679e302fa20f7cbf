#include "part.hpp"

#ifdef _WIN32
#include <windows.h>
#else
#include <dlfcn.h>
#endif

namespace ssptool::runtime {

#ifdef _WIN32

// The folder of the library is searched for those that it needs.
Library::Library(const std::filesystem::path& file)
    : handle_(
          LoadLibraryExW(file.c_str(), nullptr, LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR | LOAD_LIBRARY_SEARCH_DEFAULT_DIRS)) {
  if (handle_ == nullptr)
    throw std::runtime_error(file.string() + " cannot be loaded: error " + std::to_string(GetLastError()));
}

Library::~Library() { FreeLibrary(static_cast<HMODULE>(handle_)); }

void* Library::find(const char* function) const noexcept {
  return reinterpret_cast<void*>(GetProcAddress(static_cast<HMODULE>(handle_), function));
}

#else

Library::Library(const std::filesystem::path& file) : handle_(dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (handle_ == nullptr) throw std::runtime_error(dlerror());  // it names the file
}

Library::~Library() { dlclose(handle_); }

void* Library::find(const char* function) const noexcept { return dlsym(handle_, function); }

#endif

}  // namespace ssptool::runtime
