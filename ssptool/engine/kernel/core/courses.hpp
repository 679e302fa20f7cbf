// Tables that drive slots over time. What is promised is written in interface.py, and done by twin/courses.py: the
// same arithmetic in the same order.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "change.hpp"
#include "window.hpp"

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

}  // namespace ssptool
