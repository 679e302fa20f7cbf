// Systems that execute frozen plans with FMUs that Python has instantiated; the GIL is released while they compute.
#include "../../system/system.hpp"

#include <nanobind/stl/vector.h>

#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "kernel.hpp"
#include "stopped.hpp"
#include "system_ode.hpp"

namespace ssptool::binding {

using namespace nb::literals;

namespace {

// Adopted FMUs have their own logs.
class NoLog final : public runtime::Log {
 public:
  void write(runtime::Status, const char*, const std::string&) noexcept override {}
};

// Python functions write the logs; they must not raise.
class IterateLog final : public runtime::IterateLog {
 public:
  IterateLog(nb::object loops, nb::object steps, nb::object bonds)
      : loops_(std::move(loops)), steps_(std::move(steps)), bonds_(std::move(bonds)) {}

  void write(double t, Index loop, std::span<const Iterate> iterates) override {
    const nb::gil_scoped_acquire locked;
    loops_(t, loop, iterates_to_python({iterates.begin(), iterates.end()}));
  }
  void at(double end) noexcept override { end_ = end; }
  void see(Index group, std::int64_t number, std::span<const double> x, std::span<const double> found, double excess,
           bool agrees) noexcept override {
    const nb::gil_scoped_acquire locked;
    steps_(end_, group, number, array(std::vector<double>(x.begin(), x.end())),
           array(std::vector<double>(found.begin(), found.end())), excess, agrees);
  }
  void of_bonds(double end, double error, std::span<const double> carried,
                std::span<const double> residuals) noexcept override {
    const nb::gil_scoped_acquire locked;
    bonds_(end, error, array(std::vector<double>(carried.begin(), carried.end())),
           array(std::vector<double>(residuals.begin(), residuals.end())));
  }

 private:
  nb::object loops_, steps_, bonds_;
  double end_ = 0.0;
};

std::string text_of(const nb::bytes& content) { return {content.c_str(), content.size()}; }

class NativeSystem {
 public:
  explicit NativeSystem(const nb::bytes& plan)
      : run_(runtime::run_plan_from(text_of(plan))),
        system_(std::move(run_.plan), log_),
        ode_(system_, run_),
        solutions_(solutions_module()) {}

  void adopt(Number part, nb::handle functions, nb::handle component) {
    system_.adopt(index(part), function_table(functions), address(component));
  }

  // The environment of a part, and the callback function that gets it.
  nb::tuple callback(Number part) {
    return nb::make_tuple(reinterpret_cast<std::uintptr_t>(&system_.environment(index(part))),
                          reinterpret_cast<std::uintptr_t>(&ssptool_intermediate_update));
  }

  void state_starts(Number part, int fmi_major, const nb::bytes& starts) {
    system_.state_starts(index(part), runtime::starts_from(text_of(starts), fmi_major));
  }

  NativeKernel* begin() {
    ode_.rest();
    beside_.reset();
    varying_.reset();
    system_.begin();
    return new NativeKernel(system_.kernel());
  }

  // Returns None, or the reason of a refusal or stop.
  nb::object does(void (runtime::System::*act)()) {
    return stopped_by([&] { (system_.*act)(); });
  }

  // Pairs of slots, or the refusal.
  nb::object undeclared_feedthrough() {
    std::vector<runtime::FoundFeedthrough> found;
    const nb::object refused = stopped_by([&] { found = system_.undeclared_feedthrough(run_.denied); });
    nb::list pairs;
    for (const auto& [input, output] : found) pairs.append(nb::make_tuple(input, output));
    return refused.is_none() ? nb::object(nb::tuple(pairs)) : refused;
  }

  // Numbers, or the refusal.
  nb::object needed_substeps() {
    std::vector<std::int64_t> found;
    const nb::object refused = stopped_by([&] { found = system_.needed_substeps(run_.trials); });
    return refused.is_none() ? nb::cast(found) : refused;
  }

  void couple() {
    system_.couple();
    system_.know(run_.interfaces);
  }

