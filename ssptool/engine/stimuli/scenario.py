"""Scenarios: at a time, override, bias or reset a variable."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import TypeAlias

from ssptool.arguments import seconds
from ssptool.dataclass import dataclass
from ssptool.engine.stimuli.modification import Action

Scalar: TypeAlias = float | int | bool | str


@dataclass(frozen=True, slots=True)
class Event:
    """At `time` [s] after the start of the run: what happens to a variable, by its full name.

    Attributes
    ----------
    variable
        `Vehicle.speed`; an input of the system has no dot.
    value
        New value, or what is added; none for a reset.
    line
        Of the file; 0: it is not from a file.
    """

    time: float
    variable: str
    action: Action | str
    value: Scalar | None = None
    line: int = 0

    def __post_init__(self) -> None:
        """Take plain text for the action, and refuse what cannot be."""
        if self.action not in list(Action):
            raise ValueError(f"action must be one of {', '.join(Action)}; found {self.action!r}")
        object.__setattr__(self, "action", Action(self.action))
        object.__setattr__(self, "time", seconds("time", self.time))
        if not 0 <= self.time < math.inf:
            raise ValueError(f"an event must have a time that is not negative, found {self.time!r} s")
        if self.value is None and self.action is not Action.RESET:
            raise ValueError(f"{self.action} of {self.variable} needs a value")

    def __str__(self) -> str:
        value = "" if self.value is None else f" {'with' if self.action is Action.OVERRIDE else 'by'} {self.value!r}"
        return f"{self.action} {self.variable}{value}"


@dataclass(frozen=True, slots=True)
class Scenario:
    """Events, in any order. At `end` [s] after the start, if it is given, all variables are reset."""

    events: tuple[Event, ...]
    end: float | None = None
    source: str = "scenario"

    @property
    def file(self) -> Path | None:
        return Path(self.source) if any(event.line for event in self.events) else None


def by_variable(scenario: Scenario) -> Iterator[tuple[str, tuple[Event, ...]]]:
    """Each variable with its events, in the order of time; those at one time as they are listed."""
    found: dict[str, list[Event]] = {}
    for event in sorted(scenario.events, key=lambda event: event.time):
        found.setdefault(event.variable, []).append(event)
    for name, events in found.items():
        yield name, tuple(events)
