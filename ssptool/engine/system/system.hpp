// An exported system at work: its parts coupled as `ssptool run` couples them, by the same kernel with the same calls.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "checkpoint.hpp"
#include "derivatives.hpp"
#include "feedthrough.hpp"
#include "interface_derivatives.hpp"
#include "macro_steps.hpp"
#include "needed_substeps.hpp"
#include "ode.hpp"
#include "ode_of_run.hpp"
#include "state.hpp"
#include "step_defects.hpp"
#include "step_doubling.hpp"
#include "step_energy.hpp"
#include "stimuli.hpp"

namespace ssptool::runtime {

// Macro steps that are done at once.
inline constexpr std::int64_t at_once = 256;

// What an importer instantiates: a system that steps itself, or one that the importer integrates.
enum class Kind { co_simulation, model_exchange };

// What an importer of co-simulation makes use of (FMI 3.0, fmi3InstantiateCoSimulation).
struct EventUse {
  bool event_mode = false, early_return = false;
};

// How a communication step has ended.
struct StepEnd {
  bool event = false, early = false;
};

// A loop that was solved, or tried, in initialization; with its iterates where it was not solved.
struct SolvedLoop {
  Index number;
  Solution solution;
  std::vector<Iterate> iterates;
};

// Rows of macro steps and events: so many are filled, with the iterations of each step, of which some were done alone;
// and steps that were taken back because of their error.
// Where there is an outcome that is not good, it is that of the next step, between two times [s]; `rescuing`: of a loop
// for which better methods were tried. `unobserved`: of the first row for which a variable could not be got, and when.
struct Stretch {
  std::int64_t steps = 0, events = 0, alone = 0, rejected = 0;
  std::vector<std::int64_t> iterations;
  Outcome outcome;
  double from = 0.0, to = 0.0;
  bool rescuing = false;
  std::optional<std::pair<Outcome, double>> unobserved;
  bool unsampled = false;  // a function gave no value
};

// All functions throw Refused or IntegrationStopped, or another std::exception for what must not happen.
class System {
 public:
  // Loads and instantiates the parts, which are below `resources`.
  System(const std::string& resources, Log&, bool logging, Kind, EventUse);
  // Of parts that somebody else instantiates, resets, terminates and frees, and which are adopted for each run.
  System(Plan, Log&);
  System(const System&) = delete;
  System& operator=(const System&) = delete;
  ~System();

  void set_up(const Experiment& experiment) { experiment_ = experiment; }
  void enter_initialization();
  void exit_initialization();

