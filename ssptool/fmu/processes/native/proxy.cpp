#include "proxy.hpp"

#include <signal.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <new>
#include <tuple>
#include <utility>

namespace ssptool::processes {

namespace {

constexpr int warning = 1, error = 3, fatal = 4;

constexpr std::size_t most_logged = std::size_t{1} << 20;    // maximum bytes of a logged text; no log keeps that much
constexpr std::size_t most_answered = std::size_t{1} << 26;  // bytes of an answer to a request

// fmi2EventInfo
struct EventInfo {
  std::int32_t flags[5];
  double next_event_time;
};

enum Place : std::uint32_t {
#define FUNCTION(name, ...) place_##name,
#include "functions.hpp"
#undef FUNCTION
  function_count
};

constexpr std::string_view function_names[] = {
#define FUNCTION(name, ...) #name,
#include "functions.hpp"
#undef FUNCTION
};

// Whether a child process is running; a terminated one stays a zombie until its creator waits for it.
bool at_work(int process) noexcept {
  siginfo_t ended{};
  return waitid(P_PID, static_cast<id_t>(process), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 && ended.si_pid == 0;
}

template <class... Kinds>
struct Signature {
  static_assert(sizeof...(Kinds) <= most_arguments);
  using Values = std::tuple<typename Kinds::C...>;
  using Function = int(void*, typename Kinds::C...);
  using Indices = std::index_sequence_for<Kinds...>;

  template <int argument>
  static const std::size_t* lengths(const Values& values) noexcept {
    if constexpr (argument == one)
      return nullptr;
    else
      return std::get<argument>(values);
  }

  template <std::size_t... i>
  static void note(const Values& values, std::uint64_t* slots, std::index_sequence<i...>) noexcept {
    (Kinds::note(std::get<i>(values), slots[i]), ...);
  }
  template <std::size_t... i>
  static std::uint64_t bytes(const Values& values, [[maybe_unused]] const std::uint64_t* slots,
                             std::index_sequence<i...>) noexcept {
    return (0 + ... + Kinds::bytes(std::get<i>(values), slots, lengths<Kinds::lengths>(values)));
  }
  template <std::size_t... i>
  static void write(const Values& values, Channel& channel, std::uint64_t* slots, [[maybe_unused]] std::uint64_t place,
                    std::index_sequence<i...>) noexcept {
    ((Kinds::write(std::get<i>(values), channel, slots, slots[i], place, lengths<Kinds::lengths>(values)),
      place += Kinds::bytes(std::get<i>(values), slots, lengths<Kinds::lengths>(values))),
     ...);
  }
  // Lengths are taken before the contents, and the client then uses its own copies of them.
  template <std::size_t... i>
  static bool take(const Values& values, const Returned& returned, [[maybe_unused]] const std::uint64_t* slots,
                   [[maybe_unused]] Lent& lent, std::index_sequence<i...>) {
    return (true && ... &&
            Kinds::take(std::get<i>(values), returned, slots, slots[i], lengths<Kinds::lengths>(values), lent));
  }
  template <std::size_t... i>
  static int call(void* component, std::uintptr_t function, Channel& channel, const std::uint64_t* slots,
                  std::index_sequence<i...>) {
    const Values values{Kinds::read(channel, slots, slots[i])...};
    const int status = reinterpret_cast<Function*>(function)(component, std::get<i>(values)...);
    [[maybe_unused]] const bool lent = status <= warning;
    return (true && ... && Kinds::append(channel, slots, slots[i], lent)) ? status : error;
  }
};

}  // namespace

std::span<const std::string_view> names() noexcept { return function_names; }

// ---- in the process that calls

template <std::uint32_t function, class... Kinds>
int call_remote(Remote* remote, typename Kinds::C... given) {
  using Message = Signature<Kinds...>;
  constexpr typename Message::Indices indices;
  Client& client = *remote->client;
  const std::lock_guard lock(client.mutex_);
  if (!client.usable()) return fatal;
  Channel& channel = client.channel_;
  const typename Message::Values values{given...};
  std::uint64_t slots[most_arguments];
  Message::note(values, slots, indices);
  const std::uint64_t begin = client.base_, end = begin + Message::bytes(values, slots, indices);
  if (!channel.holds(0, end)) return error;
  Message::write(values, channel, slots, begin, indices);
  Header& header = channel.header();
  std::memcpy(header.arguments, slots, sizeof(std::uint64_t) * sizeof...(Kinds));
  header.instance = remote->index;
  header.function = function;
  header.used = client.base_ = end;
  const std::int64_t outer = std::exchange(client.stepping_, function == place_fmi3DoStep ? remote->index : -1);
  const bool answered = client.transact(What::call, What::reply, remote->index, function_names[function]);
  client.stepping_ = outer;
  client.base_ = begin;
  if (!answered) return fatal;
  const int status = once(header.status);
  try {
    if (Message::take(values, {channel, end}, slots, remote->lent, indices)) return status;
  } catch (const std::bad_alloc&) {
    return error;
  }
  client.lose({remote->index, function_names[function], "a value lies outside of the memory for messages"});
  return fatal;
}

namespace {

// A signature passes the kinds of arguments, because there may be none, which a macro could not pass.
template <std::uint32_t function, class... Kinds>
std::uintptr_t stub(Signature<Kinds...>) noexcept {
  return reinterpret_cast<std::uintptr_t>(&call_remote<function, Kinds...>);
}

const std::uintptr_t stub_addresses[] = {
#define FUNCTION(name, ...) stub<place_##name>(Signature<__VA_ARGS__>{}),
#include "functions.hpp"
#undef FUNCTION
};

using Call = int(void*, std::uintptr_t, Channel&, const std::uint64_t*);

template <class... Kinds>
Call* caller(Signature<Kinds...>) noexcept {
  return [](void* component, std::uintptr_t function, Channel& channel, const std::uint64_t* slots) {
    return Signature<Kinds...>::call(component, function, channel, slots, std::index_sequence_for<Kinds...>());
  };
}

Call* const callers[] = {
#define FUNCTION(name, ...) caller(Signature<__VA_ARGS__>{}),
#include "functions.hpp"
#undef FUNCTION
};

// The arguments of an intermediate update in the slots of a message.
enum Update {
  update_time,
  update_set,
  update_get,
  update_finished,
  update_can_return,
  update_return,
  update_return_time
};

template <class T>
std::uint64_t as_slot(T value) noexcept {
  std::uint64_t slot;
  Value<T>::note(value, slot);
  return slot;
}

double as_real(std::uint64_t slot) noexcept {
  double value;
  std::memcpy(&value, &slot, sizeof value);
  return value;
}

}  // namespace

std::span<const std::uintptr_t> stubs() noexcept { return stub_addresses; }

Remote& Client::remote(const Callbacks& callbacks) {
  const std::lock_guard lock(mutex_);
  return remotes_.emplace_back(Remote{this, static_cast<std::uint32_t>(remotes_.size()), callbacks, {}});
}

std::optional<std::string> Client::request(std::string_view content, double patience) {
  const std::lock_guard lock(mutex_);
  if (!usable()) return std::nullopt;
  if (!channel_.holds(base_, content.size())) throw std::bad_alloc();
  Header& header = channel_.header();
  std::memcpy(channel_.data(base_), content.data(), content.size());
  header.arguments[0] = base_;
  header.arguments[1] = content.size();
  header.used = base_ + padded(content.size());
  const std::chrono::duration<double> seconds(patience);
  const auto now = std::chrono::steady_clock::now();
  const Deadline deadline(now + std::chrono::duration_cast<std::chrono::steady_clock::duration>(seconds));
  if (!transact(What::request, What::answer, -1, "", patience > 0 ? deadline : Deadline())) return std::nullopt;
  const std::uint64_t place = once(header.arguments[0]), size = once(header.arguments[1]);
  if (size <= most_answered && channel_.holds(place, size)) return std::string(channel_.at<char>(place), size);
  distrust("an answer lies outside of the memory for messages");
  return std::nullopt;
}

void Client::close() noexcept {
  const std::lock_guard lock(mutex_);
  if (!lost_) lost_ = Lost{-1, "", ""};
}

void Client::lose(Lost lost) {
  const std::lock_guard lock(mutex_);
  if (lost_) return;
  // The process has not been waited for, so its number is still valid.
  if (!lost.wrong.empty() && process_ > 0) kill(process_, SIGKILL);
  lost_ = std::move(lost);
}

bool Client::transact(What what, What answer, std::int64_t instance, std::string_view function, Deadline deadline) {
  const auto in_time = [&] { return !deadline || std::chrono::steady_clock::now() < *deadline; };
  channel_.header().what = what;
  channel_.post(Side::host);
  for (;;) {
    const Arrival arrival = channel_.wait(Side::client, [&] { return in_time() && at_work(process_); });
    const What asked = once(channel_.header().what);
    if (arrival == Arrival::message && asked == answer) return true;
    if (arrival == Arrival::uncounted)
      lose({instance, function, "the number of messages is wrong"});
    else if (!in_time())
      lose({instance, function, "no answer within the time allowed"});
    else if (arrival == Arrival::gone)
      lose({instance, function, ""});
    else if (!called_back(asked))
      lose({instance, function, "a message is none that it may send now"});
    if (lost_) return false;
    channel_.header().what = What::updated;
    channel_.post(Side::host);
  }
}

bool Client::called_back(What what) {
  Header& header = channel_.header();
  const std::uint32_t instance = once(header.instance);
  if (instance >= remotes_.size()) return false;
  const Remote& remote = remotes_[instance];
  if (what == What::update) {
    update(remote, header, stepping_ == instance);
    return true;
  }
  return what == What::log && log(remote, header);
}

bool Client::log(const Remote& remote, const Header& header) const {
  const std::optional<std::string> category = text(once(header.arguments[0])), said = text(once(header.arguments[1]));
  if (!category || !said) return false;
  if (const Callbacks& callbacks = remote.callbacks; callbacks.log != nullptr)
    callbacks.log(callbacks.log_environment, once(header.status), category->c_str(), said->c_str());
  return true;
}

// A text in the data, cut if it is too long; none if the place is invalid.
std::optional<std::string> Client::text(std::uint64_t place) const {
  if (!channel_.holds(place, 1)) return std::nullopt;
  const std::size_t room = std::min<std::uint64_t>(channel_.capacity() - place, most_logged);
  const auto* const begin = reinterpret_cast<const char*>(channel_.data(place));
  return std::string(begin, strnlen(begin, room));
}

// The receiver of a request for inputs may call functions of the same FMU. Outside a step, no request is passed on,
// because the owner of the environment may no longer exist.
void Client::update(const Remote& remote, Header& header, bool allowed) {
  Arguments given;
  for (std::size_t i = 0; i < most_arguments; ++i) given[i] = once(header.arguments[i]);
  bool early = given[update_return] != 0;
  double early_time = as_real(given[update_return_time]);
  if (const Callbacks& callbacks = remote.callbacks; allowed && callbacks.update != nullptr)
    callbacks.update(callbacks.update_environment, as_real(given[update_time]), given[update_set] != 0,
                     given[update_get] != 0, given[update_finished] != 0, given[update_can_return] != 0, &early,
                     &early_time);
  header.arguments[update_return] = early;
  header.arguments[update_return_time] = as_slot(early_time);
}

// ---- in the process that has the FMUs

Host* Host::only_ = nullptr;

std::uintptr_t Host::place(std::uint32_t index) {
  only_ = this;
  present_ = index;
  thread_ = std::this_thread::get_id();
  while (served_.size() <= index) served_.push_back({this, static_cast<std::uint32_t>(served_.size()), nullptr, {}});
  return reinterpret_cast<std::uintptr_t>(&served_[index]);
}

void Host::define(std::uint32_t index, std::uintptr_t component,
                  const std::map<std::string, std::uintptr_t>& functions) {
  place(index);
  Served& served = served_[index];
  served.component = reinterpret_cast<void*>(component);
  served.functions.assign(function_count, 0);
  for (std::uint32_t i = 0; i < function_count; ++i)
    if (const auto found = functions.find(std::string(function_names[i])); found != functions.end())
      served.functions[i] = found->second;
}

std::string_view Host::next() {
  for (;;) {
    wait();
    const Header& header = channel_.header();
    if (header.what != What::call) return {channel_.at<char>(header.arguments[0]), header.arguments[1]};
    perform();
  }
}

void Host::answer(std::string_view content) {
  forward_late();
  Header& header = channel_.header();
  const bool fits = channel_.holds(header.used, content.size());
  header.arguments[0] = header.used;
  header.arguments[1] = fits ? content.size() : 0;
  if (fits) std::memcpy(channel_.data(header.used), content.data(), content.size());
  header.what = What::answer;
  channel_.post(Side::client);
}

// If the client has ended, this process ends immediately.
void Host::wait() noexcept {
  (void)channel_.wait(Side::host, [] { return true; });
}

void Host::perform() {
  Header& header = channel_.header();
  const Served& served = served_[header.instance];
  const std::uint32_t outer = std::exchange(present_, header.instance);
  thread_ = std::this_thread::get_id();
  const std::uint32_t function = header.function;
  Arguments slots;
  std::memcpy(slots, header.arguments, sizeof slots);
  const std::uintptr_t address = served.functions[function];
  const int status = address == 0 ? error : callers[function](served.component, address, channel_, slots);
  forward_late();
  present_ = outer;
  header.status = status;
  header.what = What::reply;
  channel_.post(Side::client);
}

void Host::update(void* environment, double time, bool set_requested, bool get_allowed, bool step_finished,
                  bool can_return_early, bool* early_return_requested, double* early_return_time) {
  const Served& served = *static_cast<Served*>(environment);
  Host& host = *served.host;
  Header& header = host.channel_.header();
  const std::uint64_t used = header.used;
  header.instance = served.index;
  header.arguments[update_time] = as_slot(time);
  header.arguments[update_set] = set_requested;
  header.arguments[update_get] = get_allowed;
  header.arguments[update_finished] = step_finished;
  header.arguments[update_can_return] = can_return_early;
  header.arguments[update_return] = early_return_requested != nullptr && *early_return_requested;
  header.arguments[update_return_time] = as_slot(early_return_time == nullptr ? 0.0 : *early_return_time);
  header.what = What::update;
  host.channel_.post(Side::client);
  for (;;) {
    host.wait();
    if (header.what != What::call) break;
    host.perform();
  }
  if (early_return_requested != nullptr) *early_return_requested = header.arguments[update_return] != 0;
  if (early_return_time != nullptr) *early_return_time = as_real(header.arguments[update_return_time]);
  header.used = used;
}

void Host::log(void* environment, int status, const char* category, const char* text) {
  const Served& served = *static_cast<Served*>(environment);
  served.host->said(served.index, status, category, text);
}

// FMI 1.0 identifies the instance by an address that is unknown while the instance is being created; the instance that
// is being called is meant.
void Host::log_formatted(void*, const char*, int status, const char* category, const char* text, ...) {
  std::va_list arguments, again;
  va_start(arguments, text);
  va_copy(again, arguments);
  const int length = text == nullptr ? 0 : std::vsnprintf(nullptr, 0, text, arguments);
  std::string formatted(length > 0 ? static_cast<std::size_t>(length) : 0, '\0');
  if (length > 0) std::vsnprintf(formatted.data(), formatted.size() + 1, text, again);
  va_end(again);
  va_end(arguments);
  if (only_ != nullptr) only_->said(only_->present_, status, category, formatted.c_str());
}

void Host::said(std::uint32_t index, int status, const char* category, const char* text) {
  const std::string_view known_category = category == nullptr ? "" : category, known_text = text == nullptr ? "" : text;
  if (std::this_thread::get_id() == thread_) return forward(index, status, known_category, known_text);
  const std::lock_guard lock(mutex_);
  late_.push_back({index, status, std::string(known_category), std::string(known_text)});
}

void Host::forward_late() {
  std::vector<Message> late;
  {
    const std::lock_guard lock(mutex_);
    late.swap(late_);
  }
  for (const Message& message : late) forward(message.index, message.status, message.category, message.text);
}

void Host::forward(std::uint32_t index, int status, std::string_view category, std::string_view text) {
  Header& header = channel_.header();
  const std::uint64_t used = header.used, text_place = used + padded(category.size() + 1);
  if (!channel_.holds(text_place, text.size() + 1)) return;
  std::memcpy(channel_.data(used), category.data(), category.size());
  *channel_.data(used + category.size()) = std::byte{0};
  std::memcpy(channel_.data(text_place), text.data(), text.size());
  *channel_.data(text_place + text.size()) = std::byte{0};
  header.instance = index;
  header.status = status;
  header.arguments[0] = used;
  header.arguments[1] = text_place;
  header.what = What::log;
  channel_.post(Side::client);
  wait();
}

}  // namespace ssptool::processes
