"""Logs of the iterates that a system tells of: of algebraic loops, and of macro steps."""

from collections.abc import Callable, Iterable, Sequence

from ssptool.engine.assembly.assembly import Assembly
from ssptool.engine.kernel.calls import Floats
from ssptool.engine.kernel.solutions import Iterate
from ssptool.engine.masters.energy import EnergyControlled, log_energies
from ssptool.engine.masters.protocols import InstanceGroup
from ssptool.engine.run.freeze import stepping_master
from ssptool.engine.run.loops import RunningLoop


class IterateLogs:
    """Writes iterates into the logs of an assembly; an error is kept, since it cannot pass through the system.

    Attributes
    ----------
    groups
        Groups whose macro steps are iterated, as far as they are known.
    """

    def __init__(self, assembly: Assembly) -> None:
        self.groups: Sequence[InstanceGroup] = ()
        self._assembly = assembly
        self._error: BaseException | None = None

    def check(self) -> None:
        """Raise what has gone wrong with a file."""
        if self._error is not None:
            raise self._error

    def loop(self, time: float, number: int, iterates: Iterable[Iterate]) -> None:
        """Iterates of a loop at this time [s], by its number in the plan."""
        loop = RunningLoop(self._assembly, self._assembly.plan.loops[number], number, -1)
        self._attempt(lambda: loop.write(time, iterates))

    def step(self, end: float, group: int, number: int, x: Floats, found: Floats, excess: float, agrees: bool) -> None:
        """An iterate x of the macro step to `end` [s] of a group, by its number in the kernel; what followed for
        it, and its change over what is allowed.
        """
        log = self._assembly.coupling_log
        if log is None:
            return
        own = next(one for one in self.groups if one.group == group)
        values, residuals = (dict(zip(own.signals, numbers.tolist(), strict=True)) for numbers in (x, found - x))
        self._attempt(lambda: log.write((end, ", ".join(own.names), number, excess, agrees), values, residuals))

    def of_bonds(self, end: float, error: float, carried: Floats, residuals: Floats) -> None:
        """Energies of a macro step to `end` [s], by power bond."""
        log, master = self._assembly.coupling_log, stepping_master(self._assembly.plan)
        if log is not None and isinstance(master, EnergyControlled):
            self._attempt(lambda: log_energies(log, master.bonds, (end, error), carried, residuals))

    def _attempt(self, write: Callable[[], None]) -> None:
        try:
            if self._error is None:
                write()
        except BaseException as error:
            self._error = error
