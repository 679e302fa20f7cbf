// Tables that drive slots over time, and the resulting inputs over steps.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "slot_values.hpp"
#include "wires.hpp"

namespace ssptool {

struct TableColumn {
  Slot slot;
  std::size_t axis;
  std::vector<double> values;
  bool linear;
  bool integer = false;
  SlotOverride applied{};
};

// An input that time tables feed, and how it varies over a step.
struct DrivenInput {
  enum class Run { held, following, middle };  // middle: held at the mean of its source

  Slot slot;
  Run run;
  double start = 0.0;  // of the present step
};

// A slot whose value is a polynomial in time.
struct SlotPolynomial {
  Slot slot;
  double t, value, first, second;  // value and derivatives at time t

  [[nodiscard]] double at(double time) const noexcept {
    const double past = time - t;
    return value + past * (first + 0.5 * past * second);
  }
};

class TimeTables {
 public:
  TimeTables() = default;
  // Throws if a table is invalid.
  TimeTables(std::vector<std::vector<double>> axes, std::vector<TableColumn> columns);

  [[nodiscard]] std::span<double> column(std::size_t column);
  void override_column(std::size_t column, SlotOverride);

  // Sets the present segment: no jumps occur between these times.
  void between(double begin, double end) noexcept;
  // Writes the value of every column at t to its slot.
  void write(double t, double* values) noexcept;
  // After `write`: for each linearly interpolated column, the mean over the last h before t minus the mean of both
  // ends. Returns whether any of them is not zero.
  bool beyond_ends(double t, double h, double* found) const noexcept;

 private:
  struct Axis {
    std::vector<double> times;
    std::size_t row = 0;  // number of times that are not after the last requested one
  };

  TableColumn& checked(std::size_t column);
  void seek(Axis&, double t, bool from_left) noexcept;
  [[nodiscard]] static double at(const TableColumn&, const Axis&, std::size_t row, double t) noexcept;
  [[nodiscard]] static double beyond_chord(const TableColumn&, const Axis&, double begin, double end) noexcept;

  std::vector<Axis> axes_;
  std::vector<TableColumn> columns_;
  double begin_ = -std::numeric_limits<double>::infinity();
  double end_ = std::numeric_limits<double>::infinity();
};

// The time tables of a kernel, and the inputs that they feed.
class DrivenInputs {
 public:
  DrivenInputs(SlotValues& slot_values, Wires& wires)
      : slot_values_(slot_values),
        wires_(wires),
        drives_(slot_values.size()),
        curvatures_(slot_values.size()),
        beyond_(slot_values.size()) {}

  // Throws if they are invalid.
  void state(std::vector<std::vector<double>> axes, std::vector<TableColumn>, std::vector<DrivenInput>);
  [[nodiscard]] bool drives(Slot slot) const noexcept { return drives_[slot]; }

  [[nodiscard]] std::span<double> column(Index column) { return tables_.column(column); }
  void override_column(Index column, const SlotOverride& value) { tables_.override_column(column, value); }
  void between(double begin, double end) noexcept { tables_.between(begin, end); }
  // Sets the slots that are on polynomials, replacing earlier ones; no table may feed them.
  void follow(std::vector<SlotPolynomial>);
  void write(double t) noexcept;
  void drive(double t, double h) noexcept;

 private:
  void find_curvatures() noexcept;

  SlotValues& slot_values_;
  Wires& wires_;
  TimeTables tables_;
  std::vector<bool> drives_;
  std::vector<DrivenInput> inputs_;
  std::vector<SlotPolynomial> polynomials_;
  std::vector<double> curvatures_;  // second derivatives of all slots
  std::vector<double> beyond_;      // means over a step minus means of its ends, of all slots
  bool averages_ = false;           // whether some inputs are held at means
  Wires::Set into_inputs_ = Wires::empty_set;
};

}  // namespace ssptool
