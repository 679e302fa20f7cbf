// Threads that wait for work and share it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace ssptool {

// Free of races without a lock: the task is written before `round_` is increased, which the threads wait for, and is
// not written again before all of them have decreased `busy_`, which the calling thread waits for.
class Workers {
 public:
  // `count` is the number of threads, including the calling one.
  explicit Workers(std::size_t count);
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;
  ~Workers();

  // Calls task(0) … task(count - 1), each once, in any order and in parallel, and `own` on the calling thread; returns
  // when all are done.
  void share(std::size_t count, const std::function<void(std::size_t)>& task, const std::function<void()>& own);

 private:
  void begin(const std::function<void(std::size_t)>* task, std::size_t count);
  void wait();
  void work();

  const std::function<void(std::size_t)>* task_ = nullptr;  // null: threads must end
  std::size_t count_ = 0;
  std::atomic<std::size_t> next_{0};
  std::atomic<std::uint32_t> round_{0};
  std::atomic<std::uint32_t> busy_{0};
  std::vector<std::thread> threads_;
};

}  // namespace ssptool
