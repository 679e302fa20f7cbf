#include "stopped.hpp"

#include <memory>
#include <utility>

namespace ssptool::binding {

nb::module_ event_vocabulary() { return nb::module_::import_("ssptool.engine.kernel.stopped"); }

namespace {

class PythonDetails final : public Details {
 public:
  explicit PythonDetails(nb::object details) : object(std::move(details)) {}
  PythonDetails(const PythonDetails&) = delete;
  PythonDetails& operator=(const PythonDetails&) = delete;
  ~PythonDetails() override {
    const nb::gil_scoped_acquire locked;
    object.reset();
  }

  nb::object object;
};

void set_error(const nb::object& error) { PyErr_SetObject(error.type().ptr(), error.ptr()); }

}  // namespace

IntegrationStopped stopped_from(nb::handle stopped) {
  IntegrationStopped found(static_cast<Ending>(attribute<int>(stopped, "code")),
                           attribute<std::string>(stopped, "message"), attribute<std::string>(stopped, "advice"),
                           attribute<double>(stopped, "t"), attribute<std::string>(stopped, "component"),
                           attribute<bool>(stopped, "recoverable"));
  found.function = attribute<std::string>(stopped, "function");
  found.details = std::make_shared<PythonDetails>(nb::object(stopped.attr("details")));
  return found;
}

nb::object to_python(const IntegrationStopped& stopped) {
  const auto* const details = dynamic_cast<const PythonDetails*>(stopped.details.get());
  return event_vocabulary().attr("Stopped")(static_cast<int>(stopped.ending), stopped.what(), stopped.advice, stopped.t,
                                            stopped.component, stopped.recoverable, stopped.function,
                                            details == nullptr ? nb::none() : details->object);
}

void raise(const IntegrationStopped& stopped) { set_error(to_python(stopped)); }

void raise(const CallRefused& refused) {
  set_error(event_vocabulary().attr("Refused")(refused.component, refused.function, refused.status));
}

}  // namespace ssptool::binding
