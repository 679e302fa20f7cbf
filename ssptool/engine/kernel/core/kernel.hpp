// Values, instances, and the bulk operations on them. What each one promises is written in interface.py, and
// what it does in twin/: the same arithmetic in the same order. Nothing is allocated while stepping.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <variant>
#include <vector>

#include "access.hpp"
#include "calls.hpp"
#include "courses.hpp"
#include "instance.hpp"
#include "variables.hpp"
#include "window.hpp"
#include "wires.hpp"
#include "workers.hpp"

namespace ssptool {

struct Member {
  InstancePointer instance;
  Variables inputs, outputs;
  Variables observed;     // got for rows of the trace only
  bool refreshed = true;  // inputs are set before that
  StepReport* report = nullptr;
  bool apart = false;  // stepped by the thread that asks
};

class Kernel {
 public:
  Kernel(std::size_t slots, const std::vector<Slot>& integers);
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
  ~Kernel() = default;

  std::span<double> values() noexcept { return values_; }
  std::span<double> input_value() noexcept { return input_value_; }
  std::span<double> input_rates() noexcept { return input_rates_; }  // first derivatives, then second ones

  [[nodiscard]] Texts& texts() noexcept { return texts_; }

  // Where to write the start of each step [s], for others to read; null: nowhere.
  void report_time(double* place) noexcept { reported_time_ = place; }

  Environment* make_environment();
  // The environment at this address; throws if it is none of this kernel.
  Environment* environment(void* address) const;

  // For its instances.
  [[nodiscard]] Memory& memory() noexcept { return memory_; }

  Index add(Member);
  void connect(const std::vector<Wire>&);
  Index group(const std::vector<Index>& instances);
  Index loop(const LoopCalls&);
  Index sweep(const std::vector<std::variant<Call, SolveLoop>>&);
  void record_slots(const std::vector<Slot>&);
  [[nodiscard]] std::size_t recorded() const noexcept { return recorded_.size(); }

  // A row of 1 + recorded() numbers.
  Outcome record(double t, std::span<double> row);

  void courses(std::vector<std::vector<double>> axes, std::vector<Column>, std::vector<DrivenInput>);
  [[nodiscard]] Courses& courses() noexcept { return courses_; }
  void drive(double t, double h) noexcept;
  void act(const std::vector<ActedWire>&);

  void exchange(Index group);
  void hold(Index group);
  void extrapolate(Index group, int order);
  void interpolate(Index group, int order, double h);
  Outcome advance(Index group, double t, double h);
  Outcome evaluate(Index sweep);
  void accept(double t);
  void take_back();
  Outcome save(Index group);
  Outcome restore(Index group);
  void release() noexcept;
  void use_threads(std::size_t count);

  // `rows` holds `steps` rows of 1 + recorded() numbers.
  Outcome run(std::span<const Instruction> program, double start, double h, std::int64_t first, std::span<double> rows,
              std::int64_t steps);
  // `points` holds four numbers for each row.
  Outcome run_through(std::span<const Instruction> step, std::span<const Instruction> jump,
                      std::span<const double> points, std::span<double> rows);

  Index iteration(IterationCalls);
  Outcome iterate(Index iteration, double t, double h, bool first);
  std::span<double> guess(Index iteration);
  // Of each step that the last run did.
  [[nodiscard]] std::span<const std::int64_t> iterations() const noexcept { return counts_; }

  // Of this instance; null if there is none.
  Following* following(Index instance) noexcept {
    return instance < instances_.size() ? &instances_[instance]->following() : nullptr;
  }

  Outcome residual(Index loop, std::span<const double> x, std::span<double> g);
  Outcome jacobian_product(Index loop, std::span<const double> seed, std::span<double> product);
  bool settle(Index loop);
  // Of all loops in all sweeps: how often a solution was looked for, and the evaluations of bodies that this took.
  [[nodiscard]] std::int64_t loops_solved() const noexcept { return loops_solved_; }
  [[nodiscard]] std::int64_t loop_iterations() const noexcept { return loop_iterations_; }
  void set_chord(Index loop, std::span<const double> matrix);

 private:
  static constexpr int max_order = 2;
  static constexpr int points = max_order + 1;
  static constexpr unsigned ring = 4;  // room for them; a power of two, to find them without a division

  // Within a run its values may lie in a row of the trace; see keep().
  struct Point {
    double t = 0.0;
    const double* values = nullptr;
    std::vector<double> own;
  };

  // Of a step of an instance.
  struct alignas(cache_line) Stepper : QuickAccess {
    fmi::v2::DoStep* plain_step;  // of FMI 2.0 where all is plain and nothing driven, else null
  };

  // Through the last two accepted points.
  struct Line {
    const double *now, *before;
    double h;
  };

  // Slots that courses do not drive, by type.
  struct Inputs {
    std::vector<Small> floats, typed;
  };

  // The rest of it.
  struct StepParts {
    Window value, first, second;  // of the inputs of type Float64
    Motion motion;
    Inputs inputs;
    Transfer outputs;
    std::vector<Typed> typed_inputs, typed_outputs;

