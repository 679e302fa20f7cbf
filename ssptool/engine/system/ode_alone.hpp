// A run of a system that consists only of an ODE: rows at communication points, which are just a grid for its results,
// and at both sides of the events between them.
#pragma once

#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <span>
#include <vector>

#include "macro_steps.hpp"
#include "ode_of_run.hpp"

namespace ssptool::runtime {

// Result of a call: rows of communication points and of events, and numbers of events and evaluations of f. `waiting`:
// there are more rows than there was room for. A failure is an IntegrationStopped or a CallRefused; it is returned
// after all rows.
struct OdeBatch {
  std::int64_t rows = 0;
  std::vector<bool> points{};
  bool finished = false, waiting = false;
  std::int64_t events = 0, evaluations = 0;
  std::exception_ptr failure{};
  double t = 0.0;  // present time of the integration [s]
};

struct SavedAlone;

// Times start + k · step up to `stop` [s]; the last of the `steps` may be shorter.
struct CommunicationPoints {
  TimeGrid grid;
  double stop;
  std::int64_t steps;
};

// An error at the start is thrown by the first `run`.
class OdeAlone {
 public:
  // `everyone` is the group of all parts.
  OdeAlone(RunningOde&, OdeOfRun&, Index everyone, const CommunicationPoints&);
  OdeAlone(const OdeAlone&) = delete;
  OdeAlone& operator=(const OdeAlone&) = delete;
  ~OdeAlone() = default;

  // Goes from initialized parts to the first instant of continuous time.
  void begin();
  // Fills `rows` as far as possible, up to `limit` [s], where there is a row.
  OdeBatch run(double limit, std::span<double> rows);

  // Calls `act`, which changes the parts in event mode, at the time of the last row that was taken.
  void intervene(const std::function<void()>& act);
  [[nodiscard]] double reached() const noexcept { return reached_; }  // time of the last row that was taken [s]
  // `save` requires that no row is waiting. The state of the integration is saved and restored by the system. `go_on`
  // throws std::runtime_error for a state with other rows.
  [[nodiscard]] SavedAlone save() const;
  void go_on(const SavedAlone&);

 private:
  [[nodiscard]] Integration& integration() const noexcept { return *ode_.integration; }
  bool produce();
  void go_on();
  [[nodiscard]] bool stands() const noexcept;
  void end_at(const IntegrationStopped&);
  [[nodiscard]] std::vector<double> row(double t) { return row_of(ode_.system.kernel(), everyone_, t, run_.explain); }
  void count(OdeBatch&);

  RunningOde& ode_;
  OdeOfRun& run_;
  const Index everyone_;
  const CommunicationPoints points_;
  std::deque<std::vector<double>> rows_;  // not yet taken
  std::vector<double> last_;              // the last row that was taken
  double reached_;                        // time of the last row that was taken [s]
  std::int64_t point_ = 1;                // index of the next communication point
  double limit_;                          // [s]
  bool at_point_ = true;                  // the latest row belongs to a communication point
  std::exception_ptr failure_;
  std::int64_t events_ = 0, evaluations_ = 0;  // reported so far
};

}  // namespace ssptool::runtime
