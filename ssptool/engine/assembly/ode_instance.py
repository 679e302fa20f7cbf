"""ODE as an instance of the kernel: the functions of an FMI 3.0 co-simulation FMU, which the kernel serves.

One thread calls it and the components that it integrates (`apart` of all others, which may be stepped meanwhile). It
has no variables. Its inputs are those of the components of model exchange, which the kernel has as instances of their
own: they set inputs and compute outputs as others do, but their own steps do nothing."""

from collections.abc import Callable
from dataclasses import replace

from ssptool.engine.assembly.event_members import StepReport
from ssptool.engine.failure import Failure
from ssptool.engine.kernel import native_idle_functions, native_ode_component
from ssptool.engine.kernel.interface import FUNCTIONS, InstanceTable, Kernel


class OdeInstance:
    """The instance; whoever integrates sets `explanation` before the first call. With a `report`, steps may end at
    events.
    """

    def __init__(self, kernel: Kernel, report: StepReport | None = None) -> None:
        self.report = report
        self.core = native_ode_component(kernel)
        self.explanation: Callable[[], Failure]

    def table(self) -> InstanceTable:
        functions, numbers = self.core.functions(FUNCTIONS[3]), None if self.report is None else self.report.numbers
        return InstanceTable(3, functions, self.core.address, (), (), (), (), report=numbers, apart=True)

    def explain(self) -> Failure:
        """Failure of the last call; raises errors that are not of a component."""
        return self.explanation()


def idle_steps(table: InstanceTable) -> InstanceTable:
    """The same instance with steps that do nothing and states that are not saved: the ODE does both."""
    return replace(table, functions={**table.functions, **native_idle_functions(table.fmi_major)}, apart=True)
