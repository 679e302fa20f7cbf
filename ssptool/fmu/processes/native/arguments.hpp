// Arguments of FMI functions, by kind: what of them goes to the process of the FMU, and what comes back.
//
// Each argument has a slot of the message: the value itself, or the place of the data (0: a null pointer). The client
// writes it (`note`, `write`) and takes over what has come back (`take`); the host reads it (`read`), calls the FMU and
// appends to the data what was not known before (`append`). A number of elements is that of another argument.
#pragma once

#include <cstring>
#include <type_traits>
#include <vector>

#include "channel.hpp"

namespace ssptool::processes {

inline constexpr int one = -1;  // in place of the argument that says how many elements there are

inline std::uint64_t padded(std::uint64_t bytes) noexcept { return (bytes + 7) & ~std::uint64_t{7}; }

template <int count>
std::size_t number(const std::uint64_t* slots) noexcept {
  if constexpr (count == one)
    return 1;
  else
    return slots[count];
}

// Memory that an FMU lends until the next call of the same instance.
using Lent = std::vector<char>;

// What most kinds do, which is nothing.
template <class Type>
struct Kind {
  using C = Type;
  static constexpr int lengths = one;  // the argument that says how long contents are
  static void note(C, std::uint64_t&) noexcept {}
  static std::uint64_t bytes(C, const std::uint64_t*, const std::size_t*) noexcept { return 0; }
  static void write(C, Channel&, std::uint64_t*, std::uint64_t&, std::uint64_t, const std::size_t*) noexcept {}
  static bool append(Channel&, const std::uint64_t*, std::uint64_t, bool) noexcept { return true; }
  static void take(C, Channel&, const std::uint64_t*, std::uint64_t, Lent&) noexcept {}
};

template <class T>
struct Value : Kind<T> {
  static_assert(sizeof(T) <= sizeof(std::uint64_t));

  static void note(T value, std::uint64_t& slot) noexcept { std::memcpy(&(slot = 0), &value, sizeof(T)); }
  static T read(Channel&, const std::uint64_t*, std::uint64_t slot) noexcept {
    T value;
    std::memcpy(&value, &slot, sizeof(T));
    return value;
  }
};

// Plain values, which an FMU reads.
template <class T, int count = one>
struct In : Kind<const T*> {
  static std::uint64_t bytes(const T* values, const std::uint64_t* slots, const std::size_t*) noexcept {
    return values == nullptr ? 0 : padded(number<count>(slots) * sizeof(T));
  }
  static void write(const T* values, Channel& channel, std::uint64_t* slots, std::uint64_t& slot, std::uint64_t place,
                    const std::size_t*) noexcept {
    slot = values == nullptr ? 0 : place;
    if (slot != 0) std::memcpy(channel.data(place), values, number<count>(slots) * sizeof(T));
  }
  static T* read(Channel& channel, const std::uint64_t*, std::uint64_t slot) noexcept { return channel.at<T>(slot); }
};

// Plain values that an FMU writes. They go there as well: what it does not write stays what it was.
template <class T, int count = one>
struct Out : In<T, count> {
  using C = T*;

  static void take(T* values, Channel& channel, const std::uint64_t* slots, std::uint64_t slot, Lent&) noexcept {
    if (slot != 0) std::memcpy(values, channel.data(slot), number<count>(slots) * sizeof(T));
  }
};

// How long the content behind a pointer is.
struct OfText {
  static std::size_t length(const char* text, const std::size_t*, std::size_t) noexcept {
    return std::strlen(text) + 1;
  }
};
struct OfBytes {
  static std::size_t length(const std::uint8_t*, const std::size_t* lengths, std::size_t i) noexcept {
    return lengths[i];
  }
};

// Pointers to contents that an FMU reads. In the data, a table of places (0: null) with the contents behind it; the
// host puts pointers in the table.
template <class T, class Length, int count, int sizes>
struct InContents : Kind<const T* const*> {
  static constexpr int lengths = sizes;

