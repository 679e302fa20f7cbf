#include "stopped.hpp"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <utility>

namespace ssptool::binding {

namespace {

nb::module_ failures() { return nb::module_::import_("ssptool.engine.failure"); }

// Members of `Ending` in Python, in the order of `Ending`.
constexpr std::array endings{"FMI", "NONFINITE", "INTEGRATION", "EVENTS", "LOOP", "COUPLING", "INPUTS", "TERMINATED"};

// Endings that the kernel does not know are those of a function of a component.
Ending ending_of(const std::string& name) {
  const auto found = std::ranges::find(endings, name);
  return found == endings.end() ? Ending::fmi : static_cast<Ending>(found - endings.begin());
}

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

IntegrationStopped stopped_from(nb::handle failure) {
  IntegrationStopped found(ending_of(attribute<std::string>(failure.attr("ending"), "name")),
                           attribute<std::string>(failure, "message"), attribute<std::string>(failure, "advice"),
                           attribute<double>(failure, "time"), attribute<std::string>(failure, "component"),
                           attribute<bool>(failure, "recoverable"));
  found.function = attribute<std::string>(failure, "function");
  found.details = std::make_shared<PythonDetails>(nb::borrow(failure));
  return found;
}

nb::object to_python(const IntegrationStopped& stopped) {
  const auto* const details = dynamic_cast<const PythonDetails*>(stopped.details.get());
  return failures().attr("failure_of_kernel")(endings.at(static_cast<std::size_t>(stopped.ending)), stopped.what(),
                                              stopped.advice, stopped.t, stopped.component, stopped.function,
                                              stopped.recoverable, details == nullptr ? nb::none() : details->object);
}

nb::object to_python(const CallRefused& refused) {
  return nb::module_::import_("ssptool.engine.kernel.solutions")
      .attr("SystemRefusal")(refused.component, refused.function, refused.status);
}

void raise(const IntegrationStopped& stopped) { set_error(failures().attr("RunError")(to_python(stopped))); }

void raise(const CallRefused& refused) {
  const nb::module_ instances = nb::module_::import_("ssptool.fmu.instance");
  set_error(instances.attr("FmiError")(refused.component, refused.function, refused.status, nb::make_tuple()));
}

}  // namespace ssptool::binding
