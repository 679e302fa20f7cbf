"""Linear models of systems of model exchange: those of the components, coupled by their connections.

With x' = A x + B u and y = C x + D u of all components, and u = W y + w of the connections, everything follows from one
linear system, which is exact through algebraic loops.
"""

from collections.abc import Container, Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np

from ssptool.analysis.linear_model import LinearModel
from ssptool.analysis.part_jacobian import PartJacobian, at_most, part_jacobian
from ssptool.analysis.probing import Probe
from ssptool.engine.failure import RunError, Unsupported
from ssptool.engine.kernel.calls import Floats
from ssptool.engine.trace import REAL_TYPES
from ssptool.errors import abbreviated
from ssptool.fmu.instance import FmiError

DISAGREES = 1e-3
"""Relative disagreement with the system itself that is remarked on."""

CHECKED = (1e-3, 1e-5)
"""Relative steps over which a linear model is compared with the system."""


class Coupled(NamedTuple):
    """Derivatives of a coupled system.

    Attributes
    ----------
    A : (n, n)
    B : (n, m)
    signals_by_states : (slots, n)
    signals_by_inputs : (slots, m)
    """

    A: Floats
    B: Floats
    signals_by_states: Floats
    signals_by_inputs: Floats


class Request(NamedTuple):
    """Slots of inputs, of outputs, and of connected inputs that are opened."""

    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    opened: frozenset[int] = frozenset()


def request(probe: Probe, inputs: Sequence[str], outputs: Sequence[str], opened: Sequence[str]) -> Request:
    """Slots by names; by default the connectors of the system, or where it has none, unconnected inputs and all
    outputs of components. Raises UnknownName, WrongValue.
    """
    opening = probe.slots(opened, "input")
    given = (*opening, *probe.slots(inputs, "input")) if inputs or opened else _default_inputs(probe)
    found = probe.slots(outputs, "output") if outputs else probe.outputs
    return Request(tuple(dict.fromkeys(given)), tuple(dict.fromkeys(found)), frozenset(opening))


def _default_inputs(probe: Probe) -> tuple[int, ...]:
    plan = probe.plan
    sources = {wire.source for wire in plan.wires}
    root = [slot for slot, one in enumerate(plan.signals) if not one.component and slot in sources - probe.fed]
    if not root:
        root = [slot for part in probe.parts for slot in part.inputs if slot not in probe.fed]
    return tuple(slot for slot in root if probe.is_real(slot))


def linear_model(probe: Probe, asked: Request) -> LinearModel:
    """The linear model at the point of a probe. Raises RunError, FmiError, Unsupported."""
    parts = [part_jacobian(part) for part in probe.parts]
    coupled = coupled_blocks(probe, [one.matrix for one in parts], asked)
    moved = coupled_blocks(probe, [one.matrix + one.error for one in parts], asked)
    outputs = list(asked.outputs)
    C, D = coupled.signals_by_states[outputs], coupled.signals_by_inputs[outputs]
    errors = np.abs(moved.A - coupled.A), np.abs(moved.B - coupled.B)
    errors_of_outputs = (
        np.abs(moved.signals_by_states[outputs] - C),
        np.abs(moved.signals_by_inputs[outputs] - D),
    )
    of_rows = chain(
        at_most(np.hstack(errors), np.hstack([coupled.A, coupled.B])),
        at_most(np.hstack(errors_of_outputs), np.hstack([C, D])),
    )
    difference = _disagreement(probe, asked, coupled)
    return LinearModel(
        system=probe.plan.name,
        time=probe.t,
        A=coupled.A,
        B=coupled.B,
        C=C,
        D=D,
        slopes=probe.slopes0.copy(),
        states=probe.states,
        inputs=tuple(probe.variable(slot) for slot in asked.inputs),
        outputs=tuple(probe.variable(slot) for slot in asked.outputs),
        error=max(0.0, difference, *of_rows),
        ways={part.name: one.way for part, one in zip(probe.parts, parts, strict=True)},
        notes=(*_notes(parts), *_on_held_signals(probe), *_on_disagreement(difference)),
    )


def coupled_at(probe: Probe, asked: Request) -> Coupled:
    """Derivatives where the probe stands. Raises RunError, FmiError, Unsupported."""
    found = coupled_blocks(probe, [part_jacobian(part).matrix for part in probe.parts], asked)
    probe.stand(probe.x0)
    return found


def _notes(parts: Sequence[PartJacobian]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(note for one in parts for note in one.notes))


def _on_held_signals(probe: Probe) -> tuple[str, ...]:
    """Note on connected signals that change at events only, as those of sampled controllers do."""
    plan = probe.plan
    held = [probe.names[wire.source] for wire in plan.wires if wire.discrete and plan.types[wire.source] in REAL_TYPES]
    modes = (plan.event_modes, plan.ode.events) if plan.ode is not None else (plan.event_modes,)
    held += [str(wire.source) for one in modes for wire in one.wires]
    if not held:
        return ()
    names = abbreviated(dict.fromkeys(held))
    return (f"signals that change at events only are constant in the linear model, as between two events: {names}",)


