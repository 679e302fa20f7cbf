// Events of components in event mode as a Python class: settled by the core, evaluated and updated by Python.
#include "events.hpp"

#include <memory>
#include <stdexcept>

#include "../core/zeno.hpp"

namespace ssptool::binding {

using namespace nb::literals;

namespace {

std::vector<std::vector<std::size_t>> lists_of_indices(nb::handle lists) {
  std::vector<std::vector<std::size_t>> found;
  for (const nb::handle list : lists) found.push_back(indices<std::size_t>(list));
  return found;
}

Variables variables_from(nb::handle exchanged, int version) {
  Variables found{indices<Slot>(exchanged.attr("slots")),
                  indices<fmi::Reference>(exchanged.attr("references")),
                  {},
                  indices<std::size_t>(exchanged.attr("elements"))};
  for (const nb::handle item : nb::object(exchanged.attr("types"))) {
    const auto name = nb::cast<std::string>(item);
    const auto type = machine_type(name, version);
    if (!type) throw std::invalid_argument("variables of type " + name + " are not carried at events");
    found.types.push_back(*type);
  }
  check_size(found.references.size(), found.slots.size(), "the list of references");
  check_size(found.types.size(), found.slots.size(), "the list of types");
  check_size(found.elements.size(), found.slots.size(), "the list of elements");
  return found;
}

// Numerator and denominator, with a sign.
std::optional<Fraction> fraction_from(nb::handle time) {
  if (time.is_none()) return std::nullopt;
  const nb::object format = nb::module_::import_("builtins").attr("format");
  const auto digits = [&](const char* part) { return nb::cast<std::string>(format(time.attr(part), "x")); };
  return Fraction::from_text(digits("numerator") + "/" + digits("denominator"));
}

PlannedClock clock_from(nb::handle clock) {
  PlannedClock found{attribute<std::string>(clock, "name"), attribute<fmi::Reference>(clock, "reference"),
                     interval_variability(nb::cast<std::string>(nb::str(clock.attr("variability"))))};
  found.interval = fraction_from(clock.attr("interval"));
  found.shift = fraction_from(clock.attr("shift"));
  found.supports_fraction = attribute<bool>(clock, "supports_fraction");
  const nb::object told = clock.attr("told");
  found.tells_interval = nb::cast<bool>(told.attr("__contains__")("interval"));
  found.tells_shift = nb::cast<bool>(told.attr("__contains__")("shift"));
  return found;
}

PlannedEventMember member_from(nb::handle member) {
  PlannedEventMember found;
  const auto version = attribute<int>(member, "fmi_major");
  const nb::object inputs = member.attr("inputs"), outputs = member.attr("outputs");
  found.instance = static_cast<Index>(attribute<Number>(member, "instance"));
  found.name = attribute<std::string>(member, "name");
  found.inputs = variables_from(inputs, version);
  found.outputs = variables_from(outputs, version);
  found.input_clocks = lists_of_indices(inputs.attr("clocks"));
  found.output_clocks = lists_of_indices(outputs.attr("clocks"));
  for (const nb::handle clock : nb::object(member.attr("clocks"))) found.clocks.push_back(clock_from(clock));
  found.timed = static_cast<std::size_t>(attribute<Number>(member, "timed"));
  found.triggered = static_cast<std::size_t>(attribute<Number>(member, "triggered"));
  for (const nb::handle slot : nb::object(member.attr("shown")))
    found.shown.push_back(slot.is_none() ? none : static_cast<std::size_t>(nb::cast<Number>(slot)));
  found.stepped = attribute<bool>(member, "stepped");
  return found;
}

ClockPlace place_from(nb::handle pair) {
  const auto [member, clock] = nb::cast<std::pair<std::size_t, std::size_t>>(pair);
  return {member, clock};
}

}  // namespace

PlannedEvents events_from(nb::handle calls) {
  PlannedEvents found;
  found.start = attribute<double>(calls, "start");
  for (const nb::handle member : nb::object(calls.attr("members"))) found.members.push_back(member_from(member));
  const nb::object wires = calls.attr("wires");
  found.wires = wires_from(wires.attr("sources"), wires.attr("destinations"), wires.attr("factors"),
                           wires.attr("offsets"), wires.attr("tables"), nb::tuple(), nb::dict());
  for (const nb::handle wire : nb::object(calls.attr("clock_wires")))
    found.clock_wires[place_from(wire[0])].push_back(place_from(wire[1]));
  found.inputs = indices<Slot>(calls.attr("inputs"));
  found.signals = numbers<std::string>(calls.attr("signals"));
  found.unsigned_values.resize(found.signals.size());
  for (const Slot slot : indices<Slot>(calls.attr("unsigned"))) found.unsigned_values.at(slot) = true;
  found.single = attribute<bool>(calls, "single");
  return found;
}

FunctionTable table_from(nb::handle functions) {
  std::map<std::string, void*> addresses;
  for (const nb::handle name : functions) addresses[nb::cast<std::string>(name)] = address(functions[name]);
  return FunctionTable(std::move(addresses));
}

std::vector<FunctionTable> tables_from(nb::handle calls) {
  std::vector<FunctionTable> found;
  for (const nb::handle member : nb::object(calls.attr("members")))
    found.push_back(table_from(nb::object(member.attr("functions"))));
  return found;
}

nb::module_ event_vocabulary() { return nb::module_::import_("ssptool.engine.kernel.event_calls"); }

// --- reasons to stop -------------------------------------------------------------------------------------------------

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

namespace {

// Of a run, as its Python has it: (component, what) → (number, times).
class NativeZenoDetector {
 public:
  explicit NativeZenoDetector(double step) : core_(step) {}

