"""Registrations of a run before it has begun: what takes them, and stand-ins for what is not there yet."""

from collections.abc import Iterable

import numpy as np

from ssptool.engine.kernel.interface import Call, IterationCalls, SolveLoop


class RegistrationLog:
    """Takes the registrations of a run in place of a kernel, in their order; the number of each is its place."""

    def __init__(self, slots: int) -> None:
        self.values = np.zeros(slots)
        self.input_value = np.zeros(slots)
        self.input_rates = np.zeros((2, slots))
        self.groups: list[list[int]] = []
        self.schedules: list[list[Call | SolveLoop]] = []
        self.iterations: list[IterationCalls] = []

    def group(self, instances: Iterable[int]) -> int:
        self.groups.append(list(instances))
        return len(self.groups) - 1

    def schedule(self, steps: Iterable[Call | SolveLoop]) -> int:
        self.schedules.append(list(steps))
        return len(self.schedules) - 1

    def iteration(self, calls: IterationCalls) -> int:
        self.iterations.append(calls)
        return len(self.iterations) - 1

    def set_accepted_steps(self, iteration: int, accepted: object) -> None:
        """No step has been done yet."""

    def exchange(self, group: int) -> None:
        """Nothing moves yet."""

    def accept(self, t: float) -> None:
        """Nothing moves yet."""


class NumberedLoop:
    """A loop by its number in the plan, in place of the kernel's."""

    def __init__(self, number: int) -> None:
        self.index = number


class EventsToCome:
    """Components in event mode, in place of the running ones: whether macro steps save states to go back to."""

    def __init__(self, goes_back: bool) -> None:
        self.goes_back = goes_back


class OdeToCome:
    """An ODE in place of one that has begun: whether it takes signals of others at events only."""

    def __init__(self, takes_event_signals: bool) -> None:
        self.takes_event_signals = takes_event_signals
