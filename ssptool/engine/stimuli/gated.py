"""A kernel some of whose wires a scenario acts on."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ssptool.engine.cells import holds_integer, read_cell, write_cell
from ssptool.engine.kernel.interface import OK, Call, Code, Floats, Kernel, LoopCalls, Outcome, SolveLoop
from ssptool.engine.stimuli.modification import Modification, active
from ssptool.network.signals import Conversion


class GatedWire(NamedTuple):
    """A wire by slots, with what a scenario does at its ends."""

    source: int
    destination: int
    conversion: Conversion
    source_type: str
    destination_type: str
    at_source: tuple[Modification, ...]
    at_destination: tuple[Modification, ...]


class _Part(NamedTuple):
    """Steps of a sweep; `gated`: wires are to be copied first."""

    sweep: int
    gated: bool


@dataclass(slots=True)
class _GatedLoop:
    """A loop of which inputs have gated wires: `body` are sweeps of one call each."""

    calls: LoopCalls
    body: tuple[_Part, ...]
    chord: Floats


class GatedKernel:
    """Does what another kernel does, and copies gated wires, of which that one does not know, wherever it copies
    wires.

    What is not defined here is that of the other kernel; so are `run` and `iteration`, which must not be used.
    """

    def __init__(self, kernel: Kernel, wires: Sequence[GatedWire], start: float) -> None:
        self._kernel = kernel
        self._wires = tuple(wires)
        self._inputs = frozenset(wire.destination for wire in wires)
        self._sweeps: dict[int, tuple[_Part | SolveLoop, ...]] = {}
        self._loops: dict[int, _GatedLoop] = {}
        self._changes: tuple[tuple[Modification | None, Modification | None], ...] = ()
        self.go_to(start)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kernel, name)

    def go_to(self, t: float) -> None:
        """From now on modifications are those at t [s]."""
        self._changes = tuple((active(one.at_source, t), active(one.at_destination, t)) for one in self._wires)

    def copy(self) -> None:
        """Let every gated wire deliver."""
        for wire, (at_source, at_destination) in zip(self._wires, self._changes, strict=True):
            value = read_cell(self._kernel, wire.source, wire.source_type)
            if at_source is not None:
                value = at_source(value)
            value = wire.conversion.carry(value)
            if not holds_integer(wire.destination_type):
                value = float(value)
            if at_destination is not None:
                value = at_destination(value)
            write_cell(self._kernel, wire.destination, wire.destination_type, value)

    # -- operations of a kernel ------------------------------------------------------------------------------

    def exchange(self, group: int) -> None:
        self._kernel.exchange(group)
        self.copy()

    def accept(self, t: float) -> None:
        self.copy()
        self._kernel.accept(t)

    def sweep(self, steps: Sequence[Call | SolveLoop]) -> int:
        number = self._kernel.sweep(steps)
        self._sweeps[number] = tuple(
            step if isinstance(step, SolveLoop) and step.loop in self._loops else self._part(step) for step in steps
        )
        return number

    def _part(self, step: Call | SolveLoop) -> _Part:
        gated = isinstance(step, Call) and not self._inputs.isdisjoint(step.inputs)
        return _Part(self._kernel.sweep((step,)), gated)

    def evaluate(self, sweep: int) -> Outcome:
        for part in self._sweeps[sweep]:
            outcome = self._solve(part.loop) if isinstance(part, SolveLoop) else self._evaluate(part)
            if not outcome.ok:
                return outcome
        return OK

    def _evaluate(self, part: _Part) -> Outcome:
        if part.gated:
            self.copy()
        return self._kernel.evaluate(part.sweep)

    # -- loops -----------------------------------------------------------------------------------------------

    def loop(self, loop: LoopCalls) -> int:
        number = self._kernel.loop(loop)
        if any(not self._inputs.isdisjoint(call.inputs) for call in loop.body):
            self._loops[number] = _GatedLoop(loop, tuple(map(self._part, loop.body)), -np.eye(len(loop.torn)))
        return number

    def set_chord(self, loop: int, matrix: Floats) -> None:
        self._kernel.set_chord(loop, matrix)
        if loop in self._loops:
            self._loops[loop].chord = matrix

    def residual(self, loop: int, x: Floats) -> tuple[Outcome, Floats]:
        if loop not in self._loops:
            return self._kernel.residual(loop, x)
        gated, torn = self._loops[loop], list(self._loops[loop].calls.torn)
        self._kernel.values[torn] = x
        for part in gated.body:
            outcome = self._evaluate(part)
            if not outcome.ok:
                return outcome, np.full_like(x, np.nan)
        return OK, self._kernel.values[torn]

    def jacobian_product(self, loop: int, seed: Floats) -> tuple[Outcome, Floats]:
        """Of a gated loop nan, which stands for unknown: the wires that it would go through are not the kernel's."""
        if loop in self._loops:
            return OK, np.full_like(seed, np.nan)
        return self._kernel.jacobian_product(loop, seed)

    def _solve(self, loop: int) -> Outcome:
        """The chord iteration, as the other kernel does it."""
        calls, chord = self._loops[loop].calls, self._loops[loop].chord
        x = np.array(self._kernel.values[list(calls.torn)])
        for _ in range(calls.max_iterations):
            outcome, value = self.residual(loop, x)
            if not outcome.ok:
                return outcome
            allowed = calls.atol + calls.rtol * np.maximum(np.abs(x), calls.nominal)
            if np.all(np.abs(value - x) <= allowed):
                return OK
            x = x - chord @ (value - x)
        return Outcome(Code.LOOP, loop=loop)
