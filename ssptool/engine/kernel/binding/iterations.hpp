// Iterated steps as Python sees them: what they remember and report, and loops that Python solves.
#pragma once

#include <exception>

#include "conversions.hpp"

namespace ssptool::binding {

// A function of Python, or None. An exception of it is kept until the operation is over.
class PythonRescue : public LoopRescue {
 public:
  explicit PythonRescue(nb::handle function) : function_(nb::borrow(function)) {}

  [[nodiscard]] LoopRescue* pointer() noexcept { return function_.is_none() ? nullptr : this; }
  Rescued evaluate(Index schedule, double time) noexcept override;
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  nb::object function_;
  std::exception_ptr error_;
};

nb::object to_python(const IterationReport&);
nb::object to_python(const AcceptedSteps&);
AcceptedSteps accepted_from(nb::handle steps);
nb::object to_python(IterationMemory, std::size_t unknowns);
IterationMemory memory_from(nb::handle memory, std::size_t unknowns);

}  // namespace ssptool::binding
