// A system during a simulation: its parts are coupled as in `ssptool run`, by the same kernel with the same calls.
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

// Maximum number of macro steps in one call of the kernel.
inline constexpr std::int64_t at_once = 256;

// Interface for an importer: a system that does its own steps, or one that the importer integrates.
enum class Kind { co_simulation, model_exchange };

// Features that an importer of co-simulation uses (FMI 3.0, fmi3InstantiateCoSimulation).
struct EventUse {
  bool event_mode = false, early_return = false;
};

// Result of a communication step.
struct StepEnd {
  bool event = false, early = false;
};

// A loop in initialization, with its iterates if it was not solved.
struct SolvedLoop {
  Index number;
  Solution solution;
  std::vector<Iterate> iterates;
};

// Rows of macro steps and events: the number of filled rows, the iterations of each step, the number of steps that were
// done individually, and the number of steps that were taken back because of their error. If the outcome is not good,
// it is that of the next step, between two times [s]; `rescuing`: it is that of a loop for which more robust methods
// were tried. `unobserved`: outcome and time of the first row for which a variable could not be got.
struct Stretch {
  std::int64_t steps = 0, events = 0, alone = 0, rejected = 0;
  std::vector<std::int64_t> iterations;
  Outcome outcome;
  double from = 0.0, to = 0.0;
  bool rescuing = false;
  std::optional<std::pair<Outcome, double>> unobserved;
  bool unsampled = false;  // a driving function returned no value
};

// All functions throw Refused or IntegrationStopped, or another std::exception for internal errors.
class System {
 public:
  // Loads and instantiates the parts, which are in folders below `resources`.
  System(const std::string& resources, Log&, bool logging, Kind, EventUse);
  // For parts that others instantiate, reset, terminate and free; they are adopted for each run.
  System(Plan, Log&);
  System(const System&) = delete;
  System& operator=(const System&) = delete;
  ~System();

  void set_up(const Experiment& experiment) { experiment_ = experiment; }
  void enter_initialization();
  void exit_initialization();