  // A run of adopted parts, from before initialization mode.
  void adopt(Index part, FunctionTable, fmi::Component);
  // Instance environment of a part that asks for inputs inside a step, with which it is instantiated.
  [[nodiscard]] Environment& environment(Index part) { return environments_.at(part); }
  // From now on; null: to nowhere.
  void log_iterates(IterateLog* log) noexcept { iterate_log_ = log; }
  void state_stimuli(std::unique_ptr<Stimuli> stimuli) { stimuli_ = std::move(stimuli); }
  // Functions that drive inputs, from now on; none of them by default.
  void sample_with(Sample sample) { sample_ = std::move(sample); }
  void state_starts(Index part, std::vector<VariableSet>);
  void begin();
  // All parts have left initialization mode.
  void initialize();
  // Their outputs after that, loops included.
  void first_point();
  // At the first point: outputs that move with an input although they deny it, in the order of these.
  [[nodiscard]] std::vector<FoundFeedthrough> undeclared_feedthrough(const std::vector<DeniedFeedthrough>&);
  // Likewise: the number of steps that parts need in a macro step; 0 where none that was tried suffices.
  [[nodiscard]] std::vector<std::int64_t> needed_substeps(const std::vector<SubstepTrial>&);
  // Ready for the first step.
  void couple();
  // After it: what Newton's method may use of each iteration.
  void know(const std::vector<PlannedInterface>&);
  // A run that was saved goes on: parts are in their states, instead of `initialize` and `first_point`; all else is as
  // it was, after `couple` and `integrate`. Throws std::runtime_error, or std::invalid_argument, for a state of another
  // system.
  void resume(const SystemState&);
  void go_on(const SystemState&);
  [[nodiscard]] double end_of_segment() const noexcept;
  // The event at the start of parts in event mode.
  void first_event();
  // Between steps: something is done to parts, in event mode; `of_ode`: to those of an ODE with events of its own.
  void intervene(const std::function<void()>& act, bool of_ode);
  // All that depends on what was set in these parts follows, and what was before bends no polynomial any more.
  void follow(const std::vector<Index>& parts);
  // Where a run of nothing but an ODE is [s].
  void stand_at(double t) noexcept { now_ = t; }
  // Steps from where it is, and events, as many as there is room for rows, none beyond the stop time or this one [s].
  // What it throws happens at the time from which the next step starts.
  void run(Stretch&, double limit, std::span<double> rows);
  // A schedule at the present instant, with better methods for loops that need them.
  Outcome evaluate(Index schedule) { return steps_->evaluate(schedule); }
  // The stop time is reached, but for rounding, and all that happens there has been handled.
  [[nodiscard]] bool finished() const;
  // The same with steps of sizes that their errors allow, or energy residuals: made ready after `couple`, and gone
  // before states are released.
  [[nodiscard]] std::unique_ptr<VaryingSteps> double_steps(const PlannedSizes&);
  [[nodiscard]] std::unique_ptr<VaryingSteps> steps_by_defects(const PlannedSizes&);
  [[nodiscard]] std::unique_ptr<VaryingSteps> steps_by_energy(const PlannedEnergy&);
  void run(VaryingSteps&, Stretch&, double limit, std::span<double> rows);
  [[nodiscard]] bool finished(const VaryingSteps&) const;
  // Before somebody frees the parts, to which they belong.
  void release_states() noexcept;
  // What words are made of: the kernel of the present run; whether a part has been initialized; loops in
  // initialization; loops in steps that needed better methods; refusals to say first guesses.
  [[nodiscard]] const std::shared_ptr<Kernel>& kernel() const noexcept { return kernel_; }
  [[nodiscard]] bool initialized(Index part) const { return parts_.at(part)->initialized(); }
  [[nodiscard]] const std::vector<SolvedLoop>& solved() const noexcept { return solved_; }
  [[nodiscard]] const std::vector<Index>& loops() const noexcept { return loops_; }
  [[nodiscard]] RescueWork rescue_work() const noexcept { return steps_ ? steps_->work() : RescueWork{}; }
  [[nodiscard]] const std::vector<Refusal>& refused_guesses() const noexcept { return refused_guesses_; }
  // After `couple`: the ODE of the parts of model exchange, as this run integrates it.
  RunningOde& integrate(OdeOfRun&);
  // Of an ODE beside other parts: its kernel after `first_point`, with the loops in it; the first instant, after
  // `integrate`; an event at the present time, because of signals that it takes at events only, which throws as `run`.
  [[nodiscard]] const std::shared_ptr<Kernel>& inside() const noexcept { return inside_; }
  [[nodiscard]] const std::vector<Index>& loops_of_ode() const noexcept { return loops_of_ode_; }
  [[nodiscard]] OdeComponent& component() const noexcept { return *component_; }
  void begin_beside(OdeOfRun&);
  void react(OdeOfRun&);
  [[nodiscard]] const Plan& plan() const noexcept { return plan_; }
  // Steps that a part has ended early although it may not, and that were completed with it alone.
  [[nodiscard]] double resumed(Index part) const { return reports_.at(part).resumed; }
  // Macro steps until t + h [s], the last one shortened if need be. In event mode they end at an event, too.
  StepEnd step(double t, double h);
  // Whether a part has asked to end the simulation, in its last step.
  [[nodiscard]] bool asks_to_end() const noexcept;
  void terminate();
  void reset();
  void log_from_now_on(bool on);

  // Values that were set act on all that depends on them.
  void settle();

  // Event mode, after which an importer goes on with steps, or with continuous-time mode.
  [[nodiscard]] bool uses_event_mode() const noexcept { return use_.event_mode; }
  void enter_event_mode();
  DiscreteUpdate update_discrete_states();
  void leave_event_mode();
  // Clocks of the system, by value reference, in event mode.
  [[nodiscard]] const SystemClock& clock(std::size_t reference) const;
  void set_clock(std::size_t reference, bool active);
  [[nodiscard]] bool clock_ticks(std::size_t reference);

