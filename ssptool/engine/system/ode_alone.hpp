// A run of a system that is nothing but an ODE: rows of communication points, which are only a grid of its results, and
// of both sides of events between them.
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

// Rows that were made, of communication points or of events; events and evaluations of f meanwhile. `waiting`: there
// are rows for which there was no room. A failure is an IntegrationStopped or a CallRefused, and comes after all rows.
struct OdeBatch {
  std::int64_t rows = 0;
  std::vector<bool> points{};
  bool finished = false, waiting = false;
  std::int64_t events = 0, evaluations = 0;
  std::exception_ptr failure{};
  double t = 0.0;  // where the integration is [s]
};

struct SavedAlone;

// start + k · step until `stop` [s], in so many steps, the last of which may be shorter.
struct CommunicationPoints {
  TimeGrid grid;
  double stop;
  std::int64_t steps;
};

// What goes wrong at the start comes out of the first `run`.
class OdeAlone {
 public:
  // `everyone` is the group of all parts.
  OdeAlone(RunningOde&, OdeOfRun&, Index everyone, const CommunicationPoints&);
  OdeAlone(const OdeAlone&) = delete;
  OdeAlone& operator=(const OdeAlone&) = delete;
  ~OdeAlone() = default;

  // From initialized parts to the first instant of continuous time.
  void begin();
  // As many rows as there is room for, none of them beyond `limit` [s], at which there is one.
  OdeBatch run(double limit, std::span<double> rows);

  // Something is done to the parts, in event mode, where the last row that was taken is.
  void intervene(const std::function<void()>& act);
  [[nodiscard]] double reached() const noexcept { return reached_; }  // by rows that were taken [s]
  // With no row waiting. The integration is led there by the system. Throws std::runtime_error as StepDoubling.
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
  std::deque<std::vector<double>> rows_;  // not taken yet
  std::vector<double> last_;              // the last row that was taken
  double reached_;                        // by rows that were taken [s]
  std::int64_t point_ = 1;                // the next communication point
  double limit_;                          // [s]
  bool at_point_ = true;                  // the last row that was made is that of a communication point
  std::exception_ptr failure_;
  std::int64_t events_ = 0, evaluations_ = 0;  // told so far
};

}  // namespace ssptool::runtime
