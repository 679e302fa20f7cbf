// A kernel, composed of its parts, which document their operations. No memory is allocated while stepping. Operations
// act on instances in the order given, and stop at the first FMI status worse than a warning and at the first output
// that is nan or inf. Invalid arguments throw before any component is called.
#pragma once

#include <vector>

#include "loop_solutions.hpp"
#include "programs.hpp"

namespace ssptool {

struct Kernel {
  Kernel(std::size_t slots, const std::vector<Slot>& integers);
  Kernel(const Kernel&) = delete;
  Kernel& operator=(const Kernel&) = delete;
  ~Kernel() = default;

  SlotValues slot_values;
  Members members;
  Wires wires;
  DrivenInputs driven;
  Groups groups;
  Access access;
  History history;
  Inputs inputs;
  Calls calls;
  Loops loops;
  LoopSolutions loop_solutions;
  Schedules schedules;
  Rescues rescues;
  Stepper stepper;
  Iterations iterations;
  Recorder recorder;
  Programs programs;

  // Must be called in this order: instances, wires, time tables, then everything else.
  Index add(Member);
  void connect(const std::vector<Wire>&);
  void time_tables(std::vector<std::vector<double>> axes, std::vector<TableColumn>, std::vector<DrivenInput>);

 private:
  void check_nothing_registered(const char* what) const;
};

}  // namespace ssptool