  // For model exchange, after initialization.
  [[nodiscard]] ContinuousSystem& continuous() { return *ode_->continuous; }
  void set_time(double t);
  [[nodiscard]] std::size_t states() const noexcept;
  [[nodiscard]] std::size_t indicators() const noexcept;

  // Variables by their value reference.
  [[nodiscard]] const SystemVariable& variable(std::size_t reference) const;
  // As many values as it has elements. Before initialization mode these are start values, or what was set.
  void get(std::size_t reference, std::span<Value>);
  void set(std::size_t reference, std::span<const Value>);
  // Of an input, from the present communication point to the next: its derivative of order 1 or 2.
  void set_rate(std::size_t reference, int order, double rate);

  // Of outputs by inputs at the present instant, in a direction; arrays with all their elements.
  [[nodiscard]] std::vector<double> directional(std::span<const fmi::Reference> unknowns,
                                                std::span<const fmi::Reference> knowns, std::span<const double> seed);

  // The complete state; it stays until it is released.
  [[nodiscard]] std::unique_ptr<SystemState> save();
  void restore(const SystemState&);
  void release(const SystemState&) noexcept;
  [[nodiscard]] std::string serialized(const SystemState&);
  [[nodiscard]] std::unique_ptr<SystemState> deserialized(const std::string& bytes);

  // Of communication points.
  [[nodiscard]] TimeGrid grid() const noexcept {
    if (!times_.are(experiment_.start, plan_.step)) times_ = {experiment_.start, plan_.step};
    return {experiment_.start, plan_.step, times_};
  }
  [[nodiscard]] double time() const noexcept { return now_; }
  // But for rounding.
  [[nodiscard]] bool is_at(double t) const noexcept;
  [[nodiscard]] const std::string& token() const noexcept { return plan_.token; }

 private:
  // Steps of a schedule as the kernel has them: a schedule of calls, or a loop by its number.
  struct Step {
    bool is_loop;
    Index number;
  };
  // A part without an initialization mode, and the inputs that it was initialized with.
  struct Beginning {
    Wires::Set wires = Wires::empty_set;
    bool begun = false, outdated = false;
    std::map<Slot, Value> with{};
    std::vector<std::pair<PartVariable, std::vector<Value>>> given{};  // by an importer, in its order
  };
  void require_own_instance(Part&) const;
  void start_over();
  void build_kernel();
  [[nodiscard]] Member member_of(Part&);
  // With the texts of a kernel.
  [[nodiscard]] SlotContents contents(const std::vector<double>& values, const Kernel&) const;
  [[nodiscard]] std::vector<double> values_of(const SlotContents&, Kernel&) const;
  [[nodiscard]] static std::vector<SavedLoop> saved_loops(const std::vector<Index>& loops, Kernel&);
  static void restore_loops(const std::vector<SavedLoop>&, const std::vector<Index>& loops, Kernel&);
  [[nodiscard]] SavedOde save_ode();
  void require_fitting(const SystemState&) const;
  void restore_ode(const SavedOde&);
  // What was set of arrays of parts before initialization mode, by part and reference.
  using ArraysBefore = std::map<std::pair<Index, fmi::Reference>, std::vector<Value>>;
  void get_start(std::size_t reference, std::span<Value>) const;
  [[nodiscard]] const std::vector<Value>& as_set(std::size_t reference) const;
  void set_in_parts(const SystemVariable&, std::span<const Value>, ArraysBefore*);
  void set_in_part(const PartVariable&, std::vector<Value>, ArraysBefore*);
  [[nodiscard]] std::vector<Value> get_of_part(const PartVariable&);
  void write(const std::vector<SlotValue>&);
  void write(Slot, const Value&);
  [[nodiscard]] double in_slot(Slot slot, const Value& value) { return in_slot(slot, value, *kernel_); }
  [[nodiscard]] static double in_slot(Slot, const Value&, Kernel&);
  [[nodiscard]] Value read(Slot) const;
  void forget_contents();

