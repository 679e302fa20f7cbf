"""Start values with which a run begins in given states.

A state has a start value itself, or a parameter of its component is that. Nothing of FMI says which parameter; so each
is tried that has the value of the state at the start, and taken if it moves this state there, and no other one.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from ssptool.engine.planning.plan import Plan
from ssptool.fmu.description import Causality

SAME = 1e-9
"""Relative difference of equal values."""


class Begun(NamedTuple):
    """A run at its start: states by name, and the names of equations of the steady state that are not satisfied."""

    states: Mapping[str, float]
    unsatisfied: tuple[str, ...]


Begin = Callable[[Mapping[str, float]], Begun | None]
"""Begin a run with these start values, beside those of the caller; None: one of them is not accepted."""


class Start(NamedTuple):
    """Start values by full name, None if there are none; and remarks."""

    values: Mapping[str, float] | None
    notes: tuple[str, ...] = ()


def start_in(
    wanted: Mapping[str, float], components: Mapping[str, str], inputs: Mapping[str, float], plan: Plan, begin: Begin
) -> Start:
    """Start values for the wanted states, whose `components` are known by name, and these values of inputs."""
    first = begin(inputs)
    if first is None:
        return Start(None, (f"a run cannot begin with {', '.join(inputs)}: they take no start values",))
    found = dict(inputs)
    for name, value in wanted.items():
        if same(first.states[name], value):
            continue
        chosen = _start_value(name, value, components[name], plan, first, found, begin)
        if chosen is None:
            component = components[name]
            why = f"the FMU of {component} has no start value for it"
            return Start(None, (f"a run cannot begin with {name} = {value:.6g}: {why}",))
        found[chosen] = value
    last = begin(found)
    if last is None or last.unsatisfied:
        left = "" if last is None else f": {', '.join(last.unsatisfied)}"
        return Start(None, (f"a run that begins with these start values is not in the steady state{left}",))
    return Start(found)


def _start_value(
    state: str,
    value: float,
    component: str,
    plan: Plan,
    first: Begun,
    given: Mapping[str, float],
    begin: Begin,
) -> str | None:
    for name in _candidates(state, component, plan, first.states[state]):
        if name in given:
            continue
        begun = begin({**given, name: value})
        before = begin(given)
        if begun is None or before is None or not same(begun.states[state], value):
            continue
        if all(same(begun.states[other], before.states[other]) for other in before.states if other != state):
            return name
    return None


def _candidates(state: str, component: str, plan: Plan, value: float) -> Iterator[str]:
    """The state itself, then parameters of its component that have its value at the start, similar names first."""
    yield state
    entry = next(one for one in plan.instances if one.name == component)
    prefix = "" if plan.network.of_lone_fmu else f"{component}."
    own = state.removeprefix(prefix)
    names = [
        one.name
        for one in entry.description.variables.values()
        if one.causality is Causality.PARAMETER
        and one.type == "Float64"
        and isinstance(found := entry.starts.get(one.name, one.start), float)
        and same(found, value)
    ]
    yield from (f"{prefix}{name}" for name in sorted(names, key=lambda name: (own not in name, name)))


def same(one: float, other: float) -> bool:
    """Whether two values are equal, except for rounding."""
    return abs(one - other) <= SAME * max(1.0, abs(one), abs(other))
