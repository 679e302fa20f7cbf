"""Logs of the iterates of algebraic loops and of macro steps that a system reports."""

from collections.abc import Callable, Iterable, Sequence

from ssptool.engine.assembly.assembly import Assembly
from ssptool.engine.kernel.calls import Floats
from ssptool.engine.kernel.solutions import Iterate
from ssptool.engine.masters.power_bonds import log_energies
from ssptool.engine.masters.protocols import InstanceGroup
from ssptool.engine.masters.step_sizes import SizeControl
from ssptool.engine.run.freeze import stepping_master
from ssptool.engine.run.loops import RunningLoop


class IterateLogs:
    """Writer of iterates to the logs of an assembly. An error is stored, because it cannot pass through the system.

    Attributes
    ----------
    groups
        Iterated groups, after they are known.
    """

    def __init__(self, assembly: Assembly) -> None:
        self.groups: Sequence[InstanceGroup] = ()
        self._assembly = assembly
        self._error: BaseException | None = None

    def check(self) -> None:
        """Raise the stored error of a log, if there is one."""
        if self._error is not None:
            raise self._error

    def loop(self, time: float, number: int, iterates: Iterable[Iterate]) -> None:
        """Write iterates of a loop at this time [s]; `number` is its number in the plan."""
        loop = RunningLoop(self._assembly, self._assembly.plan.loops[number], number, -1)
        self._attempt(lambda: loop.write(time, iterates))

    def step(self, end: float, group: int, number: int, x: Floats, found: Floats, excess: float, agrees: bool) -> None:
        """Write an iterate x of the macro step to `end` [s] of a group (by its number in the kernel), with the values
        found for it and the ratio of its change to the limit.
        """
        log = self._assembly.coupling_log
        if log is None:
            return
        own = next(one for one in self.groups if one.group == group)
        values, residuals = (dict(zip(own.signals, numbers.tolist(), strict=True)) for numbers in (x, found - x))
        self._attempt(lambda: log.write((end, ", ".join(own.names), number, excess, agrees), values, residuals))

    def of_bonds(self, end: float, error: float, carried: Floats, residuals: Floats) -> None:
        """Write the energies of a macro step to `end` [s], by power bond."""
        log, master = self._assembly.coupling_log, stepping_master(self._assembly.plan)
        if log is not None and isinstance(master, SizeControl):
            self._attempt(lambda: log_energies(log, master.bonds, (end, error), carried, residuals))

    def _attempt(self, write: Callable[[], None]) -> None:
        try:
            if self._error is None:
                write()
        except BaseException as error:
            self._error = error
