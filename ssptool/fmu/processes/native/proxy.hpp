// FMI functions whose FMU is in another process, and the loop there that calls it.
#pragma once

#include <array>
#include <chrono>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "arguments.hpp"

namespace ssptool::processes {

// fmi3IntermediateUpdateCallback
using IntermediateUpdate = void(void* environment, double time, bool set_requested, bool get_allowed,
                                bool step_finished, bool can_return_early, bool* early_return_requested,
                                double* early_return_time);

// fmi3LogMessageCallback
using LogMessage = void(void* environment, int status, const char* category, const char* text);

// Whom an FMU calls, with the environments for that; null: nobody.
struct Callbacks {
  IntermediateUpdate* update = nullptr;
  void* update_environment = nullptr;
  LogMessage* log = nullptr;
  void* log_environment = nullptr;
};

// The functions of `functions.hpp`.
std::span<const std::string_view> names() noexcept;

class Client;

// An FMU in another process, whose address is given to the functions in place of an instance's.
struct Remote {
  Client* client;
  std::uint32_t index;
  Callbacks callbacks;
  Lent lent;
};

// In the process that wants to call FMUs.
class Client {
 public:
  explicit Client(int descriptor) : channel_(descriptor, true) {}

  // Which one answers.
  void process(int number) noexcept { process_ = number; }
  // The next one; they are counted from 0.
  Remote& remote(const Callbacks& callbacks);
  [[nodiscard]] std::size_t remotes() const noexcept { return remotes_.size(); }

  // Have somebody there answer, within so many seconds, who is not an FMU; none: the process is lost.
  std::optional<std::string> request(std::string_view content, double patience);

  // The call in which it turned out that the process has ended; an instance of −1: it was not one of an FMU. `wrong`:
  // what it has sent that cannot be right, whereupon it was ended; empty if it has ended by itself.
  struct Lost {
    std::int64_t instance;
    std::string_view function;
    std::string wrong;
  };
  [[nodiscard]] const std::optional<Lost>& lost() const noexcept { return lost_; }
  // Believe nothing of the process any more, and end it.
  void distrust(std::string wrong) { lose({-1, "", std::move(wrong)}); }
  // Nothing is asked any more.
  void close() noexcept;

 private:
  template <std::uint32_t function, class... Kinds>
  friend int call_remote(Remote* remote, typename Kinds::C... given);

  using Deadline = std::optional<std::chrono::steady_clock::time_point>;

  // A copy of this process has no part in this.
  [[nodiscard]] bool usable() const noexcept { return !lost_ && channel_.own(); }
  // Post a message and do what is asked for until it is answered; false: the process is lost.
  bool transact(What what, What answer, std::int64_t instance, std::string_view function, Deadline deadline = {});
  // Do what is asked for; false: it cannot be.
  bool called_back(What what);
  static void update(const Remote& remote, Header& header, bool allowed);
  bool log(const Remote& remote, const Header& header) const;
  [[nodiscard]] std::optional<std::string> text(std::uint64_t place) const;
  void lose(Lost lost);

  Channel channel_;
  int process_ = 0;
  std::recursive_mutex mutex_;  // several threads step FMUs, and an FMU that asks for its inputs is called from there
  std::uint64_t base_ = 8;      // where the data of the next message begin
  std::optional<Lost> lost_;
  std::deque<Remote> remotes_;
  std::int64_t stepping_ = -1;  // the FMU that may ask for its inputs, because it is doing a step
};

// Of the functions, in the same order, the addresses of those to be called with a `Remote`.
std::span<const std::uintptr_t> stubs() noexcept;

// In the process that has the FMUs.
class Host {
 public:
  explicit Host(int descriptor) : channel_(descriptor, false) {}

  // Make room for an FMU, which is made next; the address is the environment for its callbacks.
  std::uintptr_t place(std::uint32_t index);
  void define(std::uint32_t index, std::uintptr_t component, const std::map<std::string, std::uintptr_t>& functions);

  // Call FMUs until something else is asked for, which is to be answered.
  std::string_view next();
  void answer(std::string_view content);

  // The callbacks of FMUs: of FMI 3.0, and with printf arguments of FMI 1.0 and 2.0.
  static void update(void* environment, double time, bool set_requested, bool get_allowed, bool step_finished,
                     bool can_return_early, bool* early_return_requested, double* early_return_time);
  static void log(void* environment, int status, const char* category, const char* text);
  static void log_formatted(void* environment, const char* name, int status, const char* category, const char* text,
                            ...);

 private:
  struct Served {
    Host* host;
    std::uint32_t index;
    void* component;
    std::vector<std::uintptr_t> functions;
  };
  // From a thread of the FMU itself, which waits for the end of a call.
  struct Message {
    std::uint32_t index;
    int status;
    std::string category, text;
  };

  void perform();
  void wait() noexcept;
  void said(std::uint32_t index, int status, const char* category, const char* text);
  void forward(std::uint32_t index, int status, std::string_view category, std::string_view text);
  void forward_late();

  static Host* only_;  // FMI 1.0 knows no environment

  Channel channel_;
  std::deque<Served> served_;
  std::uint32_t present_ = 0;  // the FMU that is called
  std::thread::id thread_;
  std::mutex mutex_;
  std::vector<Message> late_;
};

}  // namespace ssptool::processes
