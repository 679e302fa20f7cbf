"""Rules that make the next iterate of a step from those before, in nominal values."""

from collections import deque
from itertools import islice
from typing import Protocol

import numpy as np

from ssptool.engine.iterated.dense import correction
from ssptool.engine.iterated.proposals import Proposal
from ssptool.engine.kernel.calls import Floats, SecantMemory

NEGLIGIBLE = 1e-12
"""Differences of residuals below this (in nominal values) are rounding."""


class BeginsSteps(Protocol):
    """A rule at work on one interface; it may remember from step to step what it has seen."""

    def begin(self) -> Proposal:
        """A new macro step."""
        ...


class SecantIterates:
    """IQN-ILS: the differences of the last steps, the newest first."""

    def __init__(self, reuse: int, limit: float, max_columns: int) -> None:
        self._limit = limit
        self._steps = reuse + 1
        self._columns: deque[tuple[Floats, Floats]] = deque(maxlen=max_columns)
        self._counts: deque[int] = deque()  # of the columns of each step, the newest first
        self._last: tuple[Floats, Floats] | None = None

    def begin(self) -> Proposal:
        if not self._counts or self._counts[0]:
            self._counts.appendleft(0)
            for _ in range(self._counts.pop() if len(self._counts) > self._steps else 0):
                self._columns.pop()
        self._last = None
        return self

    def __call__(self, x: Floats, value: Floats) -> Floats:
        residual = value - x
        if self._last is not None:
            change = residual - self._last[0]
            if np.max(np.abs(change)) > NEGLIGIBLE:
                self._add(change, value - self._last[1])
        self._last = (residual, value)
        return value + correction(self._columns, residual, self._limit)

    def _add(self, change: Floats, answer: Floats) -> None:
        if len(self._columns) == self._columns.maxlen:
            self._forget_oldest()
        self._columns.appendleft((change, answer))
        self._counts[0] += 1

    def _forget_oldest(self) -> None:
        self._columns.pop()
        while not self._counts[-1]:
            self._counts.pop()
        self._counts[-1] -= 1

    @property
    def memory(self) -> SecantMemory:
        changes, answers = ([column[part] for column in self._columns] for part in (0, 1))
        return SecantMemory(np.array(self._counts, dtype=np.int64), np.array(changes), np.array(answers))

    @memory.setter
    def memory(self, memory: SecantMemory) -> None:
        columns = zip(memory.changes, memory.answers, strict=True)
        self._columns.clear()
        self._counts.clear()
        for count in memory.columns.tolist():
            kept = list(islice(columns, count))[: (self._columns.maxlen or 0) - len(self._columns)]
            self._columns.extend(kept)
            self._counts.append(len(kept))