  // The state as bytes, or the reason of a refusal or stop.
  nb::object save() {
    std::string bytes;
    const nb::object stopped = stopped_by([&] { bytes = system_.serialized(*saved()->state); });
    return stopped.is_none() ? nb::bytes(bytes.data(), bytes.size()) : stopped;
  }

  // The number of the present state, which is kept until it is dropped or the components are released; or the reason of
  // a refusal or stop.
  nb::object keep() {
    const nb::object stopped = stopped_by([&] { kept_.insert_or_assign(++latest_, saved()); });
    return stopped.is_none() ? nb::int_(latest_) : stopped;
  }
  void drop(Number number) { kept_.erase(number); }
  // None, or the reason of a refusal or stop.
  nb::object go_back(Number number) {
    return stopped_by([&] {
      const runtime::SystemState& state = *kept_.at(number)->state;
      system_.restore(state);
      continue_from(state);
      if (beside_) ode_.new_counts();  // those of steps that are undone do not count
    });
  }

  // None, or the refusal. Raises RuntimeError or ValueError if the bytes are not a state of this plan.
  nb::object resume(const nb::bytes& content) {
    const std::string bytes = text_of(content);
    return stopped_by([&] {
      resumed_.emplace(system_, system_.deserialized(bytes));
      system_.resume(*resumed_->state);
    });
  }

  // The same, or the reason to stop. The ODE must have been integrated before.
  nb::object go_on() {
    return stopped_by([this] {
      const runtime::SystemState& state = *resumed_.value().state;
      system_.go_on(state);
      continue_from(state);
      resumed_.reset();
    });
  }

  void release() {
    resumed_.reset();
    kept_.clear();
    beside_.reset();
    varying_.reset();
    system_.release_states();
  }

  // Handles the first event, if there is one, and prepares steps of varying size. Returns None, or the reason to stop.
  nb::object begin_steps() {
    return stopped_by([this] {
      if (system_.plan().at_events) system_.first_event();
      begin_varying();
      begin_beside();
    });
  }

  // Restarts the control of step sizes, after values at the present point may have changed.
  void restart() {
    if (varying_) varying_->restart();
    if (beside_) beside_->see();
  }

  // Exceptions of `act` are passed on unchanged. Returns None, or the reason to stop.
  nb::object intervene(const nb::callable& act, bool of_ode) {
    return stopped_by([&] {
      const auto acting = [&act] {
        const nb::gil_scoped_acquire locked;
        act();
      };
      ode_.is_alone() ? ode_.intervene(acting) : system_.intervene(acting, of_ode);
    });
  }

  // The same, without `act`.
  nb::object follow(const std::vector<Number>& parts) {
    return stopped_by([&] {
      ode_.stand();
      system_.follow({parts.begin(), parts.end()});
    });
  }

  // If all are None, nothing is logged any more.
  void log_iterates(const nb::object& loops, const nb::object& steps, const nb::object& bonds) {
    iterate_log_ = loops.is_none() ? nullptr : std::make_unique<IterateLog>(loops, steps, bonds);
    system_.log_iterates(iterate_log_.get());
  }

  void state_scenario(const nb::bytes& acts) {
    system_.state_stimuli(runtime::scenario_from(text_of(acts), system_.plan()));
  }

  // Sets a function that answers (t, h, t + h within rounding) [s] with the number of iterations, 0 if the step has
  // failed, or a negative number if a smaller step may succeed. None: no such function.
  void answer_steps(nb::object answer) {
    if (answer.is_none()) return system_.kernel()->programs.ask({});
    system_.kernel()->programs.ask([answer = std::move(answer)](double t, double h, double to) -> Outcome {
      const nb::gil_scoped_acquire locked;
      const auto count = nb::cast<Number>(answer(t, h, to));
      if (count > 0) return {.iterations = count};
      return {.code = count < 0 ? Code::coupling : Code::stopped};
    });
  }

  nb::object evaluate(Number schedule) {
    Outcome outcome;
    {
      const Unlocked unlocked;
      outcome = system_.evaluate(index(schedule));
    }
    return to_python(outcome);
  }

