// The Python module: it passes addresses and bytes, and releases the GIL while waiting.
#include <nanobind/nanobind.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>

#include <stdexcept>

#include "proxy.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace ssptool::processes {

namespace {

std::string_view content(const nb::bytes& bytes) noexcept { return {bytes.c_str(), bytes.size()}; }

template <class Function>
std::uintptr_t address(Function* function) noexcept {
  return reinterpret_cast<std::uintptr_t>(function);
}

std::uintptr_t remote(Client& client, std::uintptr_t update, std::uintptr_t update_environment, std::uintptr_t log,
                      std::uintptr_t log_environment) {
  return reinterpret_cast<std::uintptr_t>(
      &client.remote({reinterpret_cast<IntermediateUpdate*>(update), reinterpret_cast<void*>(update_environment),
                      reinterpret_cast<LogMessage*>(log), reinterpret_cast<void*>(log_environment)}));
}

nb::bytes request(Client& client, const nb::bytes& question, double patience) {
  std::optional<std::string> answer;
  {
    const nb::gil_scoped_release released;
    answer = client.request(content(question), patience);
  }
  if (!answer) throw std::runtime_error("the process has ended");
  return nb::bytes(answer->data(), answer->size());
}

nb::object lost(const Client& client) {
  if (!client.lost()) return nb::none();
  const Client::Lost& lost = *client.lost();
  return nb::make_tuple(lost.instance, std::string(lost.function), lost.wrong);
}

nb::bytes next(Host& host) {
  std::string_view question;
  {
    const nb::gil_scoped_release released;
    question = host.next();
  }
  return nb::bytes(question.data(), question.size());
}

std::map<std::string, std::uintptr_t> functions() {
  std::map<std::string, std::uintptr_t> found;
  for (std::size_t i = 0; i < names().size(); ++i) found[std::string(names()[i])] = stubs()[i];
  return found;
}

}  // namespace

}  // namespace ssptool::processes

NB_MODULE(_proxy, module) {
  using namespace ssptool::processes;
  module.def("functions", &functions,
             "FMI function → address of the one that passes calls on; it takes what `Client.remote` returns as the "
             "instance.");
  // Addresses of the callbacks of FMUs in a `Host`; their environment is what `Host.place` returns.
  module.attr("UPDATE") = address(&Host::update);
  module.attr("LOG") = address(&Host::log);
  module.attr("LOG_FORMATTED") = address(&Host::log_formatted);
  nb::class_<Client>(module, "Client")
      .def(nb::init<int>(), "descriptor"_a, "Of a file in memory, as yet empty, that can be sealed.")
      .def("process", &Client::process, "number"_a, "Which process answers: one that this one has started.")
      .def_prop_ro("remotes", &Client::remotes, "How many FMUs there are.")
      .def("remote", &remote, "update"_a, "update_environment"_a, "log"_a, "log_environment"_a,
           "The address of one more FMU, with its fmi3IntermediateUpdateCallback and fmi3LogMessageCallback.")
      .def("request", &request, "content"_a, "patience"_a = 0.0,
           "The answer of who has called `Host.next`. Raises RuntimeError where the process is lost, or gives no "
           "answer for so long [s]; 0: any time.")
      .def("distrust", &Client::distrust, "wrong"_a,
           "Believe nothing of the process any more, and end it: what it has sent cannot be right.")
      .def("close", &Client::close, "From now on calls are answered by fatal.")
      .def_prop_ro("lost", &lost, nb::sig("def lost(self) -> tuple[int, str, str] | None"),
                   "The FMU and the function that were called when it turned out that the process has ended; −1: none. "
                   "At last, what it has sent that cannot be right and was ended for, if anything.");
  nb::class_<Host>(module, "Host")
      .def(nb::init<int>(), "descriptor"_a, "Of the file that a `Client` has.")
      .def("place", &Host::place, "index"_a, "The environment for the callbacks of an FMU that is made next.")
      .def("define", &Host::define, "index"_a, "component"_a, "functions"_a)
      .def("next", &next, "Call FMUs until something else is asked for.")
      .def("answer", [](Host& host, const nb::bytes& bytes) { host.answer(content(bytes)); }, "content"_a);
}
