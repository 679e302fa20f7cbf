// Messages of FMUs, taken where they are logged: formatted, counted, kept and written to a file without Python.
//
// An FMU may log on any thread, while others do, with the interpreter locked or not, before its instantiation has
// returned and after it was freed. So no callback touches Python, and whose message it is says a registry: the
// componentEnvironment (FMI 2.0), the instanceEnvironment (FMI 3.0) or the instance (FMI 1.0) → log.
#include <nanobind/nanobind.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unordered_map.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <clocale>
#include <cmath>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <limits>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>
#ifdef _WIN32
#include <io.h>
#else
#include <unistd.h>
#endif

#include "../engine/kernel/core/floating_point.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace std::string_view_literals;

namespace {

constexpr std::size_t longest = 65536;      // bytes of a message; what is longer is cut off
constexpr std::size_t kept_messages = 200;  // of an instance, the last ones
constexpr std::size_t kept_kinds = 50;      // of an instance, the first ones
constexpr std::size_t telling = 512;        // bytes by which kinds are told apart
constexpr int error_status = 3;             // fmi2Error
constexpr int pending = 5;                  // fmi2Pending
constexpr std::array statuses{"ok"sv, "warning"sv, "discard"sv, "error"sv, "fatal"sv, "pending"sv};
constexpr std::string_view cut_off = " \xE2\x80\xA6 (cut off)";
constexpr std::string_view replacement = "\xEF\xBF\xBD";  // U+FFFD

using Names = std::unordered_map<std::string, std::string>;

struct Message {
  double time;  // [s]; NaN: none yet
  int status;
  std::string category, text;
};

struct Kind {
  Message first;
  std::string pattern;
  std::uint64_t count = 1;
};

// -- text ---------------------------------------------------------------------------------------------------------

// Bytes of the UTF-8 sequence at the start of `text`; if it is none, minus the bytes that one U+FFFD stands for.
int sequence(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return -1;
  const int length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  const unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  for (int i = 1; i < length; ++i) {
    const auto place = static_cast<std::size_t>(i);
    if (place >= text.size() || byte(place) < (i == 1 ? low : 0x80) || byte(place) > (i == 1 ? high : 0xBF)) return -i;
  }
  return length;
}

std::string valid(std::string_view text) {
  std::string found;
  found.reserve(text.size());
  while (!text.empty()) {
    const int length = sequence(text);
    const auto size = static_cast<std::size_t>(std::abs(length));
    found += length > 0 ? text.substr(0, size) : replacement;
    text.remove_prefix(size);
  }
  return found;
}

// `#r12#` is the variable of type r, i, b or s with the value reference 12, and `##` is `#` (FMI 2.0.4, 2.1.5).
std::string resolved(std::string_view text, const Names& names) {
  std::string found;
  while (!text.empty()) {
    const std::size_t mark = std::min(text.find('#'), text.size());
    found += text.substr(0, mark);
    text.remove_prefix(mark);
    if (text.empty()) break;
    const std::size_t end = text.find('#', 1);
    const std::string_view inside = end == text.npos ? ""sv : text.substr(1, end - 1);
    const auto name = inside.empty() ? names.end() : names.find(std::string(inside));
    const bool replaced = end == 1 || name != names.end();
    found += end == 1 ? "#"sv : replaced ? std::string_view(name->second) : text.substr(0, 1);
    text.remove_prefix(replaced ? end + 1 : 1);
  }
  return found;
}

// The beginning of the text with 0 in place of each number: messages that differ in numbers alone are of one kind.
std::string pattern(std::string_view text) {
  text = text.substr(0, telling);
  constexpr std::string_view digits = "0123456789";
  std::string found;
  for (std::size_t i = 0; i < text.size();) {
    const bool number = digits.find(text[i]) != digits.npos;
    found += number ? '0' : text[i];
    ++i;
    if (number) i = std::min(text.find_first_not_of("0123456789.eE+-", i), text.size());
  }
  return found;
}

std::string_view stripped(std::string_view text) {
  const std::size_t last = text.find_last_not_of(" \t\r\n\v\f");
  return last == text.npos ? ""sv : text.substr(0, last + 1);
}

std::string formatted(const char* format, va_list arguments) {
  if (format == nullptr) return {};
  std::array<char, 1024> room;
  va_list again;
  va_copy(again, arguments);
  const int size = std::vsnprintf(room.data(), room.size(), format, arguments);
  std::string text;
  if (size < 0) {
    text = format;  // an argument that cannot be converted
  } else if (static_cast<std::size_t>(size) < room.size()) {
    text.assign(room.data(), static_cast<std::size_t>(size));
  } else {
    text.resize(std::min(static_cast<std::size_t>(size), longest + 1));
    std::vsnprintf(text.data(), text.size() + 1, format, again);
  }
  va_end(again);
  return text;
}

std::string number(double value) {
  std::array<char, 32> room;
  const auto [end, error] = std::to_chars(room.data(), room.data() + room.size(), value);
  return error == std::errc() ? std::string(room.data(), end) : std::string();
}

std::string quoted_csv(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == text.npos) return std::string(text);
  std::string found = "\"";
  for (const char c : text) {
    if (c == '"') found += c;
    found += c;
  }
  return found + '"';
}

