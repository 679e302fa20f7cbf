"""Start values with which a run begins in given states.

A state has a start value itself, or a parameter of its component is that. Nothing of FMI says which parameter; so each
is tried that has the value of the state at the start, and taken if it moves this state there, and no other one.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

from ssptool.analysis.linear_model import LinearVariable
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


def start_in(states: Iterable[LinearVariable], inputs: Mapping[str, float], plan: Plan, begin: Begin) -> Start:
    """Start values for these states, and these values of inputs."""
    begun = begin(inputs)
    if begun is None:
        return Start(None, (f"a run cannot begin with {', '.join(inputs)}: they take no start values",))
    found, first = dict(inputs), begun.states
    for state in states:
        if same(first[state.name], state.value):
            continue
        chosen = _start_value(state, first[state.name], plan, begun, found, begin)
        if chosen is None:
            why = f"the FMU of {state.component} has no start value for it"
            return Start(None, (f"a run cannot begin with {state.name} = {state.value:.6g}: {why}",))
        name, begun = chosen
        found[name] = state.value
    if begun.unsatisfied:
        left = ", ".join(begun.unsatisfied)
        return Start(None, (f"a run that begins with these start values is not in the steady state: {left}",))
    return Start(found)


def _start_value(
    state: LinearVariable, at_start: float, plan: Plan, before: Begun, given: Mapping[str, float], begin: Begin
) -> tuple[str, Begun] | None:
    """The name of a start value that moves this state only, and the run that begins with it."""
    for name in _candidates(state, at_start, plan):
        if name in given:
            continue
        begun = begin({**given, name: state.value})
        if begun is None or not same(begun.states[state.name], state.value):
            continue
        if all(same(begun.states[other], value) for other, value in before.states.items() if other != state.name):
            return name, begun
    return None


def _candidates(state: LinearVariable, value: float, plan: Plan) -> Iterator[str]:
    """The state itself, then parameters of its component that have its value at the start, similar names first."""
    yield state.name
    entry = next(one for one in plan.instances if one.name == state.component)
    prefix = "" if plan.network.of_lone_fmu else f"{state.component}."
    own = state.name.removeprefix(prefix)
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