  // For a run with adopted parts, before initialization mode.
  void adopt(Index part, FunctionTable, fmi::Component);
  // Instance environment with which a part must be instantiated that requests inputs inside a step.
  [[nodiscard]] Environment& environment(Index part) { return environments_.at(part); }
  // Receives iterates from now on; null: no logging.
  void log_iterates(IterateLog* log) noexcept { iterate_log_ = log; }
  void state_stimuli(std::unique_ptr<Stimuli> stimuli) { stimuli_ = std::move(stimuli); }
  // Sets the functions that drive inputs; without this call there are none.
  void sample_with(Sample sample) { sample_ = std::move(sample); }
  void state_starts(Index part, std::vector<VariableSet>);
  void begin();
  // Initializes all parts; afterwards they have left initialization mode.
  void initialize();
  // Evaluates their outputs after that, including loops.
  void first_point();
  // At the first point: outputs that change with an input although they are declared not to, in the order of `denied`.
  [[nodiscard]] std::vector<FoundFeedthrough> undeclared_feedthrough(const std::vector<DeniedFeedthrough>&);
  // At the first point: the number of substeps that parts need in a macro step; 0 if none of those tried is sufficient.
  [[nodiscard]] std::vector<std::int64_t> needed_substeps(const std::vector<SubstepTrial>&);
  // Prepares the first step.
  void couple();
  // Must be called after it: derivatives of interfaces that Newton's method may use, by iteration.
  void know(const std::vector<PlannedInterface>&);
  // Continues a saved run. Replaces `initialize` and `first_point`, after the states of the parts have been restored;
  // everything else is as in the saved run after `couple` and `integrate`. Throws std::runtime_error or
  // std::invalid_argument for a state of another system.
  void resume(const SystemState&);
  void go_on(const SystemState&);
  [[nodiscard]] double end_of_segment() const noexcept;
  // Handles the event at the start, if parts are in event mode.
  void first_event();
  // Between steps: calls `act`, which changes parts in event mode; `of_ode`: parts of an ODE with its own events.
  void intervene(const std::function<void()>& act, bool of_ode);
  // Evaluates everything that depends on changes of these parts; earlier points are not used for extrapolation any
  // more.
  void follow(const std::vector<Index>& parts);
  // Sets the present time [s] of a run that consists only of an ODE.
  void stand_at(double t) noexcept { now_ = t; }
  // Does steps and events from the present time on, as many as there is room for rows, up to `limit` [s] or the stop
  // time. Exceptions refer to the time at which the next step starts.
  void run(Stretch&, double limit, std::span<double> rows);
  // Evaluates a schedule at the present instant, with more robust methods for loops that need them.
  Outcome evaluate(Index schedule) { return steps_->evaluate(schedule); }
  // Whether the stop time is reached within rounding, and all events there have been handled.
  [[nodiscard]] bool finished() const;
  // Steps whose sizes follow from errors or energy residuals; create them after `couple`, and destroy them before
  // states are released.
  [[nodiscard]] std::unique_ptr<VaryingSteps> double_steps(const PlannedSizes&);
  [[nodiscard]] std::unique_ptr<VaryingSteps> steps_by_defects(const PlannedSizes&);
  [[nodiscard]] std::unique_ptr<VaryingSteps> steps_by_energy(const PlannedEnergy&);
  void run(VaryingSteps&, Stretch&, double limit, std::span<double> rows);
  [[nodiscard]] bool finished(const VaryingSteps&) const;
  // Must be called before the parts are freed, because they own the states.
  void release_states() noexcept;
  // Data for messages: the kernel of the present run; whether a part has been initialized; loops in initialization;
  // loops in steps that needed more robust methods; refusals of first guesses.
  [[nodiscard]] const std::shared_ptr<Kernel>& kernel() const noexcept { return kernel_; }
  [[nodiscard]] bool initialized(Index part) const { return parts_.at(part)->initialized(); }
  [[nodiscard]] const std::vector<SolvedLoop>& solved() const noexcept { return solved_; }
  [[nodiscard]] const std::vector<Index>& loops() const noexcept { return loops_; }
  [[nodiscard]] RescueWork rescue_work() const noexcept { return steps_ ? steps_->work() : RescueWork{}; }
  [[nodiscard]] const std::vector<Refusal>& refused_guesses() const noexcept { return refused_guesses_; }
  // After `couple`: the ODE of the model exchange parts, with the settings of this run.
  RunningOde& integrate(OdeOfRun&);
  // For an ODE next to other parts: its kernel after `first_point`, with the loops in it; the first instant, after
  // `integrate`; an event at the present time, because of signals that it receives at events only (throws as `run`).
  [[nodiscard]] const std::shared_ptr<Kernel>& inside() const noexcept { return inside_; }
  [[nodiscard]] const std::vector<Index>& loops_of_ode() const noexcept { return loops_of_ode_; }
  [[nodiscard]] OdeComponent& component() const noexcept { return *component_; }
  void begin_beside(OdeOfRun&);
  void react(OdeOfRun&);
  [[nodiscard]] const Plan& plan() const noexcept { return plan_; }
  // Steps that a part has ended early, although it may not; the rest of the step was done by this part alone.
  [[nodiscard]] double resumed(Index part) const { return reports_.at(part).resumed; }
  // Does macro steps until t + h [s]; the last one may be shortened. In event mode, they also end at events.
  StepEnd step(double t, double h);
  // Whether a part has requested the end of the simulation in the last step.
  [[nodiscard]] bool asks_to_end() const noexcept;
  void terminate();
  void reset();
  void log_from_now_on(bool on);

  // Evaluates everything that depends on values that were set.
  void settle();

  // Event mode; afterwards an importer continues with steps, or with continuous-time mode.
  [[nodiscard]] bool uses_event_mode() const noexcept { return use_.event_mode; }
  void enter_event_mode();
  DiscreteUpdate update_discrete_states();
  void leave_event_mode();
  // Clocks of the system by value reference, in event mode.
  [[nodiscard]] const SystemClock& clock(std::size_t reference) const;
  void set_clock(std::size_t reference, bool active);
  [[nodiscard]] bool clock_ticks(std::size_t reference);

