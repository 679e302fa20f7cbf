// x' = f(t, x) of components of model exchange, as an integrator asks for it many times per step. What it does is
// what OdeSystem.slopes does in Python, in the same order.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "evaluation.hpp"
#include "fmi.hpp"

namespace ssptool {

namespace fmi::exchange {
using SetTime = int(Component, double t);
using SetStates = int(Component, const double*, std::size_t);
using GetSlopes = int(Component, double*, std::size_t);
}  // namespace fmi::exchange

// A component, and where its states are among all.
struct ContinuousPart {
  fmi::Component component;
  fmi::exchange::SetTime* set_time;
  fmi::exchange::SetStates* set_states;
  fmi::exchange::GetSlopes* get_slopes;
  std::size_t first, count;
};

// The inputs that others feed are polynomials in the time since `start` [s]: value, first and second derivative there.
// Without values there are none.
struct InputPolynomials {
  double start = 0.0;
  std::vector<double> value, first, second;

  [[nodiscard]] double at(std::size_t i, double t) const noexcept {
    const double past = t - start;
    return value[i] + past * (first[i] + (0.5 * past) * second[i]);
  }
};

// What ended an evaluation: at a component, or in the schedule between them.
enum class Stage { none, time, states, schedule, slopes, finite };

struct Trouble {
  Stage stage = Stage::none;
  std::size_t part = 0;
  int status = 0;
  Outcome outcome{};
};

class Slopes {
 public:
  // The vectors of the integrator know where their numbers are; what is not done here, `rest` does.
  using Numbers = double*(void* vector);
  using Rest = int(double t, void* x, void* slopes, void* own);

  Slopes(SlotValues& slot_values, Schedules& schedules, Index schedule, std::vector<ContinuousPart> parts,
         std::vector<Slot> inputs, Numbers* numbers);

  void rest(Rest* rest) noexcept { rest_ = rest; }

  // What is zero on the clock of the integrator [s]: it counts from its last start, so that no digits are lost at late
  // times. `rest` is given the integrator's time.
  void origin(double t) noexcept { origin_ = t; }
  void input_polynomials(double start, std::span<const double> value, std::span<const double> first,
                         std::span<const double> second);

  // At an absolute time; false: there is trouble.
  bool fill(double t, const double* x, double* slopes) noexcept;
  // Given to CVODE, with this object as the user's data.
  static int evaluate(double t, void* x, void* slopes, void* own) noexcept;

  // What ended the evaluation that `rest` is to do the rest of; it is told once.
  Trouble take_trouble() noexcept;

 private:
  bool move(double t, const double* x) noexcept;
  bool stop(Stage stage, std::size_t part, int status) noexcept;

  SlotValues& slot_values_;
  Schedules& schedules_;
  Index schedule_;
  std::vector<ContinuousPart> parts_;
  std::vector<Slot> inputs_;
  Numbers* numbers_;
  Rest* rest_ = nullptr;
  double origin_ = 0.0;
  InputPolynomials polynomials_;
  std::size_t size_ = 0;
  Trouble trouble_;
};

}  // namespace ssptool
