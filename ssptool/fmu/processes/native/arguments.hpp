// Arguments of FMI functions, by kind: what of them goes to the process of the FMU, and what comes back.
//
// Each argument has a slot of the message: the value itself, or the place of the data (0: a null pointer). The client
// writes it (`note`, `write`) and takes over what has come back (`take`); the host reads it (`read`), calls the FMU and
// appends to the data what was not known before (`append`). A number of elements is that of another argument.
//
// Slots that the client works with are its own, and no longer those of the message, which the host can change.
#pragma once

#include <cstring>
#include <optional>
#include <type_traits>
#include <vector>

#include "channel.hpp"

namespace ssptool::processes {

inline constexpr int one = -1;  // replaces the number of the argument that contains the number of elements

inline std::uint64_t padded(std::uint64_t bytes) noexcept { return (bytes + 7) & ~std::uint64_t{7}; }

template <int count>
std::size_t number(const std::uint64_t* slots) noexcept {
  if constexpr (count == one)
    return 1;
  else
    return slots[count];
}

// Memory whose content is valid until the next call of the same instance.
using Lent = std::vector<char>;

// What the client needs after a call: the channel, and the end of the data that it has sent.
struct Returned {
  const Channel& channel;
  std::uint64_t end;
};

// Default behaviour of most kinds: nothing.
template <class Type>
struct Kind {
  using C = Type;
  static constexpr int lengths = one;  // number of the argument with the lengths of contents
  static void note(C, std::uint64_t&) noexcept {}
  static std::uint64_t bytes(C, const std::uint64_t*, const std::size_t*) noexcept { return 0; }
  static void write(C, Channel&, std::uint64_t*, std::uint64_t&, std::uint64_t, const std::size_t*) noexcept {}
  static bool append(Channel&, const std::uint64_t*, std::uint64_t, bool) noexcept { return true; }
  // Returns false if the returned data cannot be correct.
  static bool take(C, const Returned&, const std::uint64_t*, std::uint64_t, const std::size_t*, Lent&) { return true; }
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

// Plain values that an FMU reads.
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

// Plain values that an FMU writes. They are also sent to the FMU, so that values it does not write stay unchanged.
template <class T, int count = one>
struct Out : In<T, count> {
  using C = T*;

  static bool take(T* values, const Returned& returned, const std::uint64_t* slots, std::uint64_t slot,
                   const std::size_t*, Lent&) noexcept {
    if (slot == 0) return true;
    std::memcpy(values, returned.channel.data(slot), number<count>(slots) * sizeof(T));
    if constexpr (std::is_same_v<T, bool>) {  // only two values are valid in a bool
      auto* const bytes = reinterpret_cast<unsigned char*>(values);
      for (std::size_t i = 0; i < number<count>(slots); ++i) bytes[i] = bytes[i] != 0;
    }
    return true;
  }
};

// The length of the content behind a pointer; `found`: its length in the channel, none if it does not end there.
struct OfText {
  static constexpr bool ends_with_zero = true;
  static std::size_t length(const char* text, const std::size_t*, std::size_t) noexcept {
    return std::strlen(text) + 1;
  }
  static std::optional<std::size_t> found(const Channel& channel, std::uint64_t place, const std::size_t*,
                                          std::size_t) noexcept {
    if (!channel.holds(place, 1)) return std::nullopt;
    const std::size_t room = channel.capacity() - place, length = strnlen(channel.at<char>(place), room);
    return length == room ? std::nullopt : std::optional(length + 1);
  }
};
struct OfBytes {
  static constexpr bool ends_with_zero = false;
  static std::size_t length(const std::uint8_t*, const std::size_t* lengths, std::size_t i) noexcept {
    return lengths[i];
  }
  static std::optional<std::size_t> found(const Channel& channel, std::uint64_t place, const std::size_t* lengths,
                                          std::size_t i) noexcept {
    return channel.holds(place, lengths[i]) ? std::optional(lengths[i]) : std::nullopt;
  }
};

// Pointers to contents that an FMU reads. The data contain a table of places (0: null), followed by the contents; the
// host replaces the places by pointers.
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

// Pointers to contents that an FMU returns. The host writes places to the table, and the contents after all other data.
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
      if (!channel.holds(used, padded(length))) return false;
      std::memcpy(channel.data(used), content, length);
      table[i] = used;
      used += padded(length);
    }
    return true;
  }
  // The contents follow all other data in order, so that together they fit in the channel.
  static bool take(const T** values, const Returned& returned, const std::uint64_t* slots, std::uint64_t slot,
                   const std::size_t* lengths, Lent& lent) {
    if (slot == 0) return true;
    const std::size_t n = number<count>(slots);
    std::vector<std::uint64_t> places(n), extents(n);
    std::memcpy(places.data(), returned.channel.data(slot), n * sizeof(std::uint64_t));
    std::uint64_t total = 0, next = returned.end;
    for (std::size_t i = 0; i < n; ++i) {
      if (places[i] == 0) continue;
      const auto found = Length::found(returned.channel, places[i], lengths, i);
      if (places[i] < next || !found) return false;
      extents[i] = *found;
      total += padded(*found);
      next = places[i] + padded(*found);
    }
    lent.assign(total + 1, '\0');  // never empty, so that there is an address
    copy(values, returned, places, extents, lent);
    return true;
  }

 private:
  static const std::size_t* known(Channel& channel, const std::uint64_t* slots) noexcept {
    if constexpr (sizes == one)
      return nullptr;
    else
      return channel.at<std::size_t>(slots[sizes]);
  }

  static void copy(const T** values, const Returned& returned, const std::vector<std::uint64_t>& places,
                   const std::vector<std::uint64_t>& extents, Lent& lent) noexcept {
    char* next = lent.data();
    for (std::size_t i = 0; i < places.size(); ++i) {
      values[i] = places[i] == 0 ? nullptr : reinterpret_cast<const T*>(next);
      if (places[i] == 0) continue;
      std::memcpy(next, returned.channel.data(places[i]), extents[i]);
      if constexpr (Length::ends_with_zero) next[extents[i] - 1] = '\0';  // the host may have changed it
      next += padded(extents[i]);
    }
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
