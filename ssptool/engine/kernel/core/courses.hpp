// Tables that drive slots over time, and inputs that run over steps as these do.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "cells.hpp"
#include "wires.hpp"

namespace ssptool {

struct Column {
  Slot slot;
  std::size_t axis;
  std::vector<double> cells;
  bool linear;
  bool integer = false;
  Change change{};
};

// An input that courses lead to, and how it runs over a step.
struct DrivenInput {
  enum class Run { held, following, middle };

  Slot slot;
  Run run;
  double start = 0.0;  // of the present step
};

class Courses {
 public:
  Courses() = default;
  // Throws if a table cannot be right.
  Courses(std::vector<std::vector<double>> axes, std::vector<Column> columns);

  [[nodiscard]] std::span<double> cells(std::size_t column);
  void change(std::size_t column, Change);

  // The present stretch: nothing jumps between these times.
  void between(double begin, double end) noexcept;
  // Every column's slot gets its value at t.
  void write(double t, double* values) noexcept;

 private:
  struct Axis {
    std::vector<double> times;
    std::size_t row = 0;  // how many times are not after the one asked for last
  };

  Column& checked(std::size_t column);
  void seek(Axis&, double t, bool from_left) noexcept;
  [[nodiscard]] static double at(const Column&, const Axis&, double t) noexcept;

  std::vector<Axis> axes_;
  std::vector<Column> columns_;
  double begin_ = -std::numeric_limits<double>::infinity();
  double end_ = std::numeric_limits<double>::infinity();
};

// The courses of a kernel, and the inputs to which they lead.
class DrivenInputs {
 public:
  DrivenInputs(Cells& cells, Wires& wires) : cells_(cells), wires_(wires), drives_(cells.size()) {}

  // Throws if they cannot be right.
  void state(std::vector<std::vector<double>> axes, std::vector<Column>, std::vector<DrivenInput>);
  [[nodiscard]] bool drives(Slot slot) const noexcept { return drives_[slot]; }

  [[nodiscard]] std::span<double> cells(Index column) { return courses_.cells(column); }
  void change(Index column, const Change& change) { courses_.change(column, change); }
  void between(double begin, double end) noexcept { courses_.between(begin, end); }
  void write(double t) noexcept { courses_.write(t, cells_.values.data()); }
  void drive(double t, double h) noexcept;

 private:
  Cells& cells_;
  Wires& wires_;
  Courses courses_;
  std::vector<bool> drives_;
  std::vector<DrivenInput> inputs_;
  Wires::Set into_inputs_ = Wires::empty_set;
};

}  // namespace ssptool