  double note(double t, const std::vector<std::pair<std::string, std::string>>& causes) {
    std::vector<Cause> found;
    for (const auto& [component, what] : causes) found.push_back({component, what});
    return translated([&] { return core_.note(t, found); });
  }
  void lose(const std::pair<std::string, std::string>& cause) {
    translated([&] { core_.lose({cause.first, cause.second}); });
  }

 private:
  ZenoDetector core_;
};

}  // namespace

void bind_events(nb::module_& module) {
  using Self = NativeEvents;
  nb::class_<Self>(module, "NativeEvents")
      .def(nb::init<NativeKernel&, nb::handle>(), "kernel"_a, "calls"_a, nb::keep_alive<1, 2>(),
           nb::sig("def __init__(self, kernel: NativeKernel, calls: ssptool.engine.kernel.event_calls.EventCalls) -> "
                   "None"))
      .def("settle", &Self::settle, "nominal"_a, "evaluate"_a, "update"_a, "t"_a, "until"_a,
           nb::sig("def settle(self, nominal: ssptool.engine.kernel.interface.Floats, evaluate: "
                   "collections.abc.Callable[[float], None], update: collections.abc.Callable[[float], "
                   "collections.abc.Sequence[tuple[str, bool]]], t: float, until: "
                   "float) -> bool"))
      .def_prop_ro("next_time", [](Self& self) { return self.core().next_time(); })
      .def_prop_ro("next_times", [](Self& self) { return self.core().next_times; })
      .def(
          "set_next_times",
          [](Self& self, const std::vector<double>& times) {
            check_size(times.size(), self.core().next_times.size(), "the list of times");
            self.core().next_times = times;
          },
          "times"_a)
      .def("timers", &Self::timers, nb::sig("def timers(self) -> list[tuple[int, int, float]]"))
      .def("due", &Self::due, "until"_a, nb::sig("def due(self, until: float) -> list[tuple[int, int, float]]"))
      .def(
          "begin",
          [](Self& self, double t) {
            translated_unlocked([&] { self.core().clock_schedule.begin(t, self.core().modes()); });
          },
          "t"_a)
      .def(
          "after",
          [](Self& self, double t, const std::vector<std::size_t>& ticked) {
            translated_unlocked(
                [&] { self.core().clock_schedule.after(t, {ticked.begin(), ticked.end()}, self.core().modes()); });
          },
          "t"_a, "ticked"_a)
      .def("clock_state", [](Self& self) { return self.core().clock_schedule.save_state(); })
      .def(
          "set_clock_state",
          [](Self& self, const std::vector<std::string>& state) { self.core().clock_schedule.restore_state(state); },
          "state"_a)
      .def(
          "override_wire",
          [](Self& self, Number destination, nb::handle at_source, nb::handle at_destination) {
            self.core().override_wire(index(destination), override_from(at_source), override_from(at_destination));
          },
          "destination"_a, "at_source"_a, "at_destination"_a,
          nb::sig("def override_wire(self, destination: int, at_source: ssptool.engine.kernel.interface.SlotOverride, "
                  "at_destination: ssptool.engine.kernel.interface.SlotOverride) -> None"))
      .def(
          "propagate_at_start",
          [](Self& self, double t) { return translated_unlocked([&] { return self.core().propagate_at_start(t); }); },
          "t"_a)
      .def("enter", [](Self& self) { translated_unlocked([&] { self.core().enter(); }); })
      .def("leave", [](Self& self) { translated_unlocked([&] { self.core().leave(); }); })
      .def("update", &Self::update, "t"_a)
      .def("pending", [](Self& self) { return self.core().pending(); })
      .def("show_ticks", [](Self& self) { self.core().show_ticks(); })
      .def("hide_ticks", [](Self& self) { self.core().hide_ticks(); });
  nb::class_<NativeZenoDetector>(module, "NativeZenoDetector")
      .def(nb::init<double>(), "step"_a)
      .def("note", &NativeZenoDetector::note, "t"_a, "causes"_a)
      .def("lose", &NativeZenoDetector::lose, "cause"_a);
}

}  // namespace ssptool::binding