  // `sample`: see runtime::Sample; None if there are no functions.
  nb::object run(double limit, const Rows& rows, nb::handle sample) {
    runtime::Sample asked;
    if (!sample.is_none())
      asked = [sample](double t, double begin, double end) {
        const nb::gil_scoped_acquire locked;
        return nb::cast<bool>(sample(t, begin, end));
      };
    const std::span<double> room(rows.data(), rows.size());
    if (ode_.is_alone()) return ode_.run_alone(limit, room);
    runtime::Stretch found;
    system_.sample_with(std::move(asked));
    const nb::object stopped = stopped_by([&] {
      if (beside_) return beside_->run(found, varying_.get(), limit, room);
      varying_ ? system_.run(*varying_, found, limit, room) : system_.run(found, limit, room);
    });
    system_.sample_with({});
    nb::object unobserved = nb::none();
    if (found.unobserved) unobserved = nb::make_tuple(to_python(found.unobserved->first), found.unobserved->second);
    const auto [events, evaluations] = beside_ ? ode_.new_counts() : std::pair<std::int64_t, std::int64_t>{};
    return solutions_.attr("StepBatch")(
        "steps"_a = found.steps, "iterations"_a = array(std::move(found.iterations)), "rejected"_a = found.rejected,
        "finished"_a = beside_ ? beside_->finished(varying_.get()) : finished_steps(), "waiting"_a = waiting(),
        "events"_a = found.events + events, "evaluations"_a = evaluations,
        "points"_a = beside_ ? array(beside_->points()) : nb::none(), "outcome"_a = to_python(found.outcome),
        "begin"_a = found.from, "end"_a = found.to, "rescuing"_a = found.rescuing, "alone"_a = found.alone,
        "unobserved"_a = unobserved, "stopped"_a = stopped, "unsampled"_a = found.unsampled, "no_size"_a = no_size(),
        "events_between"_a = events_between());
  }

  // Number of steps, estimated error of all, and end and slot of the worst one; see runtime::Inexact.
  [[nodiscard]] nb::tuple inexact() const {
    const runtime::Inexact found = varying_ ? varying_->inexact() : runtime::Inexact{};
    return nb::make_tuple(found.steps, found.error, found.time,
                          found.slot == none ? Number{-1} : static_cast<Number>(found.slot));
  }

  // All except the first `but`.
  nb::tuple solved(Number but) {
    nb::list found;
    for (const runtime::SolvedLoop& one : std::span(system_.solved()).subspan(index(but)))
      found.append(solutions_.attr("LoopInSystem")(one.number,
                                                   solution_to_python(one.solution, to_python(one.solution.rejected)),
                                                   iterates_to_python(one.iterates)));
    return nb::tuple(found);
  }

  nb::tuple refused_guesses() {
    nb::list found;
    for (const runtime::Refusal& one : system_.refused_guesses()) found.append(to_python(one));
    return nb::tuple(found);
  }

  // By number in the plan: the kernel's number, -1 if the kernel has no such loop.
  nb::tuple loops() {
    nb::list found;
    for (const Index loop : system_.loops()) found.append(loop == none ? Number{-1} : static_cast<Number>(loop));
    return nb::tuple(found);
  }

  runtime::System& core() { return system_; }
  SystemOde& ode() { return ode_; }

 private:
  // The parts own it until it is released.
  struct SavedState {
    SavedState(runtime::System& system, std::unique_ptr<runtime::SystemState> saved)
        : state(std::move(saved)), system_(system) {}
    SavedState(const SavedState&) = delete;
    SavedState& operator=(const SavedState&) = delete;
    ~SavedState() { system_.release(*state); }
    std::unique_ptr<runtime::SystemState> state;

   private:
    runtime::System& system_;
  };

  template <class Act>
  nb::object stopped_by(const Act& act) {
    try {
      return reason_of([&] {
        const Unlocked unlocked;
        act();
      });
    } catch (const runtime::Refused& refused) {
      return to_python(refused.refusal);
    }
  }

