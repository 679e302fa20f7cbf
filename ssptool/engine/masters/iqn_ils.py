"""IQN-ILS: quasi-Newton with an inverse Jacobian from least squares over the differences seen so far."""

from collections import deque
from itertools import islice

import numpy as np

from ssptool.dataclass import dataclass
from ssptool.engine.kernel.interface import Floats
from ssptool.engine.loops.iterate import Proposal
from ssptool.engine.masters.acceleration import Accelerator, Interface
from ssptool.engine.masters.partners import Memory

_NOISE = 1e-12
"""Differences of residuals below this (in nominal values) are rounding."""


@dataclass(frozen=True, slots=True)
class IqnIls:
    """x ← found + W α with the α that makes V α + (found − x) least; columns of V and W are differences of found − x
    and of found, the newest first.

    The differences of the last `reuse` macro steps are kept: how a group answers changes little from step to step,
    so that the first correction of a step is a good one already. A column that depends on those before it, to
    `filter`, is left out.

    References
    ----------
    Degroote, Bathe, Vierendeels 2009, "Performance of a new partitioned procedure versus a monolithic procedure in
    fluid-structure interaction", §4; Haelterman, Bogaers, Scheufele, Uekermann, Mehl 2016, "Improving the performance
    of the partitioned QN-ILS procedure for fluid-structure interaction problems: filtering", §3 (filter QR2).
    """

    reuse: int = 5
    filter: float = 1e-3
    max_columns: int = 60

    @property
    def name(self) -> str:
        return "IQN-ILS"

    def start(self, interface: Interface) -> Accelerator:
        return _Secants(self)


class _Secants:
    """The differences, by macro step, the newest step and in it the newest difference first."""

    def __init__(self, method: IqnIls) -> None:
        self.method = method
        self.steps: deque[deque[tuple[Floats, Floats]]] = deque(maxlen=method.reuse + 1)
        self.last: tuple[Floats, Floats] | None = None

    def begin(self) -> Proposal:
        if not self.steps or self.steps[0]:
            self.steps.appendleft(deque(maxlen=self.method.max_columns))
        self.last = None
        return self

    def memory(self) -> Memory:
        columns = [column for step in self.steps for column in step]
        return {
            "columns": np.array([len(step) for step in self.steps]),
            "changes": np.array([change for change, _ in columns]),
            "answers": np.array([answer for _, answer in columns]),
        }

    def recall(self, memory: Memory) -> None:
        columns = iter(zip(memory["changes"], memory["answers"], strict=True))
        self.steps.clear()
        for count in memory["columns"].tolist():
            self.steps.append(deque(islice(columns, count), maxlen=self.method.max_columns))

    def __call__(self, x: Floats, value: Floats) -> Floats:
        residual = value - x
        if self.last is not None:
            change = residual - self.last[0]
            if np.max(np.abs(change)) > _NOISE:
                self.steps[0].appendleft((change, value - self.last[1]))
        self.last = (residual, value)
        columns = [column for step in self.steps for column in step][: self.method.max_columns]
        return value + correction(columns, residual, self.method.filter)


def correction(columns: list[tuple[Floats, Floats]], residual: Floats, limit: float) -> Floats:
    """W α for the α with least ‖V α + residual‖, by modified Gram–Schmidt with the filter on the way.

    Each W column undergoes the same elimination as its V column, so that no triangular system is left to solve.
    """
    basis: list[Floats] = []
    answers: list[Floats] = []
    total, left = np.zeros_like(residual), residual
    for change, answer in columns:
        size = np.linalg.norm(change)
        for q, w in zip(basis, answers, strict=True):
            share = q @ change
            change, answer = change - share * q, answer - share * w
        rest = np.linalg.norm(change)
        if rest <= limit * size:
            continue
        basis.append(change / rest)
        answers.append(answer / rest)
        share = basis[-1] @ left
        total, left = total - share * answers[-1], left - share * basis[-1]
        if len(basis) == len(residual):
            break
    return total
