// Messages of a system and its parts for the importer.
#pragma once

#include <string>

#include "../kernel/core/repetition.hpp"

namespace ssptool::runtime {

// With the numbers of FMI.
enum class Status : int { ok, warning, discard, error, fatal, pending };

class Log {
 public:
  virtual void write(Status, const char* category, const std::string& message) noexcept = 0;

 protected:
  ~Log() = default;
};

// Receives the iterates of algebraic loops (by their number in the plan) and of macro steps as they are computed.
class IterateLog : public IterateObserver {
 public:
  virtual void write(double t, Index loop, std::span<const Iterate>) = 0;
  // Sets the time [s] of the following iterates of macro steps.
  virtual void at(double end) noexcept = 0;
  // A macro step that ends at `end`: its relative error (1 is the limit), and for each power bond the transferred
  // energy and the residual [J].
  virtual void of_bonds(double end, double error, std::span<const double> carried,
                        std::span<const double> residuals) noexcept = 0;

 protected:
  ~IterateLog() = default;
};

}  // namespace ssptool::runtime
