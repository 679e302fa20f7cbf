// FMI functions for an FMU in another process, and the loop in that process that calls it.
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

// Callbacks of an FMU, with their environments; null: none.
struct Callbacks {
  IntermediateUpdate* update = nullptr;
  void* update_environment = nullptr;
  LogMessage* log = nullptr;
  void* log_environment = nullptr;
};

// The names of the functions in `functions.hpp`.
std::span<const std::string_view> names() noexcept;

class Client;

// An FMU in another process; its address replaces that of an instance in calls.
struct Remote {
  Client* client;
  std::uint32_t index;
  Callbacks callbacks;
  Lent lent;
};

// The side of the process that calls FMUs.
class Client {
 public:
  explicit Client(int descriptor) : channel_(descriptor, true) {}

  // Sets the number of the answering process.
  void process(int number) noexcept { process_ = number; }
  // Creates the next one; they are counted from 0.
  Remote& remote(const Callbacks& callbacks);
  [[nodiscard]] std::size_t remotes() const noexcept { return remotes_.size(); }

  // Sends a request that is not for an FMU, and waits for the answer for at most `patience` seconds; none: the process
  // is lost.
  std::optional<std::string> request(std::string_view content, double patience);

  // The call during which the process was found to have ended; instance −1: not a call of an FMU. `wrong`: invalid data
  // that it has sent, for which it was ended; empty if it has ended by itself.
  struct Lost {
    std::int64_t instance;
    std::string_view function;
    std::string wrong;
  };
  [[nodiscard]] const std::optional<Lost>& lost() const noexcept { return lost_; }
  // Ends the process, because it can no longer be trusted.
  void distrust(std::string wrong) { lose({-1, "", std::move(wrong)}); }
  // Makes no further requests.
  void close() noexcept;

 private:
  template <std::uint32_t function, class... Kinds>
  friend int call_remote(Remote* remote, typename Kinds::C... given);

  using Deadline = std::optional<std::chrono::steady_clock::time_point>;

  // False in a forked copy of this process.
  [[nodiscard]] bool usable() const noexcept { return !lost_ && channel_.own(); }
  // Posts a message and handles requests until it is answered; false: the process is lost.
  bool transact(What what, What answer, std::int64_t instance, std::string_view function, Deadline deadline = {});
  // Handles a request; returns false if this is impossible.
  bool called_back(What what);
  static void update(const Remote& remote, Header& header, bool allowed);
  bool log(const Remote& remote, const Header& header) const;
  [[nodiscard]] std::optional<std::string> text(std::uint64_t place) const;
  void lose(Lost lost);

  Channel channel_;
  int process_ = 0;
  std::recursive_mutex mutex_;  // several threads step FMUs, and a callback may call again
  std::uint64_t base_ = 8;      // start of the data of the next message
  std::optional<Lost> lost_;
  std::deque<Remote> remotes_;
  std::int64_t stepping_ = -1;  // the FMU that may request inputs because it does a step
};

// Addresses of functions to be called with a `Remote`, in the order of `names`.
std::span<const std::uintptr_t> stubs() noexcept;

// The side of the process that contains the FMUs.
class Host {
 public:
  explicit Host(int descriptor) : channel_(descriptor, false) {}

  // Makes room for an FMU that is created next; returns the environment for its callbacks.
  std::uintptr_t place(std::uint32_t index);
  void define(std::uint32_t index, std::uintptr_t component, const std::map<std::string, std::uintptr_t>& functions);

  // Calls FMUs until there is another request, which must be answered.
  std::string_view next();
  void answer(std::string_view content);

  // The callbacks of FMUs: of FMI 3.0, and of FMI 1.0 and 2.0 with printf arguments.
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
  // A message from a thread of the FMU, which waits for the end of a call.
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

  static Host* only_;  // FMI 1.0 has no environment

  Channel channel_;
  std::deque<Served> served_;
  std::uint32_t present_ = 0;  // the FMU that is being called
  std::thread::id thread_;
  std::mutex mutex_;
  std::vector<Message> late_;
};

}  // namespace ssptool::processes
