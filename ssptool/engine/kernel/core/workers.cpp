#include "workers.hpp"

#include <chrono>

namespace ssptool {

namespace {

// Whether it becomes true within the time in which a thread better waits awake.
template <class Condition>
bool soon(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(100);
  while (!condition())
    if (std::chrono::steady_clock::now() > end) return false;
  return true;
}

}  // namespace

Workers::Workers(std::size_t count) {
  for (std::size_t i = 1; i < count; ++i) threads_.emplace_back([this] { wait(); });
}

Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Workers::share(std::size_t count, const std::function<void(std::size_t)>& task) {
  {
    const std::lock_guard lock(mutex_);
    task_ = &task;
    count_ = count;
    next_ = 0;
    busy_ = threads_.size();
    ++round_;
  }
  wake_.notify_all();
  work();
  if (soon([this] { return busy_ == 0; })) return;
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return busy_ == 0; });
}

void Workers::wait() {
  for (std::uint64_t seen = 0;; ++seen) {
    // The next round mostly follows at once, and being woken takes longer.
    soon([&] { return round_ != seen; });
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return stop_ || round_ != seen; });
      if (stop_) return;
    }
    work();
    if (--busy_ == 0) {
      const std::lock_guard lock(mutex_);
      done_.notify_one();
    }
  }
}

void Workers::work() {
  for (std::size_t i = next_++; i < count_; i = next_++) (*task_)(i);
}

}  // namespace ssptool