std::string quoted_json(std::string_view text) {
  std::string found = "\"";
  for (const char c : text) {
    std::array<char, 8> room;
    if (c == '"' || c == '\\') {
      (found += '\\') += c;
    } else if (static_cast<unsigned char>(c) >= 0x20) {
      found += c;
    } else {
      std::snprintf(room.data(), room.size(), "\\u%04x", static_cast<unsigned>(c));
      found += c == '\n' ? "\\n" : c == '\r' ? "\\r" : c == '\t' ? "\\t" : room.data();
    }
  }
  return found + '"';
}

std::string status_word(int status) {
  if (status >= 0 && static_cast<std::size_t>(status) < statuses.size())
    return std::string(statuses[static_cast<std::size_t>(status)]);
  return std::to_string(status);
}

int severity(int status) { return status == pending ? 0 : status; }

// -- file ---------------------------------------------------------------------------------------------------------

// An open file that somebody else closes, after `close`. Each row is with the operating system when `write` returns, so
// that it is not lost when an FMU takes the process along.
class LogFile {
 public:
  LogFile(int descriptor, bool json) : json_(json), descriptor_(descriptor) {}

  void write(std::string_view component, const Message& message, std::string_view text) {
    const std::string row = json_ ? json(component, message, text) : csv(component, message, text);
    const std::scoped_lock lock(mutex_);
    if (descriptor_ >= 0 && !written(row)) ++lost_;
  }
  void close() {
    const std::scoped_lock lock(mutex_);
    descriptor_ = -1;
  }
  [[nodiscard]] std::uint64_t lost() const {
    const std::scoped_lock lock(mutex_);
    return lost_;
  }
  [[nodiscard]] int error() const {
    const std::scoped_lock lock(mutex_);
    return error_;
  }

 private:
  static std::string csv(std::string_view component, const Message& message, std::string_view text) {
    return (std::isnan(message.time) ? std::string() : number(message.time)) + ',' + quoted_csv(component) + ',' +
           status_word(message.status) + ',' + quoted_csv(valid(message.category)) + ',' + quoted_csv(text) + "\r\n";
  }
  static std::string json(std::string_view component, const Message& message, std::string_view text) {
    return "{\"time\": " + (std::isfinite(message.time) ? number(message.time) : std::string("null")) +
           ", \"component\": " + quoted_json(component) + ", \"status\": " + quoted_json(status_word(message.status)) +
           ", \"category\": " + quoted_json(valid(message.category)) + ", \"text\": " + quoted_json(text) + "}\n";
  }
  bool written(std::string_view row) {
    while (!row.empty()) {
#ifdef _WIN32
      const auto count = _write(descriptor_, row.data(), static_cast<unsigned>(row.size()));
#else
      const auto count = ::write(descriptor_, row.data(), row.size());
#endif
      if (count < 0 && errno == EINTR) continue;
      if (count <= 0) {
        error_ = errno;
        return false;
      }
      row.remove_prefix(static_cast<std::size_t>(count));
    }
    return true;
  }

  const bool json_;
  mutable std::mutex mutex_;
  int descriptor_;
  std::uint64_t lost_ = 0;
  int error_ = 0;
};

// -- logs ---------------------------------------------------------------------------------------------------------

class Log;

// The present time [s], which somebody else writes; NaN: none yet.
struct Clock {
  double time = std::numeric_limits<double>::quiet_NaN();

  [[nodiscard]] double now() { return std::atomic_ref(time).load(std::memory_order_relaxed); }
  void set(double now) { std::atomic_ref(time).store(now, std::memory_order_relaxed); }
};

// Never destroyed: an FMU may log while the process ends.
struct Registry {
  std::shared_mutex mutex;
  std::unordered_map<std::uintptr_t, std::weak_ptr<Log>> logs;
  std::atomic<std::uintptr_t> next_key = 1;

