// Iterated steps as Python sees them: what they remember and report.
#pragma once

#include "conversions.hpp"

namespace ssptool::binding {

// A type that interface.py states.
nb::object vocabulary(const char* name);

nb::object to_python(IterationReport);
nb::object to_python(const AcceptedSteps&);
AcceptedSteps accepted_from(nb::handle steps);
nb::object to_python(IterationMemory, std::size_t unknowns);
IterationMemory memory_from(nb::handle memory, std::size_t unknowns);

}  // namespace ssptool::binding
