// Floating-point environment: rounding, denormal numbers and traps, which FMUs must not change.
#pragma once

#include <cfenv>
#include <cstdint>

#if defined(__x86_64__) || defined(_M_X64)
#include <xmmintrin.h>
#endif

namespace ssptool {

// Bits for its changes: see fmu/surroundings.py.
enum FloatingPointChange : std::uint8_t { rounding_changed = 1, flushing_changed = 2, traps_changed = 4 };

// The control register without the exception flags.
inline std::uint64_t floating_point_mode() noexcept {
#if defined(__x86_64__) || defined(_M_X64)
  return _mm_getcsr() & 0xffc0U;
#elif defined(__aarch64__)
  std::uint64_t control = 0;
  __asm__ volatile("mrs %0, fpcr" : "=r"(control));
  return control;
#else
  return static_cast<std::uint64_t>(std::fegetround());
#endif
}

// Restores a mode; returns what had changed.
[[gnu::cold]] inline std::uint8_t restore_floating_point(std::uint64_t mode) noexcept {
  const std::uint64_t changed = floating_point_mode() ^ mode;
#if defined(__x86_64__) || defined(_M_X64)
  constexpr std::uint64_t rounding = 0x6000, flushing = 0x8040, traps = 0x1f80;
  std::fesetenv(FE_DFL_ENV);  // also for the x87 unit
  _mm_setcsr(static_cast<unsigned>(mode));
#elif defined(__aarch64__)
  constexpr std::uint64_t rounding = 0xc00000, flushing = 0x1000000, traps = 0x9f00;
  __asm__ volatile("msr fpcr, %0" : : "r"(mode));
#else
  constexpr std::uint64_t rounding = ~std::uint64_t{0}, flushing = 0, traps = 0;
  std::fesetround(static_cast<int>(mode));
#endif
  return static_cast<std::uint8_t>(((changed & rounding) != 0 ? rounding_changed : 0) |
                                   ((changed & flushing) != 0 ? flushing_changed : 0) |
                                   ((changed & traps) != 0 ? traps_changed : 0));
}

// Restores the environment when it is destroyed.
class KeptFloatingPoint {
 public:
  KeptFloatingPoint() = default;
  KeptFloatingPoint(const KeptFloatingPoint&) = delete;
  KeptFloatingPoint& operator=(const KeptFloatingPoint&) = delete;
  ~KeptFloatingPoint() { restore(); }

  // Returns what had changed.
  std::uint8_t restore() const noexcept {
    return floating_point_mode() == mode_ ? std::uint8_t{0} : restore_floating_point(mode_);
  }

 private:
  const std::uint64_t mode_ = floating_point_mode();
};

}  // namespace ssptool
