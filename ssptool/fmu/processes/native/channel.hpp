// Shared memory through which two processes talk: one asks, the other answers, in turn.
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

// Who reads a message.
enum class Side : std::size_t { host, client };

// The first page of the memory; the data follow on the next one.
struct Header {
  struct alignas(64) Mailbox {
    std::atomic<std::uint32_t> posted;    // messages so far
    std::atomic<std::uint32_t> sleeping;  // 1: the reader waits in the kernel of the system
  };
  Mailbox mailboxes[2];
  What what;
  std::uint32_t instance, function;
  std::int32_t status;
  Arguments arguments;
  std::uint64_t used;  // bytes of data in this message and in those that it is nested in
  std::uint64_t size;  // bytes of data that the file has room for
};

class Channel {
 public:
  // Maps a file in memory, with room to grow without being moved. `create`: its header is empty as yet.
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

  // Make sure that so many bytes of data can be written; false: there is no room for that.
  [[nodiscard]] bool reserve(std::uint64_t bytes) noexcept;

  // Tell the reader that there is a message.
  void post(Side reader) noexcept;
  // Wait for a message; false: `there` said of the writer that it is not there any more. It is asked now and then.
  [[nodiscard]] bool wait(Side reader, const std::function<bool()>& there) noexcept;

 private:
  static constexpr std::size_t page = 4096;

  int descriptor_;
  void* memory_;
  std::size_t mapped_;
  std::uint32_t seen_ = 0;
};

}  // namespace ssptool::processes
