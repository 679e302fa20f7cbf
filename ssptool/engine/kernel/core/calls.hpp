// What is registered with a kernel once, to be done many times, and how that ends: calls.py as C++ types.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

namespace ssptool {

using Slot = std::size_t;
using Index = std::size_t;
// Indices as what is in every step has them: half the memory.
using Small = std::uint32_t;

inline constexpr std::size_t none = static_cast<std::size_t>(-1);

enum class Code { ok, fmi, loop, nonfinite, range, coupling, event, stopped };

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

struct Call {
  Index instance;
  std::vector<Slot> inputs, outputs;
};

struct SolveLoop {
  Index loop;
};

using CallOrLoop = std::variant<Call, SolveLoop>;

struct LoopCalls {
  std::vector<Slot> torn, frozen;
  std::vector<Call> body;
  std::vector<double> nominal;
  double rtol, atol;
  std::int64_t max_iterations;
  // For methods that solve a loop from afar.
  std::vector<double> minimum{}, maximum{};  // none at all: there are no bounds
  std::optional<std::vector<std::pair<Index, Index>>> pattern{};
  bool directional = false;
  double rounding = 0x1p-52;
};

enum class RuleKind { relaxation, aitken, secants, anderson, newton };

struct IterateRule {
  RuleKind kind = RuleKind::relaxation;
  double factor = 1.0;
  std::int64_t reuse = 0;
  double filter = 0.0;
  std::int64_t max_columns = 0;
  std::int64_t window = 0;
};

enum class MeasureKind { absolute, relative, residual_relative };

struct MeasureLimit {
  MeasureKind kind;
  double limit;
};

// Values over a step of inputs that can only be constant.
enum class HeldInputs { end, mean, mid_step, tried };

// What trial steps say of components whose inputs can only be constant: see Attempts::integrates.
enum class Trial : std::int64_t { none, integrates, steps };

struct IterationCalls {
  Index group, following, held, schedule;
  std::vector<Slot> unknowns;
  std::vector<double> nominal;
  int order, prediction;
  std::vector<MeasureLimit> measures;
  IterateRule rule;
  std::int64_t plain_iterations, max_iterations;
  bool retreats;
  HeldInputs held_inputs = HeldInputs::end;
  std::int64_t count = 0;
  bool newton = false;  // iterates a step in which the rule does not converge
  bool damps = false;   // inputs may be held at the end of a step: see damping.hpp
};

// Of steps with inputs held at their end: how many more there will be, how many the last time, how many steps ago.
struct DampingPhase {
  std::int64_t left = 0, length = 0, since = 0;
};

struct AcceptedSteps {
  double floor = 0.0;
  std::int64_t noisy = 0;
  double level = 0.0;
  std::int64_t signal = 0;
  double time = 0.0;
  std::int64_t damped = 0;
  double damped_from = 0.0;
  std::int64_t unrepeated = 0;
  double unrepeated_from = 0.0;
  std::int64_t failed = 0, failed_damped = 0;
  std::int64_t unconverged = 0;
  double residual = 0.0;
  std::int64_t open_signal = 0;
  double open_time = 0.0;
  bool grows = false;
  std::int64_t steps = 0, unplanned = 0;
  Trial trial = Trial::none;
  std::int64_t by_newton = 0;
  double by_newton_from = 0.0;
  std::int64_t ends = 0;  // steps with inputs held at their end
  double ends_from = 0.0;
  DampingPhase phase{};

  void note_noise(double t, double largest, std::size_t unknown) noexcept;
  void note_damped(double t) noexcept;
  void note_unrepeated(double t) noexcept;
  void note_newton(double t) noexcept;
  void note_end(double t) noexcept;
  void note_unconverged(double t, double largest, std::size_t unknown, bool growing) noexcept;
  // More steps were done otherwise than planned than are an exception.
  [[nodiscard]] bool too_many_unplanned() const noexcept;
};

// Columns one after the other, each of as many numbers as there are unknowns.
struct SecantMemory {
  std::vector<std::int64_t> columns;
  std::vector<double> changes, answers;
};

// Of Newton's method: whether differences have taken the place of derivatives, and the inverse that is kept (none:
// empty), row by row, with whether it took no step.
struct JacobianMemory {
  bool differences = false, free = false;
  std::vector<double> inverse{};
};

struct IterationMemory {
  bool given_up = false;
  std::vector<double> misses;
  SecantMemory secants;
  JacobianMemory jacobian{};
};

struct IterationReport {
  bool left_domain;
  double first, least, noise;
  std::size_t worst;
  bool stagnates, grows;
  bool escaped;
  std::vector<double> best, change;
  std::vector<double> judged;  // two numbers for each iterate
};

// Iterates of a step that a report tells of.
inline constexpr std::size_t judged_room = 400;

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
  ask,
  mid_step
};

struct Instruction {
  Op op;
  Index argument;
  int order;
};

}  // namespace ssptool
