// Clocks of one component that tick at known times, and events without end.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../../../../ssptool/engine/kernel/binding/stopped.hpp"
#include "../../../../ssptool/engine/kernel/core/events.hpp"
#include "../../../../ssptool/engine/kernel/core/zeno.hpp"
#include "methods.hpp"

namespace ssptool::binding
{

using namespace nb::literals;

namespace
{

// Numerator and denominator, with a sign.
std::optional<Fraction> fraction_from(nb::handle time)
{
    if (time.is_none())
        return std::nullopt;
    const nb::object format = nb::module_::import_("builtins").attr("format");
    const auto digits = [&](const char *part) { return nb::cast<std::string>(format(time.attr(part), "x")); };
    return Fraction::from_text(digits("numerator") + "/" + digits("denominator"));
}

PlannedClock clock_from(nb::handle clock)
{
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

PlannedEvents events_from(const std::string &component, nb::handle clocks, double start)
{
    PlannedEventMember member;
    member.instance = 0;
    member.name = component;
    for (const nb::handle clock : clocks)
        member.clocks.push_back(clock_from(clock));
    member.timed = member.clocks.size();
    member.shown.assign(member.clocks.size(), none);
    member.stepped = true;
    PlannedEvents found;
    found.start = start;
    found.members.push_back(std::move(member));
    found.signals.emplace_back("x");
    found.unsigned_values.resize(1);
    return found;
}

// Those of the first instance of a kernel, which must stay.
class NativeClocks
{
  public:
    NativeClocks(NativeKernel &kernel, const std::string &component, nb::handle functions, nb::handle clocks,
                 double start)
        : events_(kernel.core().slot_values, kernel.core().members, events_from(component, clocks, start),
                  {function_table(functions)})
    {
    }

    [[nodiscard]] double next_time() const
    {
        return events_.clock_schedule.next_time();
    }

    // (clock, time) of each
    [[nodiscard]] nb::list timers() const
    {
        nb::list found;
        for (const Timer &timer : events_.clock_schedule.timers())
            found.append(to_python(timer));
        return found;
    }
    [[nodiscard]] nb::list due(double until) const
    {
        nb::list found;
        for (const std::size_t number : events_.clock_schedule.due(until))
            found.append(to_python(events_.clock_schedule.timers()[number]));
        return found;
    }

    void begin(double t)
    {
        translated_unlocked([&] { events_.clock_schedule.begin(t, events_.modes()); });
    }
    void after(double t, const std::vector<std::size_t> &ticked)
    {
        translated_unlocked([&] { events_.clock_schedule.after(t, {ticked.begin(), ticked.end()}, events_.modes()); });
    }

    [[nodiscard]] std::vector<std::string> state() const
    {
        return events_.clock_schedule.save_state();
    }
    void set_state(const std::vector<std::string> &state)
    {
        events_.clock_schedule.restore_state(state);
    }

  private:
    [[nodiscard]] nb::tuple to_python(const Timer &timer) const
    {
        const PlannedClock *const first = events_.plan().members[timer.member].clocks.data();
        return nb::make_tuple(timer.clock - first, events_.clock_schedule.time(timer));
    }

    EventMembers events_;
};

// As a run has it: causes are pairs of a component and of what happens.
class NativeZenoDetector
{
  public:
    explicit NativeZenoDetector(double step) : core_(step)
    {
    }

    double note(double t, const std::vector<std::pair<std::string, std::string>> &causes)
    {
        std::vector<Cause> found;
        for (const auto &[component, what] : causes)
            found.push_back({component, what});
        return translated([&] { return core_.note(t, found); });
    }

  private:
    ZenoDetector core_;
};

} // namespace

void bind_clocks(nb::module_ &module)
{
    nb::class_<NativeClocks>(module, "NativeClocks")
        .def(nb::init<NativeKernel &, const std::string &, nb::handle, nb::handle, double>(), nb::keep_alive<1, 2>(),
             "kernel"_a, "component"_a, "functions"_a, "clocks"_a, "start"_a)
        .def_prop_ro("next_time", &NativeClocks::next_time)
        .def("timers", &NativeClocks::timers)
        .def("due", &NativeClocks::due, "until"_a)
        .def("begin", &NativeClocks::begin, "t"_a)
        .def("after", &NativeClocks::after, "t"_a, "ticked"_a)
        .def("state", &NativeClocks::state)
        .def("set_state", &NativeClocks::set_state, "state"_a);
    nb::class_<NativeZenoDetector>(module, "NativeZenoDetector")
        .def(nb::init<double>(), "step"_a)
        .def("note", &NativeZenoDetector::note, "t"_a, "causes"_a);
}

} // namespace ssptool::binding