  // The state at the present point; the components may be moved there.
  std::unique_ptr<SavedState> saved() {
    ode_.stand();
    auto found = std::make_unique<SavedState>(system_, system_.save());
    if (varying_) found->state->sizes = varying_->save();
    ode_.save(*found->state);
    return found;
  }

  // Restores data of a state that the system does not know.
  void continue_from(const runtime::SystemState& state) {
    beside_.reset();
    varying_.reset();
    begin_varying();
    if (state.sizes.has_value() != (varying_ != nullptr)) throw std::runtime_error("the state belongs to other steps");
    if (varying_) varying_->go_on(*state.sizes);
    ode_.go_on(state);
    begin_beside();
  }

  void begin_beside() {
    if (run_.columns)
      beside_ = std::make_unique<runtime::RowsBeside>(system_, ode_.of_run(), *run_.columns,
                                                      run_.steps == 0 || finished_steps());
  }

  bool finished_steps() { return varying_ ? system_.finished(*varying_) : system_.finished(); }
  [[nodiscard]] bool waiting() const noexcept {
    return beside_ ? beside_->waiting(varying_.get()) : varying_ && varying_->waiting();
  }

  [[nodiscard]] nb::tuple events_between() const {
    nb::list found;
    if (beside_)
      for (const runtime::EventBetween& one : beside_->events()) found.append(nb::make_tuple(one.t, one.at_point));
    return nb::tuple(found);
  }

  void begin_varying() {
    if (run_.doubling) varying_ = system_.double_steps(*run_.doubling);
    if (run_.defects) varying_ = system_.steps_by_defects(*run_.defects);
    if (run_.energy) varying_ = system_.steps_by_energy(*run_.energy);
  }

  nb::object no_size() {
    if (!varying_ || !varying_->no_size()) return nb::none();
    const runtime::NoSize& why = *varying_->no_size();
    return solutions_.attr("NoSize")(solutions_.attr("WhyNoSize")(static_cast<int>(why.why)), why.t, why.size,
                                     why.slot == none ? Number{-1} : static_cast<Number>(why.slot), why.error);
  }

  nb::object to_python(const Outcome& outcome) { return NativeKernel(system_.kernel()).to_python(outcome); }

  nb::object to_python(const runtime::Refusal& refusal) {
    const nb::object outcome = refusal.outcome ? to_python(*refusal.outcome) : nb::none();
    const nb::object loop = refusal.loop ? nb::cast(*refusal.loop) : nb::none();
    return solutions_.attr("SystemRefusal")(refusal.part, refusal.function, refusal.status, outcome, loop,
                                            solutions_.attr("Unsettled")(static_cast<int>(refusal.unsettled)),
                                            nb::tuple(nb::cast(refusal.names)));
  }