  void propagate();
  // From these parts, in which something was set.
  void propagate(std::vector<Index>& waiting);
  [[nodiscard]] Refused endless(const std::vector<Index>& changed, const std::vector<int>& times) const;
  void guess();
  void make_consistent();
  // Of parts of FMI 1.0.
  void settle_without_mode();
  void begin(Index part);
  void begin_along_the_schedule(LoopMethod);
  void set_starts(Index part);
  std::vector<std::string> renew();
  void initialize(Index part, const std::map<Slot, Value>& inputs);
  [[nodiscard]] std::map<Slot, Value> inputs_of(Index part) const;
  [[nodiscard]] std::map<Slot, Value> inputs_within(Index part, const std::map<Slot, Value>& set);
  static std::vector<Step> prepared(const Schedule&, Kernel&);
  // Calls, and loops solved by a method; in initialization mode.
  void walk(const std::vector<Step>&, LoopMethod);
  // Calls, and loops solved and made ready for schedules: the kernel's loops by their number in the plan.
  void visit(const Schedule&, Kernel&, std::vector<Index>& loops);
  void solve(Index number, Index loop, LoopMethod, Kernel&);
  void register_loops();
  void register_loops(const Schedule&, Kernel&, std::vector<Index>& loops) const;
  static Index registered(const Schedule&, Kernel&, const std::vector<Index>& loops);
  // Of co-simulation; events of an ODE alone are those of its integration.
  [[nodiscard]] bool steps_end_at_events() const noexcept {
    return events_ != nullptr && !(plan_.ode && plan_.ode->alone);
  }
  // The ODE beside other parts goes through their events, or has its own.
  [[nodiscard]] bool with_ode() const noexcept {
    return component_ != nullptr && events_ != nullptr && plan_.at_events->with_ode;
  }
  [[nodiscard]] bool ode_apart() const noexcept { return component_ != nullptr && !with_ode(); }
  // A time event of an ODE with events of its own: at the present communication point, or when it comes [s].
  [[nodiscard]] bool time_event_of_ode() const noexcept { return ode_apart() && component_->time_event_due(); }
  [[nodiscard]] double timer_of_ode() const noexcept;
  // The same if steps end there.
  [[nodiscard]] double next_of_ode() const noexcept { return ends_at_timers() ? timer_of_ode() : HUGE_VAL; }
  // FMUs that take steps of one size only do not end one there.
  [[nodiscard]] bool ends_at_timers() const noexcept { return plan_.ode && plan_.ode->ends_steps; }
  // The last point that whole steps may lead to at once.
  [[nodiscard]] std::int64_t whole_until(double limit) const noexcept {
    return grid().whole_until(std::min(limit, timer_of_ode()));
  }
  void handle_event_of_ode();
  [[nodiscard]] OdeSystem::Schedules schedules_of_ode();
  [[nodiscard]] EventMembers& members_of_ode() noexcept { return component_ != nullptr ? *events_of_ode_ : *events_; }
  [[nodiscard]] IntegrationSettings integration_settings() const;
  class StimuliOfOde;
  void drive(OdeOfRun&);
  // Finishes an evaluation that a loop has ended; the reason if that cannot be done.
  [[nodiscard]] std::optional<IntegrationStopped> rescued(OdeOfRun&, Index schedule, double t);
  void make_ode();
  void begin_ode();
  [[nodiscard]] Kernel& kernel_of_ode() noexcept { return inside_ != nullptr ? *inside_ : *kernel_; }
  void build_kernel_of_ode();
  void begin_inside();
  void attach_with_rows(OdeOfRun&);
  void jump_of_ode();
  // Parameters that were set, in event mode.
  void tune();
  void set_tuned();
  // Events of an ODE beside other parts because of signals that it takes at events only.
  void react_of_ode();
  void forget_past();

  // Inputs that tables drive.
  void state_tables();
  void begin_tables();
  void go_to_segment(std::size_t);
  void act();
  [[nodiscard]] bool jump_due() const noexcept { return now_ >= end_of_segment() - grid().moment(); }
  [[nodiscard]] Outcome enter_segment();
  void jump_from_outside();
  [[nodiscard]] double begin_of_segment() const noexcept;
  void jump_of_tables();
  void set_parameters();

  // Inputs run as their derivatives say.
  void follow_inputs(double end);
  void leave_inputs();
  [[nodiscard]] bool goes_on(Slot, double before) const;

