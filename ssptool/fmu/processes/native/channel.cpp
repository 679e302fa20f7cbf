#include "channel.hpp"

#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <ctime>
#include <system_error>

namespace ssptool::processes {

namespace {

static_assert(std::atomic<std::uint32_t>::is_always_lock_free, "both processes use the same words");
static_assert(sizeof(Header) <= 4096);

constexpr std::size_t most_mapped = std::size_t{1} << 32, least_mapped = std::size_t{1} << 20;
constexpr std::uint64_t first_size = 1 << 16;

// Some microseconds: a short call is answered before a process would have been put to sleep and woken again. Longer
// looking would take the processor away from who is to answer, where all of them are busy.
constexpr int looks = 50;
constexpr long look_nanoseconds = 20'000'000;

void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Where there is one processor, whoever looks keeps the other from answering.
int looks_here() noexcept {
  static const int here = sysconf(_SC_NPROCESSORS_ONLN) > 1 ? looks : 0;
  return here;
}

void sleep_while(std::atomic<std::uint32_t>& word, std::uint32_t value) noexcept {
  const timespec limit{0, look_nanoseconds};
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT, value, &limit, nullptr, 0);
}

void wake(std::atomic<std::uint32_t>& word) noexcept {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace

Channel::Channel(int descriptor, bool create) : descriptor_(dup(descriptor)), memory_(MAP_FAILED), mapped_(0) {
  // What is mapped beyond the end of the file costs addresses only; there may be a limit on these.
  for (std::size_t size = most_mapped; memory_ == MAP_FAILED && size >= least_mapped; size /= 2) {
    memory_ = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor_, 0);
    mapped_ = size;
  }
  if (memory_ == MAP_FAILED) {
    close(descriptor_);
    throw std::system_error(errno, std::generic_category(), "no memory to share with another process");
  }
  if (create && ftruncate(descriptor_, static_cast<off_t>(page + first_size)) != 0) {
    const int reason = errno;
    munmap(memory_, mapped_);
    close(descriptor_);
    throw std::system_error(reason, std::generic_category(), "no memory to share with another process");
  }
  if (create) header().size = first_size;
}

Channel::~Channel() {
  munmap(memory_, mapped_);
  close(descriptor_);
}

bool Channel::reserve(std::uint64_t bytes) noexcept {
  std::uint64_t& size = header().size;
  if (bytes <= size) return true;
  const std::uint64_t most = mapped_ - page;
  if (bytes > most) return false;
  const std::uint64_t wanted = std::min(most, std::max(bytes, 2 * size));
  if (ftruncate(descriptor_, static_cast<off_t>(page + wanted)) != 0) return false;
  size = wanted;
  return true;
}

void Channel::post(Side reader) noexcept {
  Header::Mailbox& mailbox = header().mailboxes[static_cast<std::size_t>(reader)];
  mailbox.posted.fetch_add(1);
  if (mailbox.sleeping.exchange(0) != 0) wake(mailbox.posted);
}

bool Channel::wait(Side reader, const std::function<bool()>& there) noexcept {
  Header::Mailbox& mailbox = header().mailboxes[static_cast<std::size_t>(reader)];
  const auto arrived = [&] { return mailbox.posted.load() != seen_; };
  for (int look = looks_here(); look > 0 && !arrived(); --look) pause();
  while (!arrived()) {
    mailbox.sleeping.store(1);
    if (!arrived()) sleep_while(mailbox.posted, seen_);
    mailbox.sleeping.store(0);
    if (!arrived() && !there() && !arrived()) return false;
  }
  ++seen_;
  return true;
}

}  // namespace ssptool::processes
