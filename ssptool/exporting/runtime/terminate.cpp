// An uncaught exception, as no function of FMI lets through, makes the C++ library abort with a message. What decodes
// the name of a type for it would be a sixth of the library: this has its place, so that it is not linked.

#ifndef _MSC_VER

#include <cstddef>

// Gives null and the status of a name that is not valid, after which the name is printed as it is.
extern "C" char* __cxa_demangle(const char*, char*, std::size_t*, int* status) noexcept {
  if (status != nullptr) *status = -2;
  return nullptr;
}

#endif

// The C++ library keeps 73 kB for exceptions without memory. Where it is linked into this library, each load takes them
// anew, and nothing gives them back: an importer that loads and unloads for each of a thousand runs would lose 73 MB.

#ifdef SSPTOOL_OWN_LIBSTDCXX

namespace __gnu_cxx {
__attribute__((weak)) void __freeres();
}

namespace {
__attribute__((destructor)) void give_back() {
  if (__gnu_cxx::__freeres != nullptr) __gnu_cxx::__freeres();
}
}  // namespace

#endif