  void step_to(double end);
  void jump();
  // Outputs of parts whose parameters were set follow.
  void refresh_outputs();

  void integrate(double end);
  [[nodiscard]] bool is_driven() const noexcept;

  // One by one where an ODE beside other parts reacts to each.
  [[nodiscard]] std::int64_t most_at_once() const noexcept {
    return component_ != nullptr && component_->takes_event_signals() ? 1 : at_once;
  }
  void whole_steps(std::int64_t first, std::int64_t count);
  [[nodiscard]] std::span<double> rows_left(const Stretch&, std::span<double> rows) const;
  void step_on_the_grid(Stretch&, double end, std::span<double> rows);
  void whole_rows(Stretch&, std::int64_t first, std::span<double> rows);
  void kernel_alone(Stretch&, std::int64_t first, std::span<double> rows);
  void one_row(Stretch&, double limit, std::span<double> row);
  // Does something, with room for rows; false: there is nothing to do.
  using GoOn = std::function<bool(std::span<double> left)>;
  void go_along(Stretch&, std::span<double> rows, const GoOn&);
  [[nodiscard]] bool go_on(Stretch&, double limit, std::span<double> rows);
  void row_of_jump(Stretch&, std::span<double> rows);
  // When something happens next for all parts at once [s].
  [[nodiscard]] double next_stop() const noexcept { return std::min(end_of_segment(), next_of_ode()); }
  // Iterates of loops are collected, and belong to this time [s].
  void log_iterates(double t);
  void log_iterates(std::vector<Iterate>&, const std::vector<Index>& loops, double t) const;
  // The same with those of an act at the present time.
  void watched(const std::function<void()>& act);
  [[nodiscard]] bool sampled(Stretch&, double t) const;
  void rescue(Stretch&, double h, std::span<double> row);
  void row_of_event(Stretch&, std::span<double> rows);
  void row_of_ode(Stretch&, std::span<double> rows);
  void add_row(Stretch&, std::span<double> rows);

  // Parts in event mode: their first event after initialization, and macro steps that end at events.
  void make_events();
  [[nodiscard]] std::unique_ptr<EventMembers> members_of(const PlannedEventSteps&, Kernel&) const;
  [[nodiscard]] std::vector<Type> types_at_events(Index part) const;
  void set_clocks();
  void pass_on_at_start();
  void step_through_events(double end);
  // Whether anything was to be seen of it.
  bool handle_event();
  bool handle_event(const std::vector<Cause>&, const std::function<void()>& act = {});
  bool iterate_and_leave(bool first);
  bool settle_event();
  void explained(const std::function<void()>& act) const;
  void evaluate_all();
  [[nodiscard]] bool event_due() const;
  [[nodiscard]] bool event_wanted() const noexcept;
  [[nodiscard]] std::vector<Cause> causes() const;
  void before_steps();
  void step_until(double limit);
  void step_until(Stretch&, double limit, std::span<double> rows);
  void step_with_events(Stretch&, double limit, std::span<double> rows, bool begun);
  void arrive(Stretch&, double end, std::span<double> rows);
  void confirm_event(double from, double to);
  [[nodiscard]] std::optional<double> returned_early(double end) const noexcept;
  [[nodiscard]] VariedSteps varied_steps();
  void steps_until_event(VaryingSteps&, Stretch&, AroundSteps);
  [[nodiscard]] std::optional<double> asks_for_end(double to, double limit) const noexcept;
  [[nodiscard]] double end_at_event(double t, double early) const noexcept;
  static IntegrationStopped no_progress(double t, double end);
  void go_back(double t, double end, bool all_of_them);
  bool leave_event(bool changed, bool first);
  void leave_beside_ode();
  [[nodiscard]] double next_event() const;
  // Events that an importer handles.
  StepEnd step_to_event(double t, double h);
  [[nodiscard]] double end_of_communication_step(double t, double h) const noexcept;
  [[nodiscard]] bool arrived(double end) const noexcept;
  void handle_event_inside();
  void open_event();
  void exchange_at_event();
  [[nodiscard]] EventIteration event_iteration();
  [[nodiscard]] SavedEvents saved_events() const;
  void restore_events(const SavedEvents&);

