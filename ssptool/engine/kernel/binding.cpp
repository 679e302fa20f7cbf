// The kernel as a Python class: conversions, and the GIL released while components work.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "core/kernel.hpp"
#include "core/slopes.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Numbers = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Rows = nb::ndarray<double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Number = std::int64_t;  // an index from Python: a negative one becomes too large and is refused as that
using Unlocked = nb::gil_scoped_release;

template <class T>
T attribute(nb::handle object, const char* name) {
  return nb::cast<T>(object.attr(name));
}

std::size_t length(nb::handle object, const char* name) { return nb::len(nb::object(object.attr(name))); }

// Any sequence of numbers, such as a tuple or an array.
template <class T>
std::vector<T> numbers(nb::handle sequence) {
  std::vector<T> result;
  for (const nb::handle item : sequence) result.push_back(nb::cast<T>(item));
  return result;
}

template <class T>
std::vector<T> indices(nb::handle sequence) {
  std::vector<T> result;
  for (const nb::handle item : sequence) result.push_back(static_cast<T>(nb::cast<Number>(item)));
  return result;
}

void* address(nb::handle number) { return reinterpret_cast<void*>(nb::cast<std::uintptr_t>(number)); }

ssptool::FunctionTable function_table(nb::handle functions) {
  std::map<std::string, void*> addresses;
  for (const nb::handle name : functions) addresses[nb::cast<std::string>(name)] = address(functions[name]);
  return ssptool::FunctionTable(std::move(addresses));
}

// An array of one dimension.
std::vector<double> doubles(nb::handle array) {
  const auto view = nb::cast<Vector>(array);
  return {view.data(), view.data() + view.size()};
}

ssptool::Change change_from(nb::handle change) {
  return {static_cast<ssptool::Change::Kind>(attribute<int>(change, "kind")), attribute<double>(change, "cell")};
}

ssptool::Call call_from(nb::handle call) {
  return {static_cast<ssptool::Index>(attribute<Number>(call, "instance")), indices<ssptool::Slot>(call.attr("inputs")),
          indices<ssptool::Slot>(call.attr("outputs"))};
}

std::vector<ssptool::Instruction> program_from(nb::handle program) {
  std::vector<ssptool::Instruction> instructions;
  for (const nb::handle instruction : program) {
    const auto op = attribute<int>(instruction, "op");
    if (op < 0 || op > static_cast<int>(ssptool::Op::forget)) throw std::invalid_argument("unknown instruction");
    instructions.push_back({static_cast<ssptool::Op>(op),
                            static_cast<ssptool::Index>(attribute<Number>(instruction, "argument")),
                            attribute<int>(instruction, "order")});
  }
  return instructions;
}

// The inputs or outputs of an InstanceTable.
ssptool::Variables variables(nb::handle table, const std::string& kind, int version, bool typed) {
  ssptool::Variables found;
  found.slots = indices<ssptool::Slot>(table.attr((kind + "_slots").c_str()));
  found.references = indices<ssptool::fmi::Reference>(table.attr((kind + "_references").c_str()));
  found.elements = indices<std::size_t>(table.attr((kind + "_elements").c_str()));
  if (found.elements.empty()) found.elements.resize(found.slots.size());
  if (found.elements.size() != found.slots.size())
    throw std::invalid_argument("as many elements as slots are needed, or none at all");
  if (found.references.size() != found.slots.size())
    throw std::invalid_argument("as many " + kind + " slots as " + kind + " references are needed");
  if (!typed) {
    found.types.assign(found.slots.size(), ssptool::Type::float64);
    return found;
  }
  const nb::object types = table.attr((kind + "_types").c_str());
  for (const nb::handle item : types) {
    const auto name = nb::cast<std::string>(item);
    const auto type = ssptool::machine_type(name, version);
    if (!type)
      throw std::invalid_argument("variables of type " + name + " are not carried in FMI " + std::to_string(version));
    found.types.push_back(*type);
  }
  if (found.types.size() != found.slots.size())
    throw std::invalid_argument("as many types as slots are needed, or none at all");
  return found;
}

