"""Macro steps of a plan: how components are coupled over each, and where it ends."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ssptool.engine.masters.master import CouplingMaster, StepSizeControl
from ssptool.engine.masters.protocols import Participants
from ssptool.engine.ode.integrator import Integrator


@dataclass(frozen=True, slots=True)
class MacroSteps:
    """Macro steps of a coupling master, or of a control of their sizes.

    Driven inputs run over a step as they are given, where the FMU can follow; else they have the value of its middle,
    which is exact to the second order, or where inputs are to be held that of its start. No input is extrapolated over
    a jump.

    To the coupling, the ODE of all components of model exchange is one more component. Steps end at its time events,
    unless an FMU takes steps of one size only. It adds rows: each event inside a macro step has one for either side,
    with the signals that the ODE had there; outputs of all others are those of the communication point before. Where
    signals of others that it takes at events only change at a communication point, there is an event too.

    Attributes
    ----------
    jumps
        Steps end where inputs or scenarios jump, with a row for each side.
    events
        Components have an event mode: steps end at events.
    with_ode
        Events of the ODE are those of the whole system.
    integrator
        Integrator of the ODE beside other components, if there is one.
    timed
        Steps end at time events of that ODE.
    goes_back
        Where a component ends a step early, all others go back, and step to that time.
    leader
        Where they do not, a component that steps before all others, and may end a step early.

    References
    ----------
    FMI 3.0 §4.2.1 (early return, event mode of co-simulation).
    """

    base: CouplingMaster | StepSizeControl
    jumps: bool = False
    events: bool = False
    with_ode: bool = False
    integrator: Integrator | None = None
    timed: bool = False
    goes_back: bool = False
    leader: str = ""

    @property
    def name(self) -> str:
        return self.base.name

    @property
    def coupling(self) -> CouplingMaster:
        """The master of each macro step, of whatever size."""
        return self.base.base if isinstance(self.base, StepSizeControl) else self.base

    @property
    def follows_a_leader(self) -> bool:
        """One component may step before all others, which then step to where it has come."""
        return not isinstance(self.base, StepSizeControl) and self.base.follows_a_leader

    @property
    def chooses_steps(self) -> bool:
        """The number of rows is not known beforehand."""
        return self.base.chooses_steps or self.jumps or self.events or self.integrator is not None

    def outline(self, groups: Sequence[Participants]) -> tuple[str, ...]:
        """Calls of a macro step in words, until the outputs at its end are known."""
        ode = () if self.integrator is None else self.integrator.as_component()
        return (*self._before(), *self.base.outline(groups), *self._after(), *ode)

    def _before(self) -> Iterator[str]:
        if self.events:
            yield "the step ends at the next tick of a clock, time event or jump of an input"
            return
        if self.jumps:
            yield "driven inputs follow their time series; the step ends where one of them jumps"
        if self.timed:
            yield "the step ends at the next time event of the ODE"

    def _after(self) -> Iterator[str]:
        who, together = ("a component or the ODE", ", with all components") if self.with_ode else ("a component", "")
        if self.events:
            if self.goes_back:
                yield f"where {who} returns early: all others go back and step to that time"
            if self.leader:
                yield f"{self.leader} steps before all others: where it returns early, they step to that time"
            yield (
                f"at an event{together}: record, enter event mode, tick clocks, exchange and update discrete states "
                "until all settle, enter step mode, record again"
            )
            return
        if self.jumps:
            yield "at a jump: record, set the inputs that jump and all that depend on them, record again"
        if self.integrator is not None:
            yield (
                "at a time event of the ODE, at the end of a step: record, the ODE handles it with the inputs of this "
                "time, exchange and evaluate, record again"
            )
