#include "channel.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <ctime>
#include <system_error>

namespace ssptool::processes {

namespace {

static_assert(std::atomic<std::uint32_t>::is_always_lock_free, "both processes use the same words");
static_assert(sizeof(Header) <= 4096);

// Pages that nobody has written to take only addresses, no memory; addresses and file sizes may be limited.
constexpr std::size_t most_mapped = std::size_t{1} << 32, least_mapped = std::size_t{1} << 17;

// A few microseconds: a short call is answered before a process could be put to sleep and woken again. Active waiting
// for longer would take a processor from the answering process if all are busy.
constexpr int looks = 50;
constexpr long look_nanoseconds = 20'000'000;

void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// On a single processor, active waiting would keep the other process from answering.
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

void* mapped(int descriptor, std::size_t size) noexcept {
  return mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
}

[[noreturn]] void refuse(int reason) {
  throw std::system_error(reason, std::generic_category(), "no memory to share with another process");
}

}  // namespace

Channel::Channel(int descriptor, bool create) : memory_(MAP_FAILED), mapped_(0), process_(getpid()) {
  if (create) {
    for (std::size_t size = most_mapped; memory_ == MAP_FAILED && size >= least_mapped; size /= 2)
      if (ftruncate(descriptor, static_cast<off_t>(size)) == 0) memory_ = mapped(descriptor, mapped_ = size);
  } else if (struct stat facts{}; fstat(descriptor, &facts) == 0) {
    memory_ = mapped(descriptor, mapped_ = static_cast<std::size_t>(facts.st_size));
  }
  if (memory_ == MAP_FAILED) refuse(errno);
  madvise(memory_, mapped_, MADV_DONTDUMP);  // a dump would write all of it
  if (!create) return;
  // A forked copy of this process runs foreign code, and must not have access to other channels.
  if (madvise(memory_, mapped_, MADV_DONTFORK) == 0 &&
      fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
    return;
  const int reason = errno;
  munmap(memory_, mapped_);
  refuse(reason);
}

Channel::~Channel() {
  if (own()) munmap(memory_, mapped_);
}

bool Channel::own() const noexcept { return getpid() == process_; }

void Channel::post(Side reader) noexcept {
  Header::Mailbox& mailbox = header().mailboxes[static_cast<std::size_t>(reader)];
  mailbox.posted.fetch_add(1);
  if (mailbox.sleeping.exchange(0) != 0) wake(mailbox.posted);
}

Arrival Channel::wait(Side reader, const std::function<bool()>& there) noexcept {
  Header::Mailbox& mailbox = header().mailboxes[static_cast<std::size_t>(reader)];
  const auto arrived = [&] { return mailbox.posted.load() != seen_; };
  for (int look = looks_here(); look > 0 && !arrived(); --look) pause();
  while (!arrived()) {
    mailbox.sleeping.store(1);
    if (!arrived()) sleep_while(mailbox.posted, seen_);
    mailbox.sleeping.store(0);
    if (!arrived() && !there() && !arrived()) return Arrival::gone;
  }
  return mailbox.posted.load() == ++seen_ ? Arrival::message : Arrival::uncounted;
}

}  // namespace ssptool::processes