// Where the steps of an instance in event mode are reported to; the memory is that of the table.
ssptool::StepReport* report(nb::handle table, ssptool::Member& member) {
  const nb::object array = table.attr("report");
  if (array.is_none()) return nullptr;
  const auto numbers = nb::cast<Numbers>(array);
  if (numbers.size() * sizeof(double) != sizeof(ssptool::StepReport))
    throw std::invalid_argument("a report has three numbers");
  auto* const found = reinterpret_cast<ssptool::StepReport*>(numbers.data());
  return member.report = found;
}

class NativeKernel {
 public:
  NativeKernel(std::size_t slots, nb::handle integers)
      : core_(slots, indices<ssptool::Slot>(integers)),
        outcome_type_(vocabulary().attr("Outcome")),
        code_type_(vocabulary().attr("Code")),
        ok_(vocabulary().attr("OK")),
        call_type_(vocabulary().attr("Call")) {}

  NativeKernel(const NativeKernel&) = delete;
  NativeKernel& operator=(const NativeKernel&) = delete;
  ~NativeKernel() = default;

  ssptool::Kernel& core() { return core_; }

  Number add(nb::handle table) {
    const auto version = attribute<int>(table, "fmi_major");
    if (version < 1 || version > 3)
      throw std::invalid_argument("FMI " + std::to_string(version) + " is not one that a kernel steps: [1, 2, 3]");
    const auto functions = function_table(table.attr("functions"));
    void* component = address(table.attr("component"));
    ssptool::Member member;
    const bool typed = length(table, "input_types") + length(table, "output_types") > 0;
    member.inputs = variables(table, "input", version, typed);
    member.outputs = variables(table, "output", version, typed);
    std::vector<ssptool::Type> types;
    const ssptool::Variables inputs = ssptool::of_type(member.inputs, ssptool::Type::float64);
    for (const auto* own : {&member.inputs, &member.outputs})
      for (const ssptool::Type type : own->types)
        if (type != ssptool::Type::float64) types.push_back(type);
    ssptool::Environment* environment = core_.environment(address(table.attr("environment")));
    if (version == 1)
      member.instance = ssptool::make_fmi1(core_.memory(), functions, component, inputs.distinct(), types);
    else if (version == 2)
      member.instance = ssptool::make_fmi2(core_.memory(), functions, component, inputs.distinct(), types);
    else
      member.instance = ssptool::make_fmi3(core_.memory(), functions, component, inputs.distinct(), inputs.slots.size(),
                                           types, environment, report(table, member));
    return static_cast<Number>(core_.add(std::move(member)));
  }

  void connect(nb::handle sources, nb::handle destinations, nb::handle factors, nb::handle offsets, nb::handle tables) {
    const auto from = indices<ssptool::Slot>(sources);
    const auto to = indices<ssptool::Slot>(destinations);
    const auto factor = numbers<double>(factors);
    const auto offset = numbers<double>(offsets);
    if (to.size() != from.size() || factor.size() != from.size() || offset.size() != from.size())
      throw std::invalid_argument("sources, destinations, factors and offsets must be of equal length");
    std::vector<ssptool::Wire> wires;
    for (std::size_t i = 0; i < from.size(); ++i) wires.push_back({from[i], to[i], factor[i], offset[i], {}});
    for (const nb::handle wire : tables) {
      auto& table = wires.at(nb::cast<std::size_t>(wire)).table;
      const nb::object entries = tables[wire];
      for (const nb::handle source : entries) table[nb::cast<Number>(source)] = nb::cast<Number>(entries[source]);
    }
    core_.connect(wires);
  }

  void courses(nb::handle courses) {
    std::vector<std::vector<double>> axes;
    for (const nb::handle times : courses.attr("axes")) axes.push_back(doubles(times));
    std::vector<ssptool::Column> columns;
    for (const nb::handle column : courses.attr("columns"))
      columns.push_back({.slot = static_cast<ssptool::Slot>(attribute<Number>(column, "slot")),
                         .axis = static_cast<std::size_t>(attribute<Number>(column, "axis")),
                         .cells = doubles(column.attr("cells")),
                         .linear = attribute<bool>(column, "linear")});
    std::vector<ssptool::DrivenInput> inputs;
    for (const nb::handle input : courses.attr("inputs"))
      inputs.push_back({static_cast<ssptool::Slot>(attribute<Number>(input, "slot")),
                        static_cast<ssptool::DrivenInput::Run>(attribute<int>(input, "running"))});
    core_.courses(std::move(axes), std::move(columns), std::move(inputs));
  }

