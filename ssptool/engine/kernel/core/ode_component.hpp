// An ODE in a system with co-simulation: an additional instance of the kernel of the system, which can be set back to
// the start of a step; OdeComponent of ode/component.py in C++.
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

// Slots of values that it exchanges with the other instances; both kernels have the same slots.
struct OdeExchange {
  std::vector<bool> moving;     // by input from others: has type Float64, and is not held
  std::vector<double> nominal;  // by input from others: usual size
  std::vector<Slot> received;   // all continuous inputs of its components
  std::vector<Slot> shown;      // their inputs and outputs, and signals exchanged at events only
  std::vector<Slot> event_signals,
      event_sources;                         // signals exchanged at events only, and sources of those from outside
  std::vector<bool> contents;                // by slot: contains the number of a text or of binary data
  std::vector<std::size_t> content_columns;  // the same for the columns of a row of the trace
  double start = 0.0, macro_step = 0.0;      // [s]
  bool hands_over = false;                   // its events are events of the whole system
};

// One side of an event inside the macro step that ends at `end` [s].
struct EventRow {
  double end;
  std::vector<double> row;
};

// Its state, without the internal states of its components.
struct OdeComponentState {
  IntegrationState position;
  InputPolynomials inputs;
  std::vector<double> signs;
  std::vector<std::string> clocks;
  std::vector<double> values;  // of its own slots, with which loop solvers continue
  double end = 0.0;            // of the last step [s]
};

// Functions of an FMI 3.0 co-simulation instance without variables, which the outer kernel calls. The inner kernel is
// separate; it has the same numbers for all instances and the same slots.
class OdeComponent {
 public:
  // `outside` is the kernel that steps the ODE.
  explicit OdeComponent(Kernel& outside) : outside_(outside) {}
  OdeComponent(const OdeComponent&) = delete;
  OdeComponent& operator=(const OdeComponent&) = delete;
  ~OdeComponent() = default;

  [[nodiscard]] static std::map<std::string, void*> functions();
  // Replaces all other functions; it does nothing.
  [[nodiscard]] static void* idle_function();
  // With a report, steps end at each event, which is then an event of the whole system.
  [[nodiscard]] InstanceTable table(StepReport* report);
  // For components whose steps do nothing and whose states are not saved, because the ODE does both.
  [[nodiscard]] static std::map<std::string, void*> idle(int fmi_major);

  void attach(OdeSystem&, OdeEvents&, Integration&, OdeExchange);
  // Makes a row of the present time [s] in the inner kernel; if it is empty, no rows are kept.
  std::function<std::vector<double>(double)> make_row;

  // Goes from initialized components in event mode to the first instant, or to the first event of the whole system.
  // Afterwards, exchanged values are in the outer kernel, also if this fails.
  void begin();
  // Every further step ends with this failure.
  void refuse_steps(const IntegrationStopped& stopped) { refusal_ = stopped; }

  // For the time t [s] at which a component has ended the simulation: makes exchanged values consistent in both
  // kernels.
  void show_end(double t);

  // Calls a function that changes the components in event mode; the consequences are in the outer kernel.
  void intervene(const std::function<void()>& action);
  // Whether signals from outside are accepted at events only.
  [[nodiscard]] bool takes_event_signals() const noexcept { return !exchange_.event_sources.empty(); }
  // Whether these have changed since the last event.
  [[nodiscard]] bool event_pending();

  // For events of the whole system.
  [[nodiscard]] double next_time() const noexcept { return integration_->next_time(); }
  // If it handles its events alone: whether there is a time event at a communication point, to be handled by
  // `intervene`.
  [[nodiscard]] bool time_event_due() const noexcept { return !refusal_ && integration_->time_event_due(); }
  // Whether it has an event at the present time of all others.
  [[nodiscard]] bool confirm(double now);
  void enter();
  [[nodiscard]] std::vector<Updated> update(double t) { return events_->update(t); }
  // Returns whether more has happened than that one of its indicators leaves zero.
  bool leave(bool changed, bool first);

  // Throws the failure of the last call of one of the functions.
  [[noreturn]] void rethrow() const;

  // Removes and returns the first one in a macro step that ends up to this time [s].
  [[nodiscard]] std::optional<EventRow> take_row(double until);
  [[nodiscard]] const std::deque<EventRow>& rows() const noexcept { return rows_; }
  void set_rows(std::deque<EventRow> rows) { rows_ = std::move(rows); }

  [[nodiscard]] const std::vector<double>& signs() const noexcept { return signs_; }
  [[nodiscard]] double end() const noexcept { return end_; }
  // For the last step: the indicators at its end, and its end [s].
  void go_on_from(std::span<const double> signs, double end);

  [[nodiscard]] OdeComponentState save(double t);
  void restore(const OdeComponentState&);
  // Saves the start of a step, in place of the previous state.
  void keep(fmi::State&);
  void go_back(fmi::State);
  void forget(fmi::State&) noexcept;

 private:
  // A saved position; the states of the components are saved only before the first event after it.
  struct Snapshot {
    OdeComponentState state;
    std::vector<fmi::State> inner;
    std::optional<double> event;  // time of that event [s]
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
  // Copies between both kernels.
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
  double end_ = 0.0;           // end of the last step [s]
  double stepping_to_ = 0.0;   // end of the present step [s]
  std::deque<EventRow> rows_;  // not yet taken
  bool made_ = false;          // the last row belongs to an event
  std::vector<Snapshot*> snapshots_;
  std::optional<IntegrationStopped> refusal_;
  std::exception_ptr failure_;
};

}  // namespace ssptool