  NoLog log_;
  std::unique_ptr<IterateLog> iterate_log_;
  runtime::RunPlan run_;
  runtime::System system_;
  SystemOde ode_;
  std::unique_ptr<runtime::VaryingSteps> varying_;  // of the present run
  std::unique_ptr<runtime::RowsBeside> beside_;     // likewise
  std::optional<SavedState> resumed_;               // the present run starts with it
  std::map<Number, std::unique_ptr<SavedState>> kept_;
  Number latest_ = 0;
  nb::object solutions_;
};

}  // namespace

void bind_system(nb::module_& module) {
  using Self = NativeSystem;
  nb::class_<Self>(module, "NativeSystem")
      .def(nb::init<const nb::bytes&>(), "plan"_a)
      .def("adopt", &Self::adopt, "part"_a, "functions"_a, "component"_a,
           nb::sig("def adopt(self, part: int, functions: collections.abc.Mapping[str, int], component: int) -> None"))
      .def("callback", &Self::callback, "part"_a, nb::sig("def callback(self, part: int) -> tuple[int, int]"))
      .def("state_starts", &Self::state_starts, "part"_a, "fmi_major"_a, "starts"_a)
      .def("begin", &Self::begin, nb::rv_policy::take_ownership)
      .def(
          "initialize", [](Self& self) { return self.does(&runtime::System::initialize); },
          nb::sig("def initialize(self) -> ssptool.engine.kernel.solutions.SystemRefusal | "
                  "ssptool.engine.failure.Failure | None"))
      .def(
          "first_point", [](Self& self) { return self.does(&runtime::System::first_point); },
          nb::sig("def first_point(self) -> ssptool.engine.kernel.solutions.SystemRefusal | "
                  "ssptool.engine.failure.Failure | None"))
      .def("undeclared_feedthrough", &Self::undeclared_feedthrough,
           nb::sig("def undeclared_feedthrough(self) -> tuple[tuple[int, int], ...] | "
                   "ssptool.engine.kernel.solutions.SystemRefusal"))
      .def("needed_substeps", &Self::needed_substeps,
           nb::sig("def needed_substeps(self) -> list[int] | ssptool.engine.kernel.solutions.SystemRefusal"))
      .def("couple", &Self::couple)
      .def("save", &Self::save,
           nb::sig("def save(self) -> bytes | ssptool.engine.kernel.solutions.SystemRefusal | "
                   "ssptool.engine.failure.Failure"))
      .def("keep", &Self::keep,
           nb::sig("def keep(self) -> int | ssptool.engine.kernel.solutions.SystemRefusal | "
                   "ssptool.engine.failure.Failure"))
      .def("drop", &Self::drop, "number"_a)
      .def("go_back", &Self::go_back, "number"_a,
           nb::sig("def go_back(self, number: int) -> ssptool.engine.kernel.solutions.SystemRefusal | "
                   "ssptool.engine.failure.Failure | None"))
      .def("resume", &Self::resume, "state"_a,
           nb::sig("def resume(self, state: bytes) -> ssptool.engine.kernel.solutions.SystemRefusal | "
                   "ssptool.engine.failure.Failure | None"))
      .def("go_on", &Self::go_on,
           nb::sig("def go_on(self) -> ssptool.engine.kernel.solutions.SystemRefusal | "
                   "ssptool.engine.failure.Failure | None"))
      .def_prop_ro("time", [](Self& self) { return self.core().time(); })
      .def_prop_ro("end_of_segment", [](Self& self) { return self.core().end_of_segment(); })
      .def("begin_steps", &Self::begin_steps,
           nb::sig("def begin_steps(self) -> ssptool.engine.kernel.solutions.SystemRefusal | "
                   "ssptool.engine.failure.Failure | None"))
      .def("restart", &Self::restart)
      .def("intervene", &Self::intervene, "act"_a, "of_ode"_a,
           nb::sig("def intervene(self, act: collections.abc.Callable[[], None], of_ode: bool) -> "
                   "ssptool.engine.kernel.solutions.SystemRefusal | ssptool.engine.failure.Failure | None"))
      .def("follow", &Self::follow, "parts"_a,
           nb::sig("def follow(self, parts: collections.abc.Sequence[int]) -> "
                   "ssptool.engine.kernel.solutions.SystemRefusal | ssptool.engine.failure.Failure | None"))
      .def("release", &Self::release)
      .def(
          "resumed", [](Self& self, Number part) { return static_cast<Number>(self.core().resumed(index(part))); },
          "part"_a)
      .def("log_iterates", &Self::log_iterates, "loops"_a.none(), "steps"_a.none(), "bonds"_a.none(),
           nb::sig("def log_iterates(self, loops: collections.abc.Callable[..., None] | None, steps: "
                   "collections.abc.Callable[..., None] | None, bonds: collections.abc.Callable[..., None] | None) -> "
                   "None"))
      .def("state_scenario", &Self::state_scenario, "acts"_a)
      .def("answer_steps", &Self::answer_steps, "answer"_a.none(),
           nb::sig(
               "def answer_steps(self, answer: collections.abc.Callable[[float, float, float], int] | None) -> None"))
      .def("evaluate", &Self::evaluate, "schedule"_a,
           nb::sig("def evaluate(self, schedule: int) -> ssptool.engine.kernel.calls.Outcome"))
      .def("run", &Self::run, "limit"_a, "rows"_a.noconvert(), "sample"_a.none(),
           nb::sig("def run(self, limit: float, rows: ssptool.engine.kernel.calls.Floats, sample: "
                   "collections.abc.Callable[[float, float, float], bool] | None) -> "
                   "ssptool.engine.kernel.solutions.StepBatch"))
      .def_prop_ro("inexact", &Self::inexact, nb::sig("def inexact(self) -> tuple[int, float, float, int]"))
      .def(
          "integrate",
          [](Self& self, int solver, nb::object cvode, nb::object explain, nb::object refused, nb::object sample) {
            self.ode().integrate(solver, std::move(cvode), std::move(explain), std::move(refused), std::move(sample));
          },
          "solver"_a, "cvode"_a.none(), "explain"_a, "refused"_a, "sample"_a.none(),
          nb::sig("def integrate(self, solver: int, cvode: ssptool.engine.kernel.ode.Addresses | None, explain: "
                  "ssptool.engine.kernel.ode.Explain, refused: ssptool.engine.kernel.ode.ExplainRefusal, sample: "
                  "ssptool.engine.kernel.ode.SampleAt | None) -> None"))
      .def(
          "jacobian",
          [](Self& self, double t, const std::vector<double>& x) { return array(self.ode().jacobian(t, x)); }, "t"_a,
          "x"_a,
          nb::sig("def jacobian(self, t: float, x: collections.abc.Sequence[float]) -> "
                  "ssptool.engine.kernel.calls.Floats"))
      .def(
          "probe", [](Self& self) { return self.ode().probe(); }, nb::rv_policy::take_ownership, nb::keep_alive<0, 1>())
      .def("let_go", [](Self& self) { self.ode().let_go(); })
      .def("begin_alone", [](Self& self) { self.ode().begin_alone(); })
      .def(
          "kernel_of_ode", [](Self& self) { return self.ode().inside(); }, nb::rv_policy::take_ownership)
      .def_prop_ro(
          "loops_of_ode", [](Self& self) { return self.ode().loops(); },
          nb::sig("def loops_of_ode(self) -> tuple[int, ...]"))
      .def("begin_beside", [](Self& self) { self.ode().begin_beside(); })
      .def_prop_ro("time_of_ode", [](Self& self) { return self.ode().time(); })
      .def(
          "show_end", [](Self& self, double t) { self.ode().show_end(t); }, "t"_a)
      .def(
          "failure_of_ode", [](Self& self) { return self.ode().failure(); },
          nb::sig("def failure_of_ode(self) -> ssptool.engine.kernel.solutions.SystemRefusal | "
                  "ssptool.engine.failure.Failure | None"))
      .def(
          "take_remarks", [](Self& self) { return self.ode().take_remarks(); },
          nb::sig("def take_remarks(self) -> list[tuple[int, float, str]]"))
      .def(
          "initialized", [](Self& self, Number part) { return self.core().initialized(index(part)); }, "part"_a)
      .def("solved", &Self::solved, "but"_a,
           nb::sig("def solved(self, but: int) -> tuple[ssptool.engine.kernel.solutions.LoopInSystem, ...]"))
      .def_prop_ro("loops", &Self::loops, nb::sig("def loops(self) -> tuple[int, ...]"))
      .def_prop_ro("refused_guesses", &Self::refused_guesses,
                   nb::sig("def refused_guesses(self) -> tuple[ssptool.engine.kernel.solutions.SystemRefusal, ...]"))
      .def_prop_ro(
          "rescue_work",
          [](Self& self) {
            RescueWork work = self.core().rescue_work();
            work.solved += self.ode().rescues().solved;
            work.iterations += self.ode().rescues().iterations;
            return solutions_module().attr("RescueWork")(work.solved, work.iterations, work.contradicted);
          },
          nb::sig("def rescue_work(self) -> ssptool.engine.kernel.solutions.RescueWork"));
}

}  // namespace ssptool::binding