def _on_disagreement(difference: float) -> tuple[str, ...]:
    if np.isnan(difference):
        return ("the linear model was not compared with the system, which cannot be evaluated near this point",)
    if difference <= DISAGREES:
        return ()
    return (
        f"near this point the system differs from the linear model by {difference:.1g} of a change: it may jump or "
        "bend here",
    )


class Direct(NamedTuple):
    """Direct dependences of signals: those through other signals are left out.

    Attributes
    ----------
    states : (slots, n)
        Outputs on the states of their component.
    feedthrough : (slots, slots)
        Outputs on the inputs of their component.
    wires : (slots, slots)
        Inputs on what is connected to them.
    """

    states: Floats
    feedthrough: Floats
    wires: Floats


def direct(probe: Probe, blocks: Sequence[Floats], opened: Container[int] = ()) -> Direct:
    """Direct dependences, by the derivatives of each component; `opened` inputs are not connected."""
    size = len(probe.values0)
    found = Direct(np.zeros((size, len(probe.x0))), np.zeros((size, size)), np.zeros((size, size)))
    for part, block in zip(probe.parts, blocks, strict=True):
        own, into, out = list(part.states), list(part.inputs), list(part.outputs)
        found.states[np.ix_(out, own)] = block[len(own) :, : len(own)]
        found.feedthrough[np.ix_(out, into)] = block[len(own) :, len(own) :]
    for wire in probe.plan.wires:
        if probe.is_real(wire.source) and probe.is_real(wire.destination) and wire.destination not in opened:
            found.wires[wire.destination, wire.source] = wire.conversion.factor
    return found


def coupled_blocks(probe: Probe, blocks: Sequence[Floats], asked: Request) -> Coupled:
    """Solve s = (feedthrough + wires) s + states x + P w for all signals s."""
    size, states, inputs = len(probe.values0), len(probe.x0), len(asked.inputs)
    known, P = direct(probe, blocks, asked.opened), np.zeros((size, inputs))
    P[list(asked.inputs), range(inputs)] = 1.0
    signals = _solved(np.eye(size) - known.feedthrough - known.wires, np.hstack([known.states, P]))
    by_states, by_inputs = signals[:, :states], signals[:, states:]
    A, B = np.zeros((states, states)), np.zeros((states, inputs))
    for part, block in zip(probe.parts, blocks, strict=True):
        own, into = list(part.states), list(part.inputs)
        A[own] = block[: len(own), len(own) :] @ by_states[into]
        A[np.ix_(own, own)] += block[: len(own), : len(own)]
        B[own] = block[: len(own), len(own) :] @ by_inputs[into]
    return Coupled(A, B, by_states, by_inputs)


def _solved(matrix: Floats, right: Floats) -> Floats:
    """Raises Unsupported for an algebraic loop without a unique solution."""
    try:
        found = np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)
    except np.linalg.LinAlgError:
        found = np.full(right.shape, np.nan)
    if not np.isfinite(found).all():
        raise Unsupported(
            "the system",
            "an algebraic loop has no unique linear solution at this point",
            "choose another time or other parameters, or open the loop: --open CONNECTOR",
        )
    return found


def _disagreement(probe: Probe, asked: Request, coupled: Coupled) -> float:
    """Largest difference of the linear model from the system along one direction of states and unconnected inputs,
    relative to the sizes of what is added; by the step where it is smallest.
    """
    if asked.opened:  # which the system itself cannot be
        return 0.0
    free = [place for place, slot in enumerate(asked.inputs) if slot not in probe.fed]
    point = [(asked.inputs[place], float(probe.values0[asked.inputs[place]])) for place in free]
    usual = np.array([max(abs(probe.values0[slot]), probe.plan.nominal[slot]) for slot in asked.inputs])
    w = np.zeros(len(asked.inputs))
    w[free] = usual[free] * np.where(np.arange(len(free)) % 2, 0.6, 1.0)
    x = np.maximum(np.abs(probe.x0), probe.nominal) * np.where(np.arange(len(probe.x0)) % 2, -0.7, 1.0)
    outputs = list(asked.outputs)
    by_states = np.vstack([coupled.A, coupled.signals_by_states[outputs]])
    by_inputs = np.vstack([coupled.B, coupled.signals_by_inputs[outputs]])
    predicted = by_states @ x + by_inputs @ w
    scale = np.abs(by_states) @ np.abs(x) + np.abs(by_inputs) @ np.abs(w)
    if not np.any(scale):
        return 0.0

    def there(step: float) -> Floats:
        slots = {asked.inputs[place]: probe.values0[asked.inputs[place]] + step * w[place] for place in free}
        slopes = probe.evaluate(probe.x0 + step * x, probe.given | slots)
        return np.concatenate([slopes, probe.values[outputs]])

    found = []
    for step in CHECKED:
        try:
            change = (there(step) - there(-step)) / (2 * step)
        except (RunError, FmiError):
            continue
        apart = np.abs(change - predicted)
        found.append(float(np.max(apart[scale > 0] / scale[scale > 0])))
    probe.stand(probe.x0, point)  # slots that nothing feeds keep what they were given last
    return min(found, default=np.nan)
