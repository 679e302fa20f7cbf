#include "kernel.hpp"

#include <nanobind/stl/vector.h>

#include <algorithm>

namespace ssptool::binding {

using namespace nb::literals;

namespace {

// A numpy view of the kernel's memory, which keeps the kernel alive.
nb::object view(nb::handle_t<NativeKernel> self, std::span<double> data, std::size_t rows) {
  const std::size_t shape[] = {rows, data.size() / rows};
  return nb::cast(nb::ndarray<nb::numpy, double>(data.data(), rows == 1 ? 1 : 2, rows == 1 ? shape + 1 : shape, self));
}

// The same memory as integers.
nb::object integer_view(nb::handle_t<NativeKernel> self, std::span<double> cells) {
  const std::size_t shape[] = {cells.size()};
  return nb::cast(nb::ndarray<nb::numpy, std::int64_t>(reinterpret_cast<std::int64_t*>(cells.data()), 1, shape, self));
}

}  // namespace

void bind_kernel(nb::module_& module) {
  using Self = NativeKernel;
  nb::class_<Self>(module, "NativeKernel")
      .def(nb::init<std::size_t, nb::handle>(), "slots"_a, "integers"_a = nb::tuple())
      .def_prop_ro("name", [](const Self&) { return "native"; })
      .def_prop_ro("values",
                   [](nb::handle_t<Self> self) { return view(self, nb::cast<Self&>(self).core().values(), 1); })
      .def_prop_ro("integers",
                   [](nb::handle_t<Self> self) { return integer_view(self, nb::cast<Self&>(self).core().values()); })
      .def_prop_ro("loops_solved", [](Self& self) { return self.core().loops_solved(); })
      .def_prop_ro("loop_iterations", [](Self& self) { return self.core().loop_iterations(); })
      .def_prop_ro("contents", [](Self& self) { return self.core().texts().size(); })
      .def(
          "content",
          [](Self& self, Number number) {
            const std::string* text = self.core().texts().find(number);
            if (text == nullptr)
              throw std::out_of_range("content " + std::to_string(number) + " does not exist, or is forgotten");
            return nb::bytes(text->data(), text->size());
          },
          "number"_a)
      .def(
          "number",
          [](Self& self, const nb::bytes& content, bool keep) {
            return self.core().texts().number({content.c_str(), content.size()}, keep);
          },
          "content"_a, "keep"_a = false)
      .def_prop_ro("content_bytes", [](Self& self) { return self.core().texts().bytes(); })
      .def(
          "forget",
          [](Self& self, const std::vector<std::int64_t>& needed) { return self.core().texts().forget(needed); },
          "needed"_a)
      .def_prop_ro("input_value",
                   [](nb::handle_t<Self> self) { return view(self, nb::cast<Self&>(self).core().input_value(), 1); })
      .def_prop_ro("input_rates",
                   [](nb::handle_t<Self> self) { return view(self, nb::cast<Self&>(self).core().input_rates(), 2); })
      .def("environment", [](Self& self) { return reinterpret_cast<std::uintptr_t>(self.core().make_environment()); })
      .def("report_time",
           [](Self& self, std::uintptr_t place) { self.core().report_time(reinterpret_cast<double*>(place)); })
      .def("intermediate_update_address",
           [](const Self&) { return reinterpret_cast<std::uintptr_t>(&ssptool_intermediate_update); })
      .def(
          "add", [](Self& self, nb::handle table) { return self.core().add(member_from(table, self.core())); },
          "table"_a)
      .def(
          "connect",
          [](Self& self, nb::handle sources, nb::handle destinations, nb::handle factors, nb::handle offsets,
             nb::handle tables) { self.core().connect(wires_from(sources, destinations, factors, offsets, tables)); },
          "sources"_a, "destinations"_a, "factors"_a, "offsets"_a, "tables"_a = nb::dict())
      .def(
          "group", [](Self& self, nb::handle instances) { return self.core().group(indices<Index>(instances)); },
          "instances"_a)
      .def(
          "loop", [](Self& self, nb::handle loop) { return self.core().loop(loop_from(loop)); }, "loop"_a)
      .def("courses", &Self::courses, "courses"_a)
      .def(
          "course",
          [](nb::handle_t<Self> self, Number column) {
            return view(self, nb::cast<Self&>(self).core().courses().cells(index(column)), 1);
          },
          "column"_a)
      .def(
          "change",
          [](Self& self, Number column, nb::handle change) {
            self.core().courses().change(index(column), change_from(change));
          },
          "column"_a, "change"_a)
      .def(
          "between", [](Self& self, double begin, double end) { self.core().courses().between(begin, end); }, "begin"_a,
          "end"_a)
      .def(
          "write", [](Self& self, double t) { self.core().courses().write(t, self.core().values().data()); }, "t"_a)
      .def(
          "drive", [](Self& self, double t, double h) { self.core().drive(t, h); }, "t"_a, "h"_a)
      .def("act", &Self::act, "wires"_a)
      .def(
          "iteration", [](Self& self, nb::handle calls) { return self.core().iteration(iteration_from(calls)); },
          "calls"_a)
      .def(
          "iterate",
          [](Self& self, Number iteration, double t, double h, bool first) {
            return self.unlocked([&](Kernel& core) { return core.iterate(index(iteration), t, h, first); });
          },
          "iteration"_a, "t"_a, "h"_a, "first"_a)
      .def(
          "guess",
          [](nb::handle_t<Self> self, Number iteration) {
            return view(self, nb::cast<Self&>(self).core().guess(index(iteration)), 1);
          },
          "iteration"_a)
      .def("iterations",
           [](Self& self) {
             const auto counts = self.core().iterations();  // the next run changes them
             return array(std::vector<std::int64_t>(counts.begin(), counts.end()));
           })
      .def_prop_ro("retreats",
                   [](Self& self) {
                     nb::list found;
                     for (Index i = 0; const Following* const one = self.core().following(i); ++i)
                       if (one->order < 2) {
                         const char* const function = one->function == nullptr ? "" : one->function;
                         found.append(nb::make_tuple(i, one->order, one->since, function, one->status));
                       }
                     return nb::tuple(found);
                   })
      .def(
          "limit_inputs",
          [](Self& self, Number instance, int order) {
            Following* const found = self.core().following(index(instance));
            if (found == nullptr) throw std::out_of_range("instance " + std::to_string(instance) + " does not exist");
            found->order = order;
          },
          "instance"_a, "order"_a)
      .def(
          "use_threads",
          [](Self& self, Number count) {
            self.core().use_threads(static_cast<std::size_t>(std::max<Number>(count, 0)));
          },
          "count"_a)
      .def("sweep", &Self::sweep, "steps"_a)
      .def(
          "record_slots", [](Self& self, nb::handle slots) { self.core().record_slots(indices<Slot>(slots)); },
          "slots"_a)
      .def(
          "record",
          [](Self& self, double t, const Numbers& row) {
            return self.unlocked([&](Kernel& core) { return core.record(t, {row.data(), row.size()}); });
          },
          "t"_a, "row"_a.noconvert())
      .def(
          "exchange", [](Self& self, Number group) { self.core().exchange(index(group)); }, "group"_a)
      .def(
          "hold", [](Self& self, Number group) { self.core().hold(index(group)); }, "group"_a)
      .def(
          "extrapolate", [](Self& self, Number group, int order) { self.core().extrapolate(index(group), order); },
          "group"_a, "order"_a)
      .def(
          "interpolate",
          [](Self& self, Number group, int order, double h) { self.core().interpolate(index(group), order, h); },
          "group"_a, "order"_a, "h"_a)
      .def(
          "advance",
          [](Self& self, Number group, double t, double h) {
            return self.unlocked([&](Kernel& core) { return core.advance(index(group), t, h); });
          },
          "group"_a, "t"_a, "h"_a)
      .def(
          "evaluate",
          [](Self& self, Number sweep) {
            return self.unlocked([&](Kernel& core) { return core.evaluate(index(sweep)); });
          },
          "sweep"_a)
      .def(
          "accept", [](Self& self, double t) { self.core().accept(t); }, "t"_a)
      .def("take_back", [](Self& self) { self.core().take_back(); })
      .def(
          "save",
          [](Self& self, Number group) { return self.unlocked([&](Kernel& core) { return core.save(index(group)); }); },
          "group"_a)
      .def(
          "restore",
          [](Self& self, Number group) {
            return self.unlocked([&](Kernel& core) { return core.restore(index(group)); });
          },
          "group"_a)
      .def(
          "release", [](Self& self) { self.core().release(); }, nb::call_guard<Unlocked>())
      .def("run_through", &Self::run_through, "step"_a, "jump"_a, "points"_a, "rows"_a.noconvert())
      .def("run", &Self::run, "program"_a, "start"_a, "h"_a, "first"_a, "rows"_a.noconvert())
      .def(
          "residual", [](Self& self, Number loop, const Vector& x) { return self.on_loop(&Kernel::residual, loop, x); },
          "loop"_a, "x"_a)
      .def(
          "jacobian_product",
          [](Self& self, Number loop, const Vector& seed) {
            return self.on_loop(&Kernel::jacobian_product, loop, seed);
          },
          "loop"_a, "seed"_a)
      .def(
          "settle", [](Self& self, Number loop) { return self.core().settle(index(loop)); }, "loop"_a)
      .def(
          "set_chord",
          [](Self& self, Number loop, const Matrix& matrix) {
            self.core().set_chord(index(loop), {matrix.data(), matrix.size()});
          },
          "loop"_a, "matrix"_a);
}

}  // namespace ssptool::binding
