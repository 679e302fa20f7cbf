// Shared memory through which two processes talk: one asks, the other answers, in turn.
//
// The process that answers runs foreign code, which may write anything there at any time, and the one that asks
// believes nothing of it: it reads each word once (`once`), checks what it has read against what it knows by itself,
// and copies contents before it looks at them. The file has one size for ever, so that no page of it can be taken away.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

namespace ssptool::processes {

enum class What : std::uint32_t { call, reply, update, updated, log, request, answer };

inline constexpr std::size_t most_arguments = 12;
using Arguments = std::uint64_t[most_arguments];

// The reader of a message.
enum class Side : std::size_t { host, client };

// The first page of the memory; the data start on the second page.
struct Header {
  struct alignas(64) Mailbox {
    std::atomic<std::uint32_t> posted;    // number of messages so far
    std::atomic<std::uint32_t> sleeping;  // 1: the reader waits in the operating system's kernel
  };
  Mailbox mailboxes[2];
  What what;
  std::uint32_t instance, function;
  std::int32_t status;
  Arguments arguments;
  std::uint64_t used;  // bytes of data in this message and in those that contain it
};

// Reads a word once, because the other process may change it at any time.
template <class T>
[[nodiscard]] T once(const T& word) noexcept {
  return *static_cast<const volatile T*>(&word);
}

// Result of waiting for a message; `uncounted`: the counter has an unexpected value, because the other process has
// changed it illegally.
enum class Arrival { message, uncounted, gone };

class Channel {
 public:
  // Maps a file in memory. `create`: the file is empty; it gets its size and is sealed, so that nobody can shrink it,
  // and forked copies of this process do not have the mapping.
  Channel(int descriptor, bool create);
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  ~Channel();

  [[nodiscard]] Header& header() const noexcept { return *static_cast<Header*>(memory_); }
  [[nodiscard]] std::byte* data(std::uint64_t offset) const noexcept {
    return static_cast<std::byte*>(memory_) + page + offset;
  }
  template <class T>
  [[nodiscard]] T* at(std::uint64_t offset) const noexcept {
    return offset == 0 ? nullptr : reinterpret_cast<T*>(data(offset));
  }

  // Maximum number of bytes of data.
  [[nodiscard]] std::uint64_t capacity() const noexcept { return mapped_ - page; }
  [[nodiscard]] bool holds(std::uint64_t place, std::uint64_t bytes) const noexcept {
    return place <= capacity() && bytes <= capacity() - place;
  }

  // Whether this process has created the channel, and is not a forked copy.
  [[nodiscard]] bool own() const noexcept;

  // Tells the reader that there is a message.
  void post(Side reader) noexcept;
  // Waits for a message, or until `there`, which is called from time to time, reports that the writer no longer exists.
  [[nodiscard]] Arrival wait(Side reader, const std::function<bool()>& there) noexcept;

 private:
  static constexpr std::size_t page = 4096;

  void* memory_;
  std::size_t mapped_;
  int process_;
  std::uint32_t seen_ = 0;
};

}  // namespace ssptool::processes
