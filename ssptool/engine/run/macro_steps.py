"""Macro steps of a plan: the coupling over each step, and its end."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ssptool.engine.masters.master import CouplingMaster
from ssptool.engine.masters.protocols import Participants
from ssptool.engine.masters.step_sizes import SizeControl, SizeRule
from ssptool.engine.ode.integrator import Integrator


@dataclass(frozen=True, slots=True)
class MacroSteps:
    """Macro steps of a coupling master, or of a control of their sizes.

    Driven inputs follow their signal over a step if the FMU can follow inputs. Otherwise they have the value of the
    middle of the step, which is accurate to second order, or that of its start if the settings ask for held inputs. No
    input is extrapolated over a jump.

    For the coupling, the ODE of all components of model exchange is one more component. Steps end at its time events,
    unless an FMU accepts only one step size. The ODE adds rows: each event inside a macro step has one row for each
    side, with the signals of the ODE at the event; outputs of all other components are those of the previous
    communication point. If a signal that the ODE reads only at events changes at a communication point, there is also
    an event.

    Attributes
    ----------
    jumps
        True if steps end at jumps of inputs or scenarios, with a row for each side.
    events
        True if components have an event mode: steps end at events.
    with_ode
        True if events of the ODE are events of the whole system.
    integrator
        Integrator of the ODE in a mixed system; None without an ODE.
    timed
        True if steps end at time events of that ODE.
    goes_back
        True if all other components are restored after an early end of a step, and step to that time.
    leader
        If they are not, a component that steps before all others, and may end a step early.

    References
    ----------
    FMI 3.0 §4.2.1 (early return, event mode of co-simulation).
    """

    base: CouplingMaster | SizeControl
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
        """The master of each macro step, independent of its size."""
        return self.base.base if isinstance(self.base, SizeControl) else self.base

    @property
    def tries_steps(self) -> bool:
        """True if steps are tried, and undone if they are too large."""
        return isinstance(self.base, SizeControl) and self.base.rule is SizeRule.DOUBLING

    @property
    def follows_a_leader(self) -> bool:
        """True if one component may step before all others, which then step to the same time."""
        return not isinstance(self.base, SizeControl) and self.base.follows_a_leader

    @property
    def chooses_steps(self) -> bool:
        """True if the number of rows is not known in advance."""
        return self.base.chooses_steps or self.jumps or self.events or self.integrator is not None

    def outline(self, groups: Sequence[Participants]) -> tuple[str, ...]:
        """Text for the calls of a macro step, up to the point at which the outputs at its end are known."""
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