  void exit_initialization(Index part);
  void probe_feedthrough(const DeniedFeedthrough&, std::vector<FoundFeedthrough>&);
  void exchange_denied(const DeniedFeedthrough&, std::vector<FoundFeedthrough>&);
  [[nodiscard]] std::int64_t needed_substeps(const SubstepTrial&);
  void show_end(const std::string& part, double t);
  void note_changes(Index part);
  [[nodiscard]] std::optional<double> end_of(const Outcome&, double t) const;
  void check(const Outcome&, double t) const;
  [[nodiscard]] std::string explain(const Outcome&, double t) const;
  [[nodiscard]] IntegrationStopped stopped(const Outcome&, double t) const;

  // The largest number of early returns in one macro step.
  static constexpr int most_returns = 100;

  const Kind kind_;
  const EventUse use_;
  const std::string resources_;
  Plan plan_;
  Log& log_;
  IterateLog* iterate_log_ = nullptr;
  Libraries libraries_;
  std::vector<std::unique_ptr<Part>> parts_;
  std::vector<Environment> environments_;  // of adopted parts
  std::unique_ptr<Stimuli> stimuli_;
  Sample sample_;
  std::vector<Iterate> iterates_;  // of loops, which are not logged yet
  std::shared_ptr<Kernel> kernel_;
  std::shared_ptr<Kernel> inside_;           // of an ODE beside other parts
  std::unique_ptr<RunningOde> ode_;          // of initialized parts; it belongs to its kernel
  std::unique_ptr<OdeComponent> component_;  // the ODE beside other parts, as the kernel steps it

  Experiment experiment_;
  mutable DecimalTimes times_;  // of the grid
  Phase phase_ = Phase::instantiated;
  GivenValues given_;  // parameters that the importer has set
  std::vector<Step> initialization_;
  std::map<Index, Beginning> beginnings_;  // of parts of FMI 1.0
  std::set<Slot> known_;                   // of what they were initialized with
  std::map<Slot, double> second_guesses_;
  std::vector<Index> loops_;               // by number in the plan: the kernel's
  std::vector<Index> loops_of_ode_;        // likewise, of the kernel of an ODE beside other parts
  std::map<Index, Index> loops_at_start_;  // likewise, of initialization mode
  Index everything_ = none;                // the schedule that evaluates all
  std::optional<MacroSteps> steps_;
  double now_ = 0.0;
  bool changed_ = false, jumps_ = false;
  bool adopts_ = false;  // the parts are somebody else's
  std::vector<SolvedLoop> solved_;
  std::vector<Refusal> refused_guesses_;
  bool ended_ = false;             // by a part, inside of the last step
  std::set<Index> noted_;          // parts whose changes of the floating-point environment were told
  GivenValues tuned_;              // those that parts in event mode, or integrated ones, are given at the next event
  std::set<Index> retuned_;        // parts in which something was set since the last evaluation
  std::vector<Index> outputs_of_;  // by part: the schedule that gets its outputs
  std::size_t segment_ = 0;        // of tables: so many jumps are done
  std::map<Slot, ToldRates> told_rates_;
  std::map<Slot, double> input_reaches_;  // of inputs that have run over the last step: how far they may be set off
  std::size_t contents_limit_ = 0;        // [bytes]; what the first step leaves is the first measure

  // Of parts in event mode.
  std::vector<StepReport> reports_;              // by part; the last is that of an ODE beside them
  std::unique_ptr<EventMembers> events_;         // of an ODE alone, too
  std::unique_ptr<EventMembers> events_of_ode_;  // beside other parts, in its own kernel after initialization mode
  std::optional<ZenoDetector> chatter_;
  std::unique_ptr<Checkpoint> checkpoint_;
  Index outputs_ = none;  // the schedule that gets all outputs
  // Where the importer handles events: the present one, and whether it needs no other event iteration; clocks that have
  // ticked inside of a step; the present communication step.
  std::optional<EventIteration> event_;
  bool event_settled_ = false;
  int rounds_ = 0;
  std::set<ClockPlace> untold_;
  std::optional<CommunicationStep> communication_step_;
};

}  // namespace ssptool::runtime