  void act(nb::handle wires) {
    std::vector<ssptool::ActedWire> acted;
    for (const nb::handle wire : wires)
      acted.push_back({static_cast<ssptool::Slot>(attribute<Number>(wire, "destination")),
                       change_from(wire.attr("at_source")), change_from(wire.attr("at_destination"))});
    core_.act(acted);
  }

  Number loop(nb::handle calls) {
    ssptool::LoopCalls loop{.torn = indices<ssptool::Slot>(calls.attr("torn")),
                            .held = indices<ssptool::Slot>(calls.attr("held")),
                            .body = {},
                            .nominal = numbers<double>(calls.attr("nominal")),
                            .rtol = attribute<double>(calls, "rtol"),
                            .atol = attribute<double>(calls, "atol"),
                            .max_iterations = attribute<Number>(calls, "max_iterations")};
    for (const nb::handle call : calls.attr("body")) loop.body.push_back(call_from(call));
    return static_cast<Number>(core_.loop(loop));
  }

  Number iteration(nb::handle calls) {
    const auto place = [&](const char* name) { return static_cast<ssptool::Index>(attribute<Number>(calls, name)); };
    return static_cast<Number>(core_.iteration({.group = place("group"),
                                                .following = place("following"),
                                                .held = place("held"),
                                                .sweep = place("sweep"),
                                                .unknowns = indices<ssptool::Slot>(calls.attr("unknowns")),
                                                .nominal = numbers<double>(calls.attr("nominal")),
                                                .order = attribute<int>(calls, "order"),
                                                .prediction = attribute<int>(calls, "prediction"),
                                                .absolute = attribute<double>(calls, "absolute"),
                                                .relative = attribute<double>(calls, "relative"),
                                                .relaxation = attribute<double>(calls, "relaxation"),
                                                .max_iterations = attribute<Number>(calls, "max_iterations"),
                                                .growth = attribute<double>(calls, "growth")}));
  }

  // A copy, because the next run changes them.
  nb::object iterations() const {
    const auto counts = core_.iterations();
    auto* result = new std::vector<std::int64_t>(counts.begin(), counts.end());
    const nb::capsule owner(result, [](void* data) noexcept { delete static_cast<std::vector<std::int64_t>*>(data); });
    const std::size_t shape[] = {result->size()};
    return nb::cast(nb::ndarray<nb::numpy, std::int64_t>(result->data(), 1, shape, owner));
  }

  Number sweep(nb::handle steps) {
    std::vector<std::variant<ssptool::Call, ssptool::SolveLoop>> sweep;
    for (const nb::handle step : steps) {
      if (nb::isinstance(step, call_type_))
        sweep.emplace_back(call_from(step));
      else
        sweep.emplace_back(ssptool::SolveLoop{static_cast<ssptool::Index>(attribute<Number>(step, "loop"))});
    }
    return static_cast<Number>(core_.sweep(sweep));
  }

  nb::object run(nb::handle program, double start, double h, Number first, const Rows& rows) {
    const auto instructions = program_from(program);
    const auto steps = static_cast<Number>(rows.shape(0));
    if (rows.shape(1) != 1 + core_.recorded())
      throw std::invalid_argument("rows has " + std::to_string(rows.shape(1)) + " columns, must have " +
                                  std::to_string(1 + core_.recorded()));
    ssptool::Outcome outcome;
    {
      Unlocked unlocked;
      outcome = core_.run(instructions, start, h, first, {rows.data(), rows.size()}, steps);
    }
    return to_python(outcome);
  }

  nb::object run_through(nb::handle step, nb::handle jump, const Matrix& points, const Rows& rows) {
    const auto steps = program_from(step), jumps = program_from(jump);
    if (points.shape(1) != 4 || points.shape(0) != rows.shape(0) || rows.shape(1) != 1 + core_.recorded())
      throw std::invalid_argument("as many points of four numbers as rows are needed, with " +
                                  std::to_string(1 + core_.recorded()) + " columns");
    ssptool::Outcome outcome;
    {
      Unlocked unlocked;
      outcome = core_.run_through(steps, jumps, {points.data(), points.size()}, {rows.data(), rows.size()});
    }
    return to_python(outcome);
  }

  using LoopOperation = ssptool::Outcome (ssptool::Kernel::*)(ssptool::Index, std::span<const double>,
                                                              std::span<double>);