  static Registry& one() {
    static Registry& registry = *new Registry;
    return registry;
  }
  std::shared_ptr<Log> find(const void* key) {
    const std::shared_lock lock(mutex);
    const auto found = logs.find(reinterpret_cast<std::uintptr_t>(key));
    return found == logs.end() ? nullptr : found->second.lock();
  }
};

// Logs of the instances that this thread is making: of FMI 1.0, nobody knows their addresses yet.
thread_local std::vector<std::shared_ptr<Log>> making;

class Log : public std::enable_shared_from_this<Log> {
 public:
  explicit Log(std::string component) : component_(std::move(component)), key_(Registry::one().next_key++) {}
  ~Log() { close(); }

  [[nodiscard]] std::uintptr_t key() const { return key_; }

  void answer_to(std::uintptr_t key) {
    Registry& registry = Registry::one();
    const std::unique_lock lock(registry.mutex);
    registry.logs[key] = weak_from_this();
    keys_.push_back(key);
  }
  void begin() { making.push_back(shared_from_this()); }
  void end() { making.pop_back(); }

  // What comes from now on is not taken any more.
  void close() {
    Registry& registry = Registry::one();
    {
      const std::unique_lock lock(registry.mutex);
      for (const std::uintptr_t key : keys_) {
        const auto found = registry.logs.find(key);
        // Another instance may have got the address by now.
        if (found != registry.logs.end() && (found->second.expired() || found->second.lock().get() == this))
          registry.logs.erase(found);
      }
      keys_.clear();
    }
    const std::scoped_lock lock(mutex_);
    file_ = nullptr;
    clock_ = nullptr;
  }

  void take(int status, const char* category, std::string text) {
    text.resize(stripped(text).size());
    if (text.size() > longest) text.replace(longest, text.npos, cut_off);
    const std::scoped_lock lock(mutex_);
    const double time = clock_ ? clock_->now() : std::numeric_limits<double>::quiet_NaN();
    const Message message{time, status, category == nullptr ? "" : category, std::move(text)};
    ++counts_[status];
    if (severity(status) > 0) sort(message);
    if (file_ && severity(status) >= level_ && wanted(message)) write(message);
    if (messages_.size() == kept_messages) messages_.pop_front();
    messages_.push_back(message);
  }

  void follow(std::shared_ptr<Clock> clock) {
    const std::scoped_lock lock(mutex_);
    clock_ = std::move(clock);
  }
  void write_to(std::shared_ptr<LogFile> file, int level, std::vector<std::string> categories, Names names,
                bool references) {
    const std::scoped_lock lock(mutex_);
    file_ = std::move(file);
    level_ = level;
    categories_ = std::move(categories);
    names_ = std::move(names);
    references_ = references;
  }
  void clear() {
    const std::scoped_lock lock(mutex_);
    messages_.clear();
    kinds_.clear();
    counts_.clear();
  }

  [[nodiscard]] std::vector<Message> messages() const {
    const std::scoped_lock lock(mutex_);
    return {messages_.begin(), messages_.end()};
  }
  [[nodiscard]] std::vector<Kind> kinds() const {
    const std::scoped_lock lock(mutex_);
    return kinds_;
  }
  [[nodiscard]] std::unordered_map<int, std::uint64_t> counts() const {
    const std::scoped_lock lock(mutex_);
    return counts_;
  }

 private:
  void sort(const Message& message) {
    std::string own = pattern(message.text);
    for (Kind& kind : kinds_)
      if (kind.first.status == message.status && kind.first.category == message.category && kind.pattern == own) {
        ++kind.count;
        return;
      }
    if (kinds_.size() < kept_kinds) kinds_.push_back({message, std::move(own)});
  }
  // Errors are, whatever their category: some FMUs use those that they do not declare.
  [[nodiscard]] bool wanted(const Message& message) const {
    return categories_.empty() || severity(message.status) >= error_status ||
           std::find(categories_.begin(), categories_.end(), message.category) != categories_.end();
  }
  void write(const Message& message) const {
    std::string text = valid(message.text);
    file_->write(component_, message, references_ ? resolved(text, names_) : text);
  }

  const std::string component_;
  const std::uintptr_t key_;
  std::vector<std::uintptr_t> keys_;  // guarded by the registry's mutex
  mutable std::mutex mutex_;          // guards all that follows
  std::shared_ptr<Clock> clock_;
  std::deque<Message> messages_;
  std::vector<Kind> kinds_;
  std::unordered_map<int, std::uint64_t> counts_;
  std::shared_ptr<LogFile> file_;
  int level_ = 0;
  std::vector<std::string> categories_;
  Names names_;
  bool references_ = false;
};