  // For model exchange, after initialization.
  [[nodiscard]] ContinuousSystem& continuous() { return *ode_->continuous; }
  void set_time(double t);
  [[nodiscard]] std::size_t states() const noexcept;
  [[nodiscard]] std::size_t indicators() const noexcept;

  // Variables by value reference.
  [[nodiscard]] const SystemVariable& variable(std::size_t reference) const;
  // Gets as many values as the variable has elements. Before initialization mode, these are start values or values that
  // were set.
  void get(std::size_t reference, std::span<Value>);
  void set(std::size_t reference, std::span<const Value>);
  // Sets the derivative of order 1 or 2 of an input, from the present communication point to the next.
  void set_rate(std::size_t reference, int order, double rate);

  // Directional derivatives of outputs by inputs at the present instant; arrays with all their elements.
  [[nodiscard]] std::vector<double> directional(std::span<const fmi::Reference> unknowns,
                                                std::span<const fmi::Reference> knowns, std::span<const double> seed);

  // The complete state; it is valid until it is released.
  [[nodiscard]] std::unique_ptr<SystemState> save();
  void restore(const SystemState&);
  void release(const SystemState&) noexcept;
  [[nodiscard]] std::string serialized(const SystemState&);
  [[nodiscard]] std::unique_ptr<SystemState> deserialized(const std::string& bytes);

  // The grid of communication points.
  [[nodiscard]] TimeGrid grid() const noexcept {
    if (!times_.are(experiment_.start, plan_.step)) times_ = {experiment_.start, plan_.step};
    return {experiment_.start, plan_.step, times_};
  }
  [[nodiscard]] double time() const noexcept { return now_; }
  // Within rounding.
  [[nodiscard]] bool is_at(double t) const noexcept;
  [[nodiscard]] const std::string& token() const noexcept { return plan_.token; }

