// Threads that wait for work and share it.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace ssptool {

class Workers {
 public:
  // `count` threads work, the one that asks included.
  explicit Workers(std::size_t count);
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  ~Workers();

  // Calls task(0) … task(count - 1), each once, in any order and at the same time; returns when all are done.
  void share(std::size_t count, const std::function<void(std::size_t)>& task);

 private:
  void wait();
  void work();

  std::mutex mutex_;
  std::condition_variable wake_, done_;
  const std::function<void(std::size_t)>* task_ = nullptr;
  std::size_t count_ = 0;
  std::atomic<std::size_t> busy_{0};
  std::atomic<std::uint64_t> round_{0};
  bool stop_ = false;
  std::atomic<std::size_t> next_{0};
  std::vector<std::thread> threads_;
};

}  // namespace ssptool
