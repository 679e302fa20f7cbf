// An uncaught exception makes the C++ library abort with a message (functions of FMI let no exception through). The
// function that decodes the name of its type would be a sixth of this library. This one replaces it, so that it is not
// linked.

#ifndef _MSC_VER

#include <cstddef>

// Returns null with the status for an invalid name; the name is then printed unchanged.
extern "C" char* __cxa_demangle(const char*, char*, std::size_t*, int* status) noexcept {
  if (status != nullptr) *status = -2;
  return nullptr;
}

#endif

// The C++ library reserves 73 kB for exceptions without memory. If it is linked into this library, each load reserves
// them again, and nothing frees them: an importer that loads and unloads the library for each of a thousand runs would
// lose 73 MB.

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