 private:
  [[nodiscard]] Experiment planned_experiment() const;
  // A step of a schedule as the kernel has it: a schedule of calls, or the number of a loop.
  struct Step {
    bool is_loop;
    Index number;
  };
  // A part without initialization mode, and the inputs with which it was initialized.
  struct Beginning {
    Wires::Set wires = Wires::empty_set;
    bool begun = false, outdated = false;
    std::map<Slot, Value> with{};
    std::vector<std::pair<PartVariable, std::vector<Value>>> given{};  // by an importer, in order
  };
  void require_own_instance(Part&) const;
  void start_over();
  void build_kernel();
  [[nodiscard]] Member member_of(Part&);
  // With the texts of this kernel.
  [[nodiscard]] SlotContents contents(const std::vector<double>& values, const Kernel&) const;
  [[nodiscard]] std::vector<double> values_of(const SlotContents&, Kernel&) const;
  [[nodiscard]] static std::vector<SavedLoop> saved_loops(const std::vector<Index>& loops, Kernel&);
  static void restore_loops(const std::vector<SavedLoop>&, const std::vector<Index>& loops, Kernel&);
  [[nodiscard]] SavedOde save_ode();
  void require_fitting(const SystemState&) const;
  void restore_ode(const SavedOde&);
  // Values of arrays of parts that were set before initialization mode, by part and reference.
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
  // Passes on values from these parts, in which something was set.
  void propagate(std::vector<Index>& waiting);
  [[nodiscard]] Refused endless(const std::vector<Index>& changed, const std::vector<int>& times) const;
  void guess();
  void make_consistent();
  // For parts of FMI 1.0.
  void settle_without_mode();
  void begin(Index part);
  void begin_along_the_schedule(LoopMethod);
  void set_starts(Index part);
  std::vector<std::string> renew();
  void initialize(Index part, const std::map<Slot, Value>& inputs);
  [[nodiscard]] std::map<Slot, Value> inputs_of(Index part) const;
  [[nodiscard]] std::map<Slot, Value> inputs_within(Index part, const std::map<Slot, Value>& set);
  static std::vector<Step> prepared(const Schedule&, Kernel&);
  // Does calls, and solves loops by a method, in initialization mode.
  void walk(const std::vector<Step>&, LoopMethod);
  // Does calls, solves loops and registers them for schedules: number in the plan → the kernel's number.
  void visit(const Schedule&, Kernel&, std::vector<Index>& loops);
  void solve(Index number, Index loop, LoopMethod, Kernel&);
  void register_loops();
  void register_loops(const Schedule&, Kernel&, std::vector<Index>& loops) const;
  static Index registered(const Schedule&, Kernel&, const std::vector<Index>& loops);
  // For co-simulation; events of an ODE without other parts belong to its integration.
  [[nodiscard]] bool steps_end_at_events() const noexcept {
    return events_ != nullptr && !(plan_.ode && plan_.ode->alone);
  }
  // Whether the ODE next to other parts takes part in their events; otherwise it has its own.
  [[nodiscard]] bool with_ode() const noexcept {
    return component_ != nullptr && events_ != nullptr && plan_.at_events->with_ode;
  }
  [[nodiscard]] bool ode_apart() const noexcept { return component_ != nullptr && !with_ode(); }
  // Time events of an ODE with its own events: whether one is due at the present communication point; time of the next
  // [s].
  [[nodiscard]] bool time_event_of_ode() const noexcept { return ode_apart() && component_->time_event_due(); }
  [[nodiscard]] double timer_of_ode() const noexcept;
  // The same if steps end at them.
  [[nodiscard]] double next_of_ode() const noexcept { return ends_at_timers() ? timer_of_ode() : HUGE_VAL; }
  // False if FMUs allow only one step size.
  [[nodiscard]] bool ends_at_timers() const noexcept { return plan_.ode && plan_.ode->ends_steps; }
  // The last point that whole steps can reach in one call.
  [[nodiscard]] std::int64_t whole_until(double limit) const noexcept {
    return grid().whole_until(std::min(limit, timer_of_ode()));
  }
  void handle_event_of_ode();
  [[nodiscard]] OdeSystem::Schedules schedules_of_ode();
  [[nodiscard]] EventMembers& members_of_ode() noexcept { return component_ != nullptr ? *events_of_ode_ : *events_; }
  [[nodiscard]] IntegrationSettings integration_settings() const;
  class StimuliOfOde;
  void drive(OdeOfRun&);
  // Finishes an evaluation that has stopped at a loop; returns the reason if it cannot be finished.
  [[nodiscard]] std::optional<IntegrationStopped> rescued(OdeOfRun&, Index schedule, double t);
  void make_ode();
  void begin_ode();
  [[nodiscard]] Kernel& kernel_of_ode() noexcept { return inside_ != nullptr ? *inside_ : *kernel_; }
  void build_kernel_of_ode();
  void begin_inside();
  void attach_with_rows(OdeOfRun&);
  void jump_of_ode();
  // Sets parameters in event mode.
  void tune();
  void set_tuned();
  // Handles events of an ODE next to other parts that are caused by signals which it receives at events only.
  void react_of_ode();
  void accept_event();

  // Registers the tables that drive inputs.
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

  // Sets inputs to vary according to their derivatives.
  void follow_inputs(double end);
  void leave_inputs();
  [[nodiscard]] bool goes_on(Slot, double before) const;

  void step_to(double end);
  void jump();
  // Evaluates outputs of parts whose parameters were set.
  void refresh_outputs();

  void integrate(double end);
  [[nodiscard]] bool is_driven() const noexcept;