std::shared_ptr<Log> log_of(const void* key) {
  std::shared_ptr<Log> log = Registry::one().find(key);
  return log == nullptr && !making.empty() ? making.back() : log;
}

// -- callbacks ----------------------------------------------------------------------------------------------------

// FMI 1.0 and 2.0; the key is the instance of the former and the environment of the latter.
extern "C" void log_formatted(void* key, const char*, int status, const char* category, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  try {
    if (const std::shared_ptr<Log> log = log_of(key)) log->take(status, category, formatted(format, arguments));
  } catch (...) {  // no memory: an FMU knows nothing of exceptions
  }
  va_end(arguments);
}

extern "C" void log_plain(void* environment, int status, const char* category, const char* text) {
  try {
    if (const std::shared_ptr<Log> log = log_of(environment)) log->take(status, category, text == nullptr ? "" : text);
  } catch (...) {
  }
}

template <typename Function>
std::uintptr_t address(Function* function) {
  return reinterpret_cast<std::uintptr_t>(function);
}

nb::bytes bytes(const std::string& text) { return nb::bytes(text.data(), text.size()); }

nb::tuple facts(const Message& message) {
  return nb::make_tuple(message.time, message.status, bytes(message.category), bytes(message.text));
}

// What calls of FMUs must leave as it is: floating-point environment and locale.
class ProcessState {
 public:
  // Restores it: what had changed of the environment, as bits, and whether the locale had.
  nb::tuple restore() const {
    const unsigned changes = floating_point_.restore();
    const bool elsewhere = locale_ != std::setlocale(LC_ALL, nullptr);
    if (elsewhere) std::setlocale(LC_ALL, locale_.c_str());
    return nb::make_tuple(changes, elsewhere);
  }

 private:
  const ssptool::KeptFloatingPoint floating_point_;
  const std::string locale_ = std::setlocale(LC_ALL, nullptr);
};

}  // namespace

NB_MODULE(_messages, module) {
  module.doc() =
      "Messages of FMUs, taken without Python, and the state of the process that their calls must not change.";
  module.attr("log_formatted") = address(log_formatted);
  module.attr("log_plain") = address(log_plain);
  module.attr("allocate") = address<void*(std::size_t, std::size_t)>(std::calloc);
  module.attr("release") = address<void(void*)>(std::free);

  nb::class_<ProcessState>(module, "ProcessState")
      .def(nb::init<>())
      .def("restore", &ProcessState::restore, nb::sig("def restore(self) -> tuple[int, bool]"));

  nb::class_<Clock>(module, "Clock")
      .def(nb::new_([] { return std::make_shared<Clock>(); }))
      .def_prop_ro("address", [](Clock& clock) { return reinterpret_cast<std::uintptr_t>(&clock.time); })
      .def_prop_rw("time", &Clock::now, &Clock::set);

  nb::class_<LogFile>(module, "LogFile")
      .def(nb::new_([](int descriptor, bool json) { return std::make_shared<LogFile>(descriptor, json); }),
           "descriptor"_a, "json"_a)
      .def("close", &LogFile::close)
      .def_prop_ro("lost", &LogFile::lost)
      .def_prop_ro("error", &LogFile::error);

  nb::class_<Log>(module, "Log")
      .def(nb::new_([](std::string component) { return std::make_shared<Log>(std::move(component)); }), "component"_a)
      .def_prop_ro("key", &Log::key)
      .def("answer_to", &Log::answer_to, "key"_a)
      .def("begin", &Log::begin)
      .def("end", &Log::end)
      .def("close", &Log::close)
      .def("clear", &Log::clear)
      .def("follow", &Log::follow, "clock"_a)
      .def("write_to", &Log::write_to, "file"_a, "level"_a, "categories"_a, "names"_a, "references"_a)
      .def("counts", &Log::counts)
      .def(
          "messages",
          [](const Log& log) {
            nb::list found;
            for (const Message& message : log.messages()) found.append(facts(message));
            return found;
          },
          nb::sig("def messages(self) -> list[tuple[float, int, bytes, bytes]]"))
      .def(
          "kinds",
          [](const Log& log) {
            nb::list found;
            for (const Kind& kind : log.kinds()) found.append(nb::make_tuple(kind.count, facts(kind.first)));
            return found;
          },
          nb::sig("def kinds(self) -> list[tuple[int, tuple[float, int, bytes, bytes]]]"));
}
