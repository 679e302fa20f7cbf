// Messages of a system and its parts, on their way to the importer.
#pragma once

#include <string>

#include "../kernel/core/repetition.hpp"

namespace ssptool::runtime {

// As FMI numbers them.
enum class Status : int { ok, warning, discard, error, fatal, pending };

class Log {
 public:
  virtual void write(Status, const char* category, const std::string& message) noexcept = 0;

 protected:
  ~Log() = default;
};

// Takes the iterates of algebraic loops, by their number in the plan, and of macro steps, as they come.
class IterateLog : public IterateObserver {
 public:
  virtual void write(double t, Index loop, std::span<const Iterate>) = 0;
  // Iterates of macro steps belong to this time [s] from now on.
  virtual void at(double end) noexcept = 0;
  // A macro step to this time: its error, 1 is what is allowed; of each power bond the energy that went through it, and
  // its residual [J].
  virtual void of_bonds(double end, double error, std::span<const double> carried,
                        std::span<const double> residuals) noexcept = 0;

 protected:
  ~IterateLog() = default;
};

}  // namespace ssptool::runtime
