// An ODE beside co-simulation: one more instance of the kernel that couples, which can be set back to the start of a
// step: OdeComponent of ode/component.py as a C++ type.
#pragma once

#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "integration.hpp"

namespace ssptool {

// What it exchanges with the other instances, by slots, which are the same in both kernels.
struct OdeExchange {
  std::vector<bool> moving;                        // by input that others feed: of type Float64; others are held
  std::vector<double> nominal;                     // likewise: usual sizes
  std::vector<Slot> received;                      // all continuous inputs of its components
  std::vector<Slot> shown;                         // their inputs and outputs, and what they exchange at events only
  std::vector<Slot> event_signals, event_sources;  // the latter, and the sources of those that come from outside
  std::vector<bool> contents;                      // by slot: it has the number of a text, or of what is binary
  std::vector<std::size_t> content_columns;        // of a row of the trace: likewise
  double start = 0.0, macro_step = 0.0;            // [s]
  bool hands_over = false;                         // its events are those of the whole system
};

// A side of an event inside the macro step that ends at `end` [s].
struct EventRow {
  double end;
  std::vector<double> row;
};

// Where it is, but for the inner states of its components.
struct OdeComponentState {
  IntegrationState position;
  InputPolynomials inputs;
  std::vector<double> signs;
  std::vector<std::string> clocks;
  std::vector<double> values;  // of the slots inside, from which loop solvers go on
  double end = 0.0;            // of the last step [s]
};

// Functions of an FMI 3.0 instance of co-simulation without variables, called by the kernel outside. Inside is a kernel
// of its own, which knows all instances by the same numbers, and has the same slots.
class OdeComponent {
 public:
  // `outside` is the kernel that steps it.
  explicit OdeComponent(Kernel& outside) : outside_(outside) {}
  OdeComponent(const OdeComponent&) = delete;
  OdeComponent& operator=(const OdeComponent&) = delete;
  ~OdeComponent() = default;

  [[nodiscard]] static std::map<std::string, void*> functions();
  // For all other functions: it does nothing.
  [[nodiscard]] static void* idle_function();
  // With a report, steps end at each event, which is one of the whole system.
  [[nodiscard]] InstanceTable table(StepReport* report);
  // Of a component with steps that do nothing and states that are not saved: the ODE does both.
  [[nodiscard]] static std::map<std::string, void*> idle(int fmi_major);

  void attach(OdeSystem&, OdeEvents&, Integration&, OdeExchange);
  // Makes the row of the present time [s] inside; without it no rows are kept.
  std::function<std::vector<double>(double)> make_row;

  // From initialized components, which are in event mode, to the first instant, or to the first event of the whole
  // system. Then all that is exchanged is outside, also if that fails.
  void begin();
  // Every step ends with this from now on.
  void refuse_steps(const IntegrationStopped& stopped) { refusal_ = stopped; }

  // Where a component has ended the simulation, at t [s]: all that is exchanged follows, inside and outside.
  void show_end(double t);

  // Something is done to the components, in event mode; what follows from it is in the kernel outside.
  void intervene(const std::function<void()>& action);
  // Signals from outside are taken at events only.
  [[nodiscard]] bool takes_event_signals() const noexcept { return !exchange_.event_sources.empty(); }
  // They have changed since the last event.
  [[nodiscard]] bool event_pending();

  // In events of the whole system.
  [[nodiscard]] double next_time() const noexcept { return integration_->next_time(); }
  // Where it handles its events alone: a time event at a communication point, which is to be handled by `intervene`.
  [[nodiscard]] bool time_event_due() const noexcept { return !refusal_ && integration_->time_event_due(); }
  // Whether it has one where all others are now.
  [[nodiscard]] bool confirm(double now);
  void enter();
  [[nodiscard]] std::vector<Updated> update(double t) { return events_->update(t); }
  // Whether more has happened than that an own indicator leaves zero.
  bool leave(bool changed, bool first);

  // Throws what has ended the last call of one of the functions.
  [[noreturn]] void rethrow() const;

  // The first one of a macro step that ends until this time [s], which is taken out.
  [[nodiscard]] std::optional<EventRow> take_row(double until);
  [[nodiscard]] const std::deque<EventRow>& rows() const noexcept { return rows_; }
  void set_rows(std::deque<EventRow> rows) { rows_ = std::move(rows); }

  [[nodiscard]] const std::vector<double>& signs() const noexcept { return signs_; }
  [[nodiscard]] double end() const noexcept { return end_; }
  // Of the last step: the indicators at its end, and that [s].
  void go_on_from(std::span<const double> signs, double end);

  [[nodiscard]] OdeComponentState save(double t);
  void restore(const OdeComponentState&);
  // Where a step begins, in place of what was kept there.
  void keep(fmi::State&);
  void go_back(fmi::State);
  void forget(fmi::State&) noexcept;

 private:
  // Where it was; states of the components are kept before the first event after it only.
  struct Snapshot {
    OdeComponentState state;
    std::vector<fmi::State> inner;
    std::optional<double> event;  // the time of that event [s]
  };

  template <class Act>
  int guarded(const Act&) noexcept;
  static int do_step(void* own, double t, double h, bool, bool* event, bool* terminate, bool* early, double* reached);
  static int get_state(void* own, fmi::State* state);
  static int set_state(void* own, fmi::State state);
  static int free_state(void* own, fmi::State* state);

  void step(double t, double h);
  [[nodiscard]] std::optional<InputPolynomials> polynomials(double t) const;
  [[nodiscard]] bool continues(const InputPolynomials& before, const InputPolynomials& now) const;
  [[nodiscard]] double close(double t) const noexcept;
  void keep_inner_states();
  [[noreturn]] void cannot_restore(double t) const;
  void add_row(double t, RowOf);
  // Between the kernels.
  void copy(const SlotValues& from, SlotValues& to, const std::vector<Slot>&) const;
  [[nodiscard]] double copied(double value, const SlotValues& from, SlotValues& to) const;
  void read_inputs();
  void hold_inputs(double t);
  void read_event_signals();
  void write_event_signals();
  [[nodiscard]] SlotValues& inside() const noexcept { return system_->kernel().slot_values; }

  Kernel& outside_;
  OdeSystem* system_ = nullptr;
  OdeEvents* events_ = nullptr;
  Integration* integration_ = nullptr;
  OdeExchange exchange_;
  std::vector<double> signs_;  // indicators at the end of the last step
  double end_ = 0.0;           // of that [s]
  double stepping_to_ = 0.0;   // of the present one [s]
  std::deque<EventRow> rows_;  // not taken yet
  bool made_ = false;          // the last row, which is none of a communication point
  std::vector<Snapshot*> snapshots_;
  std::optional<IntegrationStopped> refusal_;
  std::exception_ptr failure_;
};

}  // namespace ssptool