  // (Outcome, the vector that the operation returns)
  nb::object on_loop(LoopOperation operation, Number loop, const Vector& x) {
    auto* result = new std::vector<double>(x.size());
    const nb::capsule owner(result, [](void* data) noexcept { delete static_cast<std::vector<double>*>(data); });
    ssptool::Outcome outcome;
    {
      Unlocked unlocked;
      outcome = (core_.*operation)(static_cast<ssptool::Index>(loop), {x.data(), x.size()}, *result);
    }
    const std::size_t shape[] = {result->size()};
    return nb::make_tuple(to_python(outcome), nb::ndarray<nb::numpy, double>(result->data(), 1, shape, owner));
  }

  template <class Operation>
  nb::object unlocked(Operation operation) {
    ssptool::Outcome outcome;
    {
      Unlocked unlocked;
      outcome = operation(core_);
    }
    return to_python(outcome);
  }

  nb::object to_python(const ssptool::Outcome& outcome) const {
    if (outcome.ok() && outcome.steps == 0) return ok_;
    return outcome_type_(code_type_(static_cast<int>(outcome.code)), outcome.instance, outcome.function,
                         outcome.fmi_status, outcome.loop, outcome.slot, outcome.steps, outcome.instruction,
                         outcome.iterations);
  }

 private:
  static nb::module_ vocabulary() { return nb::module_::import_("ssptool.engine.kernel.interface"); }

  ssptool::Kernel core_;
  nb::object outcome_type_, code_type_, ok_, call_type_;
};

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

ssptool::Index index(Number number) { return static_cast<ssptool::Index>(number); }

// The right-hand side of an ODE for an integrator; it keeps its kernel alive.
class NativeSlopes {
 public:
  // Each part: component, functions that set time and states and get slopes (all addresses), number of states.
  NativeSlopes(NativeKernel& kernel, Number sweep, nb::handle parts, nb::handle inputs, std::uintptr_t numbers)
      : kernel_(kernel),
        core_(kernel.core(), index(sweep), parts_from(parts), indices<ssptool::Slot>(inputs),
              reinterpret_cast<ssptool::Slopes::Numbers*>(numbers)) {}

  ssptool::Slopes& core() { return core_; }

  // (stage, part, status, outcome), or None
  nb::object take_trouble() {
    const ssptool::Trouble trouble = core_.take_trouble();
    if (trouble.stage == ssptool::Stage::none) return nb::none();
    return nb::make_tuple(static_cast<int>(trouble.stage), trouble.part, trouble.status,
                          kernel_.to_python(trouble.outcome));
  }

 private:
  static std::vector<ssptool::ContinuousPart> parts_from(nb::handle parts) {
    std::vector<ssptool::ContinuousPart> found;
    std::size_t first = 0;
    for (const nb::handle item : parts) {
      const auto [component, set_time, set_states, get_slopes, count] =
          nb::cast<std::tuple<std::uintptr_t, std::uintptr_t, std::uintptr_t, std::uintptr_t, std::size_t>>(item);
      found.push_back({reinterpret_cast<void*>(component), reinterpret_cast<ssptool::fmi::exchange::SetTime*>(set_time),
                       reinterpret_cast<ssptool::fmi::exchange::SetStates*>(set_states),
                       reinterpret_cast<ssptool::fmi::exchange::GetSlopes*>(get_slopes), first, count});
      first += count;
    }
    return found;
  }

  NativeKernel& kernel_;
  ssptool::Slopes core_;
};

#if defined(__SANITIZE_ADDRESS__)
constexpr bool sanitized = true;
#else
constexpr bool sanitized = false;
#endif

}  // namespace

