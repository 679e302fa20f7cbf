#include "workers.hpp"

#include <chrono>
#include <system_error>

namespace ssptool {

namespace {

// Waits until the value differs from `old`; first actively, because this usually takes less time than being woken.
std::uint32_t changed(const std::atomic<std::uint32_t>& value, std::uint32_t old) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(100);
  while (value.load() == old && std::chrono::steady_clock::now() < end) {
  }
  value.wait(old);
  return value.load();
}

}  // namespace

Workers::Workers(std::size_t count) {
  try {
    for (std::size_t i = 1; i < count; ++i) threads_.emplace_back([this] { wait(); });
  } catch (const std::system_error&) {
    // The system allows no more threads: the existing ones share the work.
  }
}

Workers::~Workers() {
  begin(nullptr, 0);
  for (std::thread& thread : threads_) thread.join();
}

void Workers::share(std::size_t count, const std::function<void(std::size_t)>& task, const std::function<void()>& own) {
  begin(&task, count);
  own();
  work();
  for (std::uint32_t busy = busy_; busy != 0;) busy = changed(busy_, busy);
}

void Workers::begin(const std::function<void(std::size_t)>* task, std::size_t count) {
  task_ = task;
  count_ = count;
  next_ = 0;
  busy_ = static_cast<std::uint32_t>(threads_.size());
  ++round_;
  round_.notify_all();
}

void Workers::wait() {
  for (std::uint32_t seen = 0;;) {
    seen = changed(round_, seen);
    if (task_ == nullptr) return;
    work();
    if (--busy_ == 0) busy_.notify_one();
  }
}

void Workers::work() {
  for (std::size_t i = next_++; i < count_; i = next_++) (*task_)(i);
}

}  // namespace ssptool