    // Inputs in scattered slots go where the motion has them.
    void gather() noexcept {
      if (value.scattered())
        for (Window* window : {&value, &first, &second}) window->read();
    }
  };

  // What is got of an instance for a row.
  struct Observed {
    Transfer inputs, floats;
    std::vector<Typed> typed_inputs, typed;
  };

  // Of a call at one instant, in a sweep or in the body of a loop.
  struct alignas(cache_line) QuickCall : QuickAccess {
    Small instance;
    Wires::Set wires;
  };

  // The whole of it.
  struct ResolvedCall {
    Transfer inputs, outputs;  // of type Float64
    std::vector<Typed> typed_inputs, typed_outputs;
    Window input_tangents, output_tangents;
  };

  // Places in calls_ and resolved_calls_.
  struct CallRange {
    Small first, end;
  };

  // Calls, and then a loop if there is one.
  struct SweepPart {
    CallRange calls;
    Index loop;
  };

  struct Group {
    std::vector<Small> instances;
    std::vector<Small> shared;  // places in `instances` of those that any thread may step
    Wires::Set wires;
    Inputs inputs;
    std::vector<Failure> failures;  // of a step in parallel, by place
    double seconds = 0.0;           // that the shared ones took one after the other, the shortest time of some
    int measured = 0;
  };

  struct Torn {
    Slot slot;
    double nominal;
    double x = 0.0, residual = 0.0;
    double first = 0.0;  // the x from which the present solution started
  };

  // An integer that is not iterated but kept; `found` is what it came out as at the last evaluation.
  struct Held {
    Slot slot;
    double found = 0.0;
  };

  struct Loop {
    std::vector<Torn> torn;
    std::vector<Held> held;
    CallRange body;
    double rtol, atol;
    std::int64_t max_iterations;
    std::vector<double> chord;
    Slot open;  // the first torn slot that has not converged, or held one that changes
  };

  struct Iteration {
    IterationCalls calls;
    std::vector<double> x;

    // What came out against what went in: how many times too large the difference is, and the difference in nominal
    // values.
    [[nodiscard]] double excess(std::span<const double> values) const noexcept;
    [[nodiscard]] double difference(std::span<const double> values) const noexcept;
  };

  // An instruction, checked and looked up.
  struct Task {
    Op op;
    int order;
    Index argument;
    Group* group;  // if the argument is one
    std::int64_t instruction;
    bool straight = false;  // ADVANCE: inputs are held at their present values; ACCEPT: the row is recorded as well
  };

  // Macro steps of equal size, and where their rows go.
  struct Grid {
    double start, h;
    std::int64_t first;
    double* rows;

    [[nodiscard]] double time(std::int64_t k) const noexcept { return start + static_cast<double>(first + k) * h; }
  };

  static constexpr std::size_t none = static_cast<std::size_t>(-1);

  void check_slot(Slot) const;
  CallRange resolve(const std::vector<Call>&);
  void resolve(const Call&);
  void check_wire(const Wire&) const;
  [[nodiscard]] Inputs inputs_of(Index instance) const;
  void add_stepper(Index instance);
  void add_observed(Index instance);
  Transfer transfer(Index instance, const Variables& floats);
  QuickAccess access(const Transfer& inputs, const Transfer& outputs, bool typed);
  Small place_of(const std::vector<fmi::Reference>&);
  std::vector<Task> tasks(std::span<const Instruction> program);
  [[nodiscard]] std::vector<Task> straight(const std::vector<Task>&);
  static bool covers(const std::vector<Task>&, const Group&);
  void prepare_straight(const Task&) noexcept;

