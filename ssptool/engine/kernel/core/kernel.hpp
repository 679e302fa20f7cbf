// Values, instances, and the bulk operations on them. What each one promises is written in interface.py, and
// what it does in twin.py: the same arithmetic in the same order. Nothing is allocated while stepping.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <variant>
#include <vector>

#include "change.hpp"
#include "courses.hpp"
#include "instance.hpp"
#include "window.hpp"
#include "workers.hpp"

namespace ssptool {

using Index = std::size_t;

enum class Code { ok, fmi, loop, nonfinite, range, coupling, event };

struct Outcome {
  Code code = Code::ok;
  int instance = -1;
  const char* function = "";
  int fmi_status = 0;
  int loop = -1;
  int slot = -1;
  std::int64_t steps = 0;
  std::int64_t instruction = -1;
  std::int64_t iterations = 0;

  [[nodiscard]] bool ok() const noexcept { return code == Code::ok; }
};

struct Wire {
  Slot source, destination;
  double factor, offset;
  std::unordered_map<std::int64_t, std::int64_t> table;  // of integers
  Change at_source{}, at_destination{};                  // of integers; of doubles they are in factor and offset
};

// What is done at the ends of the wire that leads to this slot.
struct ActedWire {
  Slot destination;
  Change at_source, at_destination;
};

struct Call {
  Index instance;
  std::vector<Slot> inputs, outputs;
};

struct SolveLoop {
  Index loop;
};

struct LoopCalls {
  std::vector<Slot> torn, held;
  std::vector<Call> body;
  std::vector<double> nominal;
  double rtol, atol;
  std::int64_t max_iterations;
};

struct IterationCalls {
  Index group, following, held, sweep;
  std::vector<Slot> unknowns;
  std::vector<double> nominal;
  int order, prediction;
  double absolute, relative, relaxation;
  std::int64_t max_iterations;
  double growth;
};

enum class Op {
  exchange,
  hold,
  extrapolate,
  interpolate,
  advance,
  evaluate,
  accept,
  record,
  iterate,
  drive,
  save,
  forget
};

struct Instruction {
  Op op;
  Index argument;
  int order;
};

// Variables: slots, references, types and elements of the same rank belong together.
struct Variables {
  std::vector<Slot> slots;
  std::vector<fmi::Reference> references;
  std::vector<Type> types;
  std::vector<std::size_t> elements;  // the place in an array; 0 of scalars

  // What FMI functions take: of an array one.
  [[nodiscard]] std::vector<fmi::Reference> distinct() const {
    std::vector<fmi::Reference> found;
    for (std::size_t i = 0; i < references.size(); ++i)
      if (elements[i] == 0) found.push_back(references[i]);
    return found;
  }
};

// Those of one type.
Variables of_type(const Variables&, Type);

struct Member {
  InstancePointer instance;
  Variables inputs, outputs;
  StepReport* report = nullptr;
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

  Environment* make_environment();
  // The environment at this address; throws if it is none of this kernel.
  Environment* environment(void* address) const;

  // For its instances.
  [[nodiscard]] Memory& memory() noexcept { return memory_; }

  Index add(Member);
  void connect(const std::vector<Wire>&);
  Index group(std::vector<Index> instances);
  Index loop(const LoopCalls&);
  Index sweep(const std::vector<std::variant<Call, SolveLoop>>&);
  void record_slots(const std::vector<Slot>&);
  [[nodiscard]] std::size_t recorded() const noexcept { return recorded_.size(); }

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
  std::span<double> tolerance(Index iteration);
  // Of each step that the last run did.
  [[nodiscard]] std::span<const std::int64_t> iterations() const noexcept { return counts_; }

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

  struct Point {
    double t = 0.0;
    std::vector<double> values;
  };

  // Variables of an instance that are set or got together.
  struct Transfer {
    Instance* instance;
    Index index;  // of the instance
    RealAccess reals;
    std::vector<Slot> slots;
    std::vector<fmi::Reference> references;  // of an array one
    Window values;
  };

  // Wires between doubles; those of integers, which are few, apart.
  struct Wires {
    struct Linear {
      Slot source, destination;
      double factor, offset;
    };
    std::vector<Linear> linear;
    std::vector<Wire> integer;
  };

  struct ResolvedCall {
    Wires wires;
    Transfer inputs, outputs;  // of type Float64
    std::vector<Typed> typed_inputs, typed_outputs;
    bool typed;  // whether there are any, or wires of integers
    Window input_tangents, output_tangents;
  };

  // What a step needs of an ordinary instance, in one cache line and in the order of the instances. Ordinary are
  // scalars of type Float64 in consecutive slots; where that is not all there is, `special` is set and there is more to
  // do.
  struct alignas(cache_line) Stepper {
    Instance* instance;
    Motion motion;    // of the inputs of type Float64
    double* outputs;  // those of type Float64
    unsigned count;   // of them
    unsigned first;   // the place of their references in output_references_
    bool special;
  };

  // The whole of the same.
  struct StepParts {
    Window value, first, second;  // of the inputs of type Float64
    Transfer outputs;
    std::vector<Typed> typed_inputs, typed_outputs;

    // Inputs in scattered slots go where the motion has them.
    void gather() noexcept {
      if (value.scattered())
        for (Window* window : {&value, &first, &second}) window->read();
    }
  };

