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