NB_MODULE(_kernel, module) {
  module.attr("sanitized") = sanitized;
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
      .def("intermediate_update_address",
           [](const Self&) { return reinterpret_cast<std::uintptr_t>(&ssptool::ssptool_intermediate_update); })
      .def("add", &Self::add, "table"_a)
      .def("connect", &Self::connect, "sources"_a, "destinations"_a, "factors"_a, "offsets"_a, "tables"_a = nb::dict())
      .def(
          "group",
          [](Self& self, nb::handle instances) { return self.core().group(indices<ssptool::Index>(instances)); },
          "instances"_a)
      .def("loop", &Self::loop, "loop"_a)
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
      .def("iteration", &Self::iteration, "calls"_a)
      .def(
          "iterate",
          [](Self& self, Number iteration, double t, double h, bool first) {
            return self.unlocked([&](ssptool::Kernel& core) { return core.iterate(index(iteration), t, h, first); });
          },
          "iteration"_a, "t"_a, "h"_a, "first"_a)
      .def(
          "guess",
          [](nb::handle_t<Self> self, Number iteration) {
            return view(self, nb::cast<Self&>(self).core().guess(index(iteration)), 1);
          },
          "iteration"_a)
      .def("iterations", &Self::iterations)
      .def(
          "use_threads",
          [](Self& self, Number count) {
            self.core().use_threads(static_cast<std::size_t>(std::max<Number>(count, 0)));
          },
          "count"_a)
      .def("sweep", &Self::sweep, "steps"_a)
      .def(
          "record_slots", [](Self& self, nb::handle slots) { self.core().record_slots(indices<ssptool::Slot>(slots)); },
          "slots"_a)
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
            return self.unlocked([&](ssptool::Kernel& core) { return core.advance(index(group), t, h); });
          },
          "group"_a, "t"_a, "h"_a)
      .def(
          "evaluate",
          [](Self& self, Number sweep) {
            return self.unlocked([&](ssptool::Kernel& core) { return core.evaluate(index(sweep)); });
          },
          "sweep"_a)
      .def(
          "accept", [](Self& self, double t) { self.core().accept(t); }, "t"_a)
      .def("take_back", [](Self& self) { self.core().take_back(); })
      .def(
          "save",
          [](Self& self, Number group) {
            return self.unlocked([&](ssptool::Kernel& core) { return core.save(index(group)); });
          },
          "group"_a)
      .def(
          "restore",
          [](Self& self, Number group) {
            return self.unlocked([&](ssptool::Kernel& core) { return core.restore(index(group)); });
          },
          "group"_a)
      .def(
          "release", [](Self& self) { self.core().release(); }, nb::call_guard<Unlocked>())
      .def("run_through", &Self::run_through, "step"_a, "jump"_a, "points"_a, "rows"_a.noconvert())
      .def("run", &Self::run, "program"_a, "start"_a, "h"_a, "first"_a, "rows"_a.noconvert())
      .def(
          "residual",
          [](Self& self, Number loop, const Vector& x) { return self.on_loop(&ssptool::Kernel::residual, loop, x); },
          "loop"_a, "x"_a)
      .def(
          "jacobian_product",
          [](Self& self, Number loop, const Vector& seed) {
            return self.on_loop(&ssptool::Kernel::jacobian_product, loop, seed);
          },
          "loop"_a, "seed"_a)
      .def(
          "settle", [](Self& self, Number loop) { return self.core().settle(index(loop)); }, nb::arg("loop"))
      .def(
          "set_chord",
          [](Self& self, Number loop, const Matrix& matrix) {
            self.core().set_chord(index(loop), {matrix.data(), matrix.size()});
          },
          "loop"_a, "matrix"_a);
  nb::class_<NativeSlopes>(module, "NativeSlopes")
      .def(nb::init<NativeKernel&, Number, nb::handle, nb::handle, std::uintptr_t>(), "kernel"_a, "sweep"_a, "parts"_a,
           "inputs"_a, "numbers"_a, nb::keep_alive<1, 2>())
      .def_prop_ro("function",
                   [](const NativeSlopes&) { return reinterpret_cast<std::uintptr_t>(&ssptool::Slopes::evaluate); })
      .def_prop_ro("own", [](NativeSlopes& self) { return reinterpret_cast<std::uintptr_t>(&self.core()); })
      .def(
          "rest",
          [](NativeSlopes& self, std::uintptr_t function) {
            self.core().rest(reinterpret_cast<ssptool::Slopes::Rest*>(function));
          },
          "function"_a)
      .def(
          "origin", [](NativeSlopes& self, double t) { self.core().origin(t); }, "t"_a)
      .def(
          "course",
          [](NativeSlopes& self, double start, const Vector& value, const Vector& first, const Vector& second) {
            self.core().course(start, {value.data(), value.size()}, {first.data(), first.size()},
                               {second.data(), second.size()});
          },
          "start"_a, "value"_a, "first"_a, "second"_a)
      .def("take_trouble", &NativeSlopes::take_trouble);
}
