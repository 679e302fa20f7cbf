// Memory of FMUs, brought to the caches before it is needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "instance.hpp"

namespace ssptool {

// What FMUs keep is scattered in memory, so that the processor cannot guess what comes next. How much it is only the
// FMU knows; to ask for some lines of it costs next to nothing, and what was not needed is not waited for.
class Prefetch {
 public:
  explicit Prefetch(const std::vector<std::uint32_t>& instances) noexcept
      // Few are in the caches anyway.
      : last_(instances.size() > 64 ? instances.data() + instances.size() - 1 - ahead : nullptr) {}

  // Those of an instance some places behind this one, if there is one; `component` is asked for its address.
  template <class Component>
  void of(const std::uint32_t* instance, Component component) const noexcept {
#if defined(__GNUC__)
    if (instance > last_) return;
    const auto* const first = static_cast<const char*>(component(instance[ahead]));
    for (std::size_t line = 0; line < lines; ++line) __builtin_prefetch(first + line * cache_line);
#else
    (void)instance, (void)component;
#endif
  }

 private:
  static constexpr std::ptrdiff_t ahead = 2;
  static constexpr std::size_t lines = 6;

  const std::uint32_t* last_;
};

}  // namespace ssptool