  // 1 if an ODE next to other parts reacts to each step.
  [[nodiscard]] std::int64_t most_at_once() const noexcept {
    return component_ != nullptr && component_->takes_event_signals() ? 1 : at_once;
  }
  void whole_steps(std::int64_t first, std::int64_t count);
  [[nodiscard]] std::span<double> rows_left(const Stretch&, std::span<double> rows) const;
  void step_on_the_grid(Stretch&, double end, std::span<double> rows);
  void whole_rows(Stretch&, std::int64_t first, std::span<double> rows);
  void kernel_alone(Stretch&, std::int64_t first, std::span<double> rows);
  void one_row(Stretch&, double limit, std::span<double> row);
  // Does something, given room for rows; returns false if there is nothing to do.
  using GoOn = std::function<bool(std::span<double> left)>;
  void go_along(Stretch&, std::span<double> rows, const GoOn&);
  [[nodiscard]] bool go_on(Stretch&, double limit, std::span<double> rows);
  void row_of_jump(Stretch&, std::span<double> rows);
  // The next time at which something happens for all parts [s].
  [[nodiscard]] double next_stop() const noexcept { return std::min(end_of_segment(), next_of_ode()); }
  // Passes on the collected iterates of loops, with this time [s].
  void log_iterates(double t);
  void log_iterates(std::vector<Iterate>&, const std::vector<Index>& loops, double t) const;
  // Calls `act` and passes on its iterates, with the present time.
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
  // Returns whether the event had any visible effect.
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

  // Maximum number of early returns in one macro step.
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
  std::vector<Iterate> iterates_;  // of loops, not yet logged
  std::shared_ptr<Kernel> kernel_;
  std::shared_ptr<Kernel> inside_;           // of an ODE next to other parts
  std::unique_ptr<RunningOde> ode_;          // for initialized parts; belongs to its kernel
  std::unique_ptr<OdeComponent> component_;  // the ODE next to other parts, as the kernel steps it

  Experiment experiment_;
  mutable DecimalTimes times_;  // of the grid
  Phase phase_ = Phase::instantiated;
  GivenValues given_;  // parameters that the importer has set
  std::vector<Step> initialization_;
  std::map<Index, Beginning> beginnings_;  // for parts of FMI 1.0
  std::set<Slot> known_;                   // inputs with which they were initialized
  std::map<Slot, double> second_guesses_;
  std::vector<Index> loops_;               // by number in the plan: the kernel's number
  std::vector<Index> loops_of_ode_;        // the same, in the kernel of an ODE next to other parts
  std::map<Index, Index> loops_at_start_;  // the same, in initialization mode
  Index everything_ = none;                // the schedule that evaluates everything
  std::optional<MacroSteps> steps_;
  double now_ = 0.0;
  bool changed_ = false, jumps_ = false;
  bool adopts_ = false;  // the parts belong to others
  std::vector<SolvedLoop> solved_;
  std::vector<Refusal> refused_guesses_;
  bool ended_ = false;             // by a part, inside the last step
  std::set<Index> noted_;          // parts whose changes of the floating-point environment were reported
  GivenValues tuned_;              // to be set at the next event, in parts in event mode or integrated ones
  std::set<Index> retuned_;        // parts in which something was set since the last evaluation
  std::vector<Index> outputs_of_;  // by part: the schedule that gets its outputs
  std::size_t segment_ = 0;        // of tables: number of jumps done
  std::map<Slot, ToldRates> told_rates_;
  std::map<Slot, double> input_reaches_;  // inputs that varied over the last step: limit of a continuous change
  std::size_t contents_limit_ = 0;        // [bytes]; set by the first step

  // Of parts in event mode.
  std::vector<StepReport> reports_;              // by part; the last is that of an ODE next to them
  std::unique_ptr<EventMembers> events_;         // also for an ODE without other parts
  std::unique_ptr<EventMembers> events_of_ode_;  // next to other parts, in its own kernel after initialization
  std::optional<ZenoDetector> chatter_;
  std::unique_ptr<Checkpoint> checkpoint_;
  Index outputs_ = none;  // the schedule that gets all outputs
  // If the importer handles events: the present event, and whether it needs no further iteration; clocks that have
  // ticked inside a step; the present communication step.
  std::optional<EventIteration> event_;
  bool event_settled_ = false;
  int rounds_ = 0;
  std::set<ClockPlace> untold_;
  std::optional<CommunicationStep> communication_step_;
};

}  // namespace ssptool::runtime