  static std::uint64_t bytes(const T* const* values, const std::uint64_t* slots, const std::size_t* of) noexcept {
    if (values == nullptr) return 0;
    std::uint64_t total = 8 * number<count>(slots);
    for (std::size_t i = 0; i < number<count>(slots); ++i)
      if (values[i] != nullptr) total += padded(Length::length(values[i], of, i));
    return total;
  }
  static void write(const T* const* values, Channel& channel, std::uint64_t* slots, std::uint64_t& slot,
                    std::uint64_t place, const std::size_t* of) noexcept {
    slot = values == nullptr ? 0 : place;
    std::uint64_t next = place + 8 * number<count>(slots);
    for (std::size_t i = 0; slot != 0 && i < number<count>(slots); ++i) {
      channel.at<std::uint64_t>(place)[i] = values[i] == nullptr ? 0 : next;
      if (values[i] == nullptr) continue;
      const std::size_t length = Length::length(values[i], of, i);
      std::memcpy(channel.data(next), values[i], length);
      next += padded(length);
    }
  }
  static const T* const* read(Channel& channel, const std::uint64_t* slots, std::uint64_t slot) noexcept {
    std::uint64_t* const table = channel.at<std::uint64_t>(slot);
    for (std::size_t i = 0; table != nullptr && i < number<count>(slots); ++i)
      table[i] = reinterpret_cast<std::uint64_t>(channel.at<T>(table[i]));
    return reinterpret_cast<const T* const*>(table);
  }
};

// Pointers to contents that an FMU lends. The host puts places in the table, and the contents behind all data.
template <class T, class Length, int count, int sizes>
struct OutContents : Kind<const T**> {
  static constexpr int lengths = sizes;

  static std::uint64_t bytes(const T** values, const std::uint64_t* slots, const std::size_t*) noexcept {
    return values == nullptr ? 0 : 8 * number<count>(slots);
  }
  static void write(const T** values, Channel& channel, std::uint64_t* slots, std::uint64_t& slot, std::uint64_t place,
                    const std::size_t*) noexcept {
    slot = values == nullptr ? 0 : place;
    if (slot != 0) std::memset(channel.data(place), 0, 8 * number<count>(slots));
  }
  static const T** read(Channel& channel, const std::uint64_t*, std::uint64_t slot) noexcept {
    return channel.at<const T*>(slot);
  }
  static bool append(Channel& channel, const std::uint64_t* slots, std::uint64_t slot, bool lent) noexcept {
    std::uint64_t* const table = channel.at<std::uint64_t>(slot);
    std::uint64_t& used = channel.header().used;
    for (std::size_t i = 0; table != nullptr && i < number<count>(slots); ++i) {
      const T* const content = lent ? reinterpret_cast<const T*>(table[i]) : nullptr;
      table[i] = 0;
      if (content == nullptr) continue;
      const std::size_t length = Length::length(content, known(channel, slots), i);
      if (!channel.reserve(used + padded(length))) return false;
      std::memcpy(channel.data(used), content, length);
      table[i] = used;
      used += padded(length);
    }
    return true;
  }
  static void take(const T** values, Channel& channel, const std::uint64_t* slots, std::uint64_t slot, Lent& lent) {
    const std::uint64_t* const table = channel.at<std::uint64_t>(slot);
    if (table == nullptr) return;
    const std::size_t n = number<count>(slots);
    const auto length = [&](std::size_t i) {
      return table[i] == 0 ? 0 : Length::length(channel.at<T>(table[i]), known(channel, slots), i);
    };
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < n; ++i) total += padded(length(i));
    lent.resize(total + 1);  // so that there is an address, whatever there is to lend
    std::uint64_t next = 0;
    for (std::size_t i = 0; i < n; ++i) {
      values[i] = table[i] == 0 ? nullptr : reinterpret_cast<const T*>(lent.data() + next);
      if (table[i] != 0) std::memcpy(lent.data() + next, channel.data(table[i]), length(i));
      next += padded(length(i));
    }
  }

 private:
  static const std::size_t* known(Channel& channel, const std::uint64_t* slots) noexcept {
    if constexpr (sizes == one)
      return nullptr;
    else
      return channel.at<std::size_t>(slots[sizes]);
  }
};

template <int count>
using InTexts = InContents<char, OfText, count, one>;
template <int count = one>
using OutTexts = OutContents<char, OfText, count, one>;
template <int count, int sizes>
using InBytes = InContents<std::uint8_t, OfBytes, count, sizes>;
template <int count, int sizes>
using OutBytes = OutContents<std::uint8_t, OfBytes, count, sizes>;

}  // namespace ssptool::processes