  struct Group {
    std::vector<Index> instances;
    Wires wires;
    std::vector<Slot> inputs, typed_inputs;
    std::vector<Failure> failures;  // of a step in parallel, by rank
    double seconds = 0.0;           // that its steps took one after the other, the shortest time of some
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
    std::vector<ResolvedCall> body;
    double rtol, atol;
    std::int64_t max_iterations;
    std::vector<double> chord;
    Slot open;  // the first torn slot that has not converged, or held one that changes
  };

  struct Iteration {
    IterationCalls calls;
    std::vector<double> x, tolerance;
  };

  // An instruction, checked and looked up.
  struct Task {
    Op op;
    int order;
    Index argument;
    Group* group;  // if the argument is one
    std::int64_t instruction;
  };

  static constexpr std::size_t unconnected = static_cast<std::size_t>(-1);

  void check_slot(Slot) const;
  ResolvedCall resolve(const Call&);
  void check_wire(const Wire&) const;
  Transfer transfer(Index instance, const Variables& floats);
  Stepper stepper(StepParts&, bool typed);
  Wires wires_into(const std::vector<Slot>&) const;
  void add_wire(Wires&, const Wire&) const;
  std::vector<Task> tasks(std::span<const Instruction> program);

  void copy(const Wires&) noexcept;
  void copy_linear(const Wires&) noexcept;
  void copy_integer(const Wire&) noexcept;
  void act(const ActedWire&);
  std::vector<Wires*> every_wires();
  void move(Slot, double value, double first, double second) noexcept;
  // Whether all went well; if not, outcome_ says what happened. Arguments were checked by the caller.
  bool set(Transfer&) noexcept;
  bool get(Transfer&) noexcept;
  bool set_typed(Index instance, std::vector<Typed>&, const std::vector<double>& cells) noexcept;
  bool get_typed(Index instance, std::vector<Typed>&) noexcept;
  bool perform(ResolvedCall&) noexcept;
  bool step(Index instance, double t, double h) noexcept;
  bool prepare(Index instance) noexcept;
  bool collect(Index instance) noexcept;
  void fetch(const Group&, std::size_t rank) const noexcept;
  void hold(const Group&) noexcept;
  void stay(const Group&, const std::vector<double>& cells) noexcept;
  bool step_all(Group&, double t, double h) noexcept;
  bool step_one_by_one(const Group&, double t, double h) noexcept;
  bool step_together(Group&, double t, double h) noexcept;
  bool step_in_parallel(Group&, double t, double h) noexcept;
  bool visit_all(Index sweep) noexcept;
  bool execute(const Task&, double t, double reached, double h, double* row);
  bool save_all(const Group&) noexcept;
  bool restore_all(const Group&) noexcept;
  void extrapolate(const Group&, int order) noexcept;
  void interpolate(const Group&, int order, double h) noexcept;
  void predict(Iteration&, double h) noexcept;
  bool iterate(Iteration&, double t, double h, bool first) noexcept;
  bool converge(Iteration&, double t, double h) noexcept;
  Iteration& checked_iteration(Index);
  bool evaluate_body(Loop&) noexcept;
  bool solve(Loop&) noexcept;
  [[gnu::cold]] bool unsolved(const Loop&) noexcept;
  [[nodiscard]] int number(const Loop& loop) const noexcept { return static_cast<int>(&loop - loops_.data()); }
  bool converged(Loop&) noexcept;
  std::size_t settle(Loop&) noexcept;
  // Cold, so that what leads there stays small enough to be inlined. They return false.
  [[gnu::cold]] bool failed(Index instance, const Failure&) noexcept;
  [[gnu::cold]] bool not_set(const Transfer&, int status) noexcept;
  [[gnu::cold]] bool not_got(const Transfer&, int status) noexcept;
  [[gnu::cold]] bool nonfinite(const Transfer&, std::size_t i) noexcept;
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
  std::vector<Stepper> steppers_;
  std::vector<StepParts> step_parts_;
  std::vector<fmi::Reference> output_references_;
  std::vector<bool> owned_, holds_integer_, driven_;
  Texts texts_;
  std::vector<Wire> wires_;
  std::vector<std::size_t> wire_into_;  // by destination slot: index into wires_
  Wires outer_wires_;                   // into slots of no instance
  // By destination: factor and offset as they were stated, of wires that have been acted on.
  std::unordered_map<Slot, std::pair<double, double>> unchanged_;
  Courses courses_;
  std::vector<DrivenInput> driven_inputs_;
  Wires driven_wires_;  // into them
  std::vector<Group> groups_;
  std::vector<Loop> loops_;
  std::int64_t loops_solved_ = 0, loop_iterations_ = 0;
  std::vector<Iteration> iterations_;
  std::vector<std::int64_t> counts_;
  std::vector<std::vector<std::variant<ResolvedCall, SolveLoop>>> sweeps_;
  std::vector<StepReport*> reports_;  // of instances in event mode
  Window recorded_;
  std::array<Point, ring> history_;  // see accepted()
  unsigned latest_ = 0;
  int accepted_ = 0;  // how many points of the history are filled
  std::unique_ptr<Workers> workers_;
  Outcome outcome_;  // of the last operation that failed
  std::vector<std::unique_ptr<Environment>> environments_;
};

}  // namespace ssptool