  void move(Slot, double value, double first, double second) noexcept;
  // Whether all went well; if not, outcome_ says what happened. Arguments were checked by the caller.
  bool set(Transfer&) noexcept;
  bool get(Transfer&) noexcept;
  bool fetch(Transfer&) noexcept;  // the same, finite or not
  bool set_typed(Index instance, std::vector<Typed>&, const std::vector<double>& cells) noexcept;
  bool get_typed(Index instance, std::vector<Typed>&) noexcept;
  bool observe(Observed&) noexcept;
  bool record(double t, double* row) noexcept;
  bool perform(CallRange) noexcept;
  bool perform(ResolvedCall&) noexcept;
  bool pass_on(ResolvedCall&) noexcept;
  bool step(Index instance, double t, double h) noexcept;
  Failure move_on(Index instance, double t, double h) const noexcept;
  bool prepare(Index instance) noexcept;
  bool collect(Index instance) noexcept;
  void hold(const Inputs&) noexcept;
  void stay(const Inputs&, const double* cells) noexcept;
  // Of the macro step from t on: an FMU may have threads that read it, too.
  void report(double t) const noexcept {
    if (reported_time_ != nullptr) std::atomic_ref(*reported_time_).store(t, std::memory_order_relaxed);
  }
  bool step_all(Group&, double t, double h) noexcept;
  bool step_one_by_one(const Group&, double t, double h) noexcept;
  bool step_all_straight(const Group&, double t, double h) noexcept;
  bool step_straight(Stepper&, Index, const Line&, double t, double h) noexcept;
  bool follow(Stepper&, const Line&) noexcept;
  bool step_otherwise(Index instance, double t, double h) noexcept;
  [[gnu::cold]] bool retreat(Stepper&, Index, const Failure&, double t, double h) noexcept;
  bool step_together(Group&, double t, double h) noexcept;
  bool step_measured(Group&, double t, double h) noexcept;
  bool step_in_parallel(Group&, double t, double h) noexcept;
  std::size_t step_apart(const Group&, double t, double h) noexcept;
  bool visit_all(Index sweep) noexcept;
  bool execute(const Task&, double t, double reached, double h, double* row);
  Outcome repeat(const std::vector<Task>&, const Grid&, std::int64_t begin, std::int64_t end);
  [[gnu::cold]] Outcome stopped(std::int64_t steps, const Task&) noexcept;
  void finish(const Outcome&);
  Point& new_point(double t) noexcept;
  void keep(double t, double* row) noexcept;
  void leave_rows() noexcept;
  bool save_all(const Group&) noexcept;
  bool restore_all(const Group&) noexcept;
  void extrapolate(const Inputs&, int order) noexcept;
  void on_lines(const std::vector<Small>& inputs, const Point& now, const Point& before) noexcept;
  void on_parabolas(const std::vector<Small>& inputs, const Point& now, const Point& before,
                    const Point& oldest) noexcept;
  void interpolate(const Inputs&, int order, double h) noexcept;
  void predict(Iteration&, double h) noexcept;
  bool iterate(Iteration&, double t, double h, bool first) noexcept;
  bool converge(Iteration&, double t, double h) noexcept;
  Iteration& checked_iteration(Index);
  bool evaluate_body(Loop&) noexcept;
  bool solve(Loop&) noexcept;
  static void correct(Loop&) noexcept;
  [[gnu::cold]] bool unsolved(const Loop&) noexcept;
  [[nodiscard]] int number(const Loop& loop) const noexcept { return static_cast<int>(&loop - loops_.data()); }
  bool converged(Loop&) noexcept;
  std::size_t settle(Loop&) noexcept;
  // Cold, so that what leads there stays small enough to be inlined. They return false.
  [[gnu::cold]] bool failed(Index instance, const Failure&) noexcept;
  [[gnu::cold]] bool not_set(Index instance, int status) noexcept;
  [[gnu::cold]] bool not_got(Index instance, int status) noexcept;
  [[gnu::cold]] bool nonfinite(Index instance, const char* function, Slot) noexcept;
  [[gnu::cold]] bool nonfinite(const QuickAccess&, Index instance) noexcept;
  [[nodiscard]] bool returned_before(double end) const noexcept;
  [[nodiscard]] bool event_wanted() const noexcept;
  [[nodiscard]] const Group& checked_group(Index) const;
  [[nodiscard]] Group& checked_group(Index);
  Outcome result(bool ok) const noexcept { return ok ? Outcome{} : outcome_; }

  // The k-th latest accepted point.
  [[nodiscard]] Point& accepted(unsigned k) noexcept { return history_[(latest_ + k) % ring]; }

  std::vector<double> values_, input_value_, input_rates_, tangent_;
  Memory memory_;  // ends after members_
  std::vector<Member> members_;
  std::vector<Instance*> instances_;  // those of the members
  std::vector<Stepper> steppers_;
  std::vector<StepParts> step_parts_;
  std::vector<fmi::Reference> references_;
  std::map<std::vector<fmi::Reference>, Small> known_references_;  // their places in references_
  std::vector<bool> owned_, holds_integer_, driven_;
  Texts texts_;
  Wires wires_;
  std::vector<Slot> outer_;  // slots of no instance to which wires lead
  Wires::Set outer_wires_ = Wires::empty_set;
  Courses courses_;
  std::vector<DrivenInput> driven_inputs_;
  Wires::Set driven_wires_ = Wires::empty_set;  // into them
  std::vector<Group> groups_;
  std::vector<QuickCall> calls_;
  std::vector<ResolvedCall> resolved_calls_;
  std::vector<Loop> loops_;
  std::int64_t loops_solved_ = 0, loop_iterations_ = 0;
  std::vector<Iteration> iterations_;
  std::vector<std::int64_t> counts_;  // of iterations in each step of the last run
  std::size_t step_ = 0;              // the present one
  std::vector<std::vector<SweepPart>> sweeps_;
  std::vector<StepReport*> reports_;  // of instances in event mode
  std::vector<Observed> observed_;
  Window recorded_;
  bool records_everything_ = false;  // each slot, in order
  std::array<Point, ring> history_;  // see accepted()
  unsigned latest_ = 0;
  int accepted_ = 0;  // how many points of the history are filled
  std::unique_ptr<Workers> workers_;
  Outcome outcome_;  // of the last operation that failed
  double* reported_time_ = nullptr;
  std::vector<std::unique_ptr<Environment>> environments_;
};

}  // namespace ssptool
