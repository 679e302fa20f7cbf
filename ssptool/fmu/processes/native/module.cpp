// The Python module: addresses and bytes go in and out, and no lock of Python is held while anybody waits.
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

nb::dict functions() {
  nb::dict found;
  for (std::size_t i = 0; i < names().size(); ++i) found[nb::str(names()[i].data(), names()[i].size())] = stubs()[i];
  return found;
}

}  // namespace

}  // namespace ssptool::processes

NB_MODULE(_proxy, module) {
  using namespace ssptool::processes;
  module.attr("FUNCTIONS") = functions();
  module.attr("UPDATE") = address(&Host::update);
  module.attr("LOG") = address(&Host::log);
  module.attr("LOG_FORMATTED") = address(&Host::log_formatted);
  nb::class_<Client>(module, "Client")
      .def(nb::init<int>(), "descriptor"_a)
      .def("process", &Client::process, "number"_a)
      .def_prop_ro("remotes", &Client::remotes)
      .def("remote", &remote, "update"_a, "update_environment"_a, "log"_a, "log_environment"_a)
      .def("request", &request, "content"_a, "patience"_a = 0.0)
      .def("distrust", &Client::distrust, "wrong"_a)
      .def("close", &Client::close)
      .def_prop_ro("lost", &lost);
  nb::class_<Host>(module, "Host")
      .def(nb::init<int>(), "descriptor"_a)
      .def("place", &Host::place, "index"_a)
      .def("define", &Host::define, "index"_a, "component"_a, "functions"_a)
      .def("next", &next)
      .def("answer", [](Host& host, const nb::bytes& bytes) { host.answer(content(bytes)); }, "content"_a);
}
