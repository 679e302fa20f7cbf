"""Values that a program gives to a running simulation."""

from collections.abc import Callable, Collection, Mapping
from typing import Any

from ssptool.engine.assembly import Assembly
from ssptool.engine.ending import Failure, RunError
from ssptool.engine.event_mode.planned import CLOCK
from ssptool.engine.few import few
from ssptool.engine.kernel.interface import Call
from ssptool.engine.masters.master import Coupled
from ssptool.engine.passed_on import pass_on, why_not
from ssptool.engine.plan import Plan
from ssptool.engine.stepping.errors import NotSettable
from ssptool.engine.stepping.values import SimulationValues
from ssptool.engine.stopped import Stopped
from ssptool.fmu.description import Causality, Value, Variability
from ssptool.network.signals import Signal


def check_settable(plan: Plan, name: str, signals: Collection[Signal]) -> None:
    """That what has this name, of which these are the elements, can be given a value during a run.

    Raises
    ------
    NotSettable
        It is driven, or fixed, or computed.
    """
    for driven in plan.stimuli.driven:
        if driven.signal in signals:
            raise NotSettable(name, f"it is driven, by {driven.origin}")
    for wire in plan.network.wires:
        if wire.destination in signals:
            raise NotSettable(name, f"it is driven by {wire.source}")
    for signal in signals:
        if reason := _why_not(plan, signal):
            raise NotSettable(name, reason)


def _why_not(plan: Plan, signal: Signal) -> str:
    """Why its kind cannot be set; empty if it can."""
    if not signal.component and signal in plan.signals:
        return "" if plan.signals.index(signal) in plan.constants else "it is an output of the system"
    if signal.component not in plan.network.components:
        return f"it is a connector of a system; {_led_to(plan, signal)}"
    variable = plan.network.variable(signal)
    if variable.type == CLOCK:
        return "it is a clock; it ticks at its own times, or where a connection triggers it"
    if variable.causality is Causality.INPUT:
        return ""
    if variable.causality is Causality.PARAMETER and variable.variability is Variability.TUNABLE:
        return why_not(plan.network, plan.parameter_wires, signal)
    return f"it is a {variable.variability} {variable.causality}; inputs and tunable parameters can be set"


def _led_to(plan: Plan, signal: Signal) -> str:
    """What can be set in place of the connector of a system."""
    wires = (*plan.network.wires, *plan.network.dangling)
    ends = {wire.destination for wire in wires if signal in (wire.source, *(leg.destination for leg in wire.legs))}
    inside = sorted(str(end) for end in ends if end != signal and end.component in plan.network.components)
    return f"set {few(inside)}, to which it leads" if inside else "set inputs and parameters of components"


class SimulationChanges:
    """At the present communication point; RunError is raised where the simulation cannot go on with them."""

    def __init__(self, plan: Plan, assembly: Assembly, system: Coupled, values: SimulationValues) -> None:
        self._plan = plan
        self._assembly = assembly
        self._system = system
        self._values = values

    def make(self, name: str, signal: Signal, given: Mapping[Signal, Any], time: float) -> None:
        """Outputs follow. What is refused changes nothing in the kernel."""
        kernel = self._assembly.kernel
        before = kernel.integers.copy()  # the same memory as `values`
        try:
            self._values.write(name, given)
            self._tell(signal, given, time)
            told = self._pass_on(signal, time)
        except Exception:
            kernel.integers[:] = before
            raise
        self._settle(told, time)

    def _pass_on(self, signal: Signal, time: float) -> Collection[str]:
        """Parameters that follow from this one; gives the names of all components that were told something."""
        if not self._plan.parameter_wires or not signal.component:
            return (signal.component,)

        def give(signal: Signal, value: Value) -> None:
            self._values.write(str(signal), {signal: value})
            self._tell(signal, {signal: value}, time)

        try:
            return pass_on(self._plan, self._values.instances, (signal.component,), give, time)
        except Stopped as stopped:
            raise RunError(stopped.failure) from stopped

    def _tell(self, signal: Signal, given: Mapping[Signal, Any], time: float) -> None:
        """Them to the FMU."""
        values = {each.variable: own for each, own in given.items()}
        integrated = signal.component in {one.name for one in self._plan.integrated}
        if signal.component in self._plan.event_modes.members or (integrated and self._plan.event_modes.with_ode):
            self._set_at_event(signal, given, time)
        elif integrated:
            self._intervene(lambda: self._values.instances[signal.component].set(values))
        elif signal.component:
            self._values.instances[signal.component].set(values)
        elif self._system.integration is not None:
            self._intervene(lambda: None)

    def _set_at_event(self, signal: Signal, given: Mapping[Signal, Any], time: float) -> None:
        """Of a component in event mode. What belongs to a clock waits for its next tick."""
        assert self._system.events is not None
        values = {each.variable: own for each, own in given.items() if not self._plan.network.variable(each).clocks}

        def action() -> None:
            if values:
                self._values.instances[signal.component].set(values)

        _check(self._system.events.intervene(self._system, time, action))

    def _intervene(self, action: Callable[[], None]) -> None:
        """In event mode, which is where most variables of model exchange may be set."""
        ode = self._system.integration or self._system.ode
        assert ode is not None
        _check(ode.intervene(action))

    def _settle(self, components: Collection[str], time: float) -> None:
        """Outputs follow from what was set in these components, and the past is forgotten."""
        for index, planned in enumerate(self._plan.instances):
            if planned.name in components and planned.output_slots:
                outcome = self._assembly.perform([Call(index, (), planned.output_slots)])
                _check(None if outcome.ok else self._assembly.explain(outcome, time))
        _check(self._system.settle(time))


def _check(failure: Failure | None) -> None:
    if failure is not None:
        raise RunError(failure)
