// What tests of methods reach of the core, in a module of its own: `_methods`, which has all of `_kernel` besides.
#pragma once

#include "../../../../ssptool/engine/kernel/binding/kernel.hpp"

namespace ssptool::binding
{

// A value that tests.engine.kernel.methods states.
nb::object words(const char *name);

LoopMethod method_from(int method);
DenseMatrix dense_from(const Matrix &);
SlotOverride override_from(nb::handle value);
LoopCalls loop_from(nb::handle calls);
std::vector<SlotPolynomial> polynomials_from(nb::handle polynomials);
IterationCalls iteration_from(nb::handle calls);
std::vector<Instruction> program_from(nb::handle program);
std::vector<Wire> wires_from(nb::handle sources, nb::handle destinations, nb::handle factors, nb::handle offsets,
                             nb::handle tables, nb::handle discrete, nb::handle ranges);
// An InstanceTable; the instance is in the memory of the kernel, for which it is.
Member member_from(nb::handle table, Kernel &);

AcceptedSteps accepted_from(nb::handle steps);
nb::object to_python(IterationMemory, std::size_t unknowns);
IterationMemory memory_from(nb::handle memory, std::size_t unknowns);

void bind_methods(nb::class_<NativeKernel> &);
void bind_clocks(nb::module_ &);
void bind_dense(nb::module_ &);
void bind_loop_solvers(nb::module_ &);
void bind_ode_solvers(nb::module_ &);

} // namespace ssptool::binding
