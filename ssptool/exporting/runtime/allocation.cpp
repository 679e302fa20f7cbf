// Memory allocation for a runtime that contains its own C++ library. The linker for macOS would export the operators of
// that library, and operators of another library in the process would then be used instead. The operators here replace
// them and are hidden.

#ifdef SSPTOOL_OWN_ALLOCATION

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

void* memory(std::size_t size) noexcept { return std::malloc(std::max<std::size_t>(size, 1)); }

void* memory(std::size_t size, std::align_val_t alignment) noexcept {
  void* place = nullptr;
  const std::size_t least = std::max(static_cast<std::size_t>(alignment), sizeof(void*));
  return posix_memalign(&place, least, std::max<std::size_t>(size, 1)) == 0 ? place : nullptr;
}

void* or_throw(void* place) {
  if (place == nullptr) throw std::bad_alloc();
  return place;
}

}  // namespace

void* operator new(std::size_t size) { return or_throw(memory(size)); }
void* operator new[](std::size_t size) { return or_throw(memory(size)); }
void* operator new(std::size_t size, std::align_val_t alignment) { return or_throw(memory(size, alignment)); }
void* operator new[](std::size_t size, std::align_val_t alignment) { return or_throw(memory(size, alignment)); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return memory(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return memory(size); }
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return memory(size, alignment);
}
void* operator new[](std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return memory(size, alignment);
}

void operator delete(void* place) noexcept { std::free(place); }
void operator delete[](void* place) noexcept { std::free(place); }
void operator delete(void* place, std::size_t) noexcept { std::free(place); }
void operator delete[](void* place, std::size_t) noexcept { std::free(place); }
void operator delete(void* place, std::align_val_t) noexcept { std::free(place); }
void operator delete[](void* place, std::align_val_t) noexcept { std::free(place); }
void operator delete(void* place, std::size_t, std::align_val_t) noexcept { std::free(place); }
void operator delete[](void* place, std::size_t, std::align_val_t) noexcept { std::free(place); }
void operator delete(void* place, const std::nothrow_t&) noexcept { std::free(place); }
void operator delete[](void* place, const std::nothrow_t&) noexcept { std::free(place); }
void operator delete(void* place, std::align_val_t, const std::nothrow_t&) noexcept { std::free(place); }
void operator delete[](void* place, std::align_val_t, const std::nothrow_t&) noexcept { std::free(place); }

#endif
