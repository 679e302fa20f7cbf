"""Saved simulations: files from which a co-simulation continues elsewhere."""

import errno
import hashlib
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ssptool.documents.foreign_files import ArchiveLimits, ForeignZip, SpecialFile, exceeded
from ssptool.documents.saving import replaced_atomically
from ssptool.engine.assembly.assembly import Assembly
from ssptool.engine.kernel.interface import Floats, Kernel, SolveLoop
from ssptool.engine.masters.protocols import SavedState, part_of, under
from ssptool.engine.planning.plan import Plan
from ssptool.engine.run.loops import RunningLoop
from ssptool.engine.stepping.values import NotSavable
from ssptool.fmu.description import InterfaceType
from ssptool.fmu.instance import FmiError
from ssptool.foreign_text import json_content, strict_json

_FORMAT = 9
_FACTS, _SYSTEM, _MEMORY, _CHECKSUM = "facts", "system", "master", "sha256"


class NotASavedSimulation(Exception):
    """The file was not written by `Simulation.save`, or by another version of it."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path} is not a saved simulation: {reason}")
        self.path = path
        self.reason = reason


class SavedForAnother(Exception):
    """The file was saved from another system, or with other settings."""

    def __init__(self, path: Path, what: str, saved: Any, present: Any) -> None:
        super().__init__(f"{path} was saved with another {what}: {saved!r}, present is {present!r}")
        self.path = path
        self.what = what


@dataclass(frozen=True, slots=True)
class SavedLoop:
    """An algebraic loop in schedules: the tolerance that rounding allows, and the chord."""

    rtol: float
    chord: Floats


_DAMAGED = (
    ValueError,
    KeyError,
    EOFError,
    AttributeError,
    RuntimeError,  # of encrypted entries, and of compressions that zipfile does not know
    struct.error,
    zlib.error,
    zipfile.BadZipFile,
)
"""Errors of reading a file that is not ours, or in which some bits are wrong."""


@dataclass(frozen=True, slots=True)
class StateInPython:
    """The state of a co-simulation that Python steps.

    Attributes
    ----------
    values, input_value, input_rates
        Arrays of the kernel.
    loops
        By their number in the plan.
    states
        Serialized FMU states, in the order of the instances.
    follows : (k, 2)
        Instances whose FMUs do not follow their inputs, with the order that is left to them.
    """

    values: Floats
    input_value: Floats
    input_rates: Floats
    loops: Mapping[int, SavedLoop]
    states: tuple[bytes, ...]
    follows: NDArray[np.int64]

    @classmethod
    def of(cls, assembly: Assembly, loops: Mapping[int, RunningLoop]) -> "StateInPython":
        """The present one. Raises `NotSavable`."""
        kernel = assembly.kernel
        return cls(
            kernel.values.copy(),
            kernel.input_value.copy(),
            kernel.input_rates.copy(),
            {number: SavedLoop(loop.rtol, loop.chord) for number, loop in loops.items()},
            _serialized(assembly),
            np.array([found[:2] for found in kernel.retreats], dtype=np.int64).reshape(-1, 2),
        )

    def arrays(self) -> dict[str, Any]:
        """Arrays by name, for a file."""
        return {
            "values": self.values,
            "input_value": self.input_value,
            "input_rates": self.input_rates,
            "loops": np.array([[number, loop.rtol] for number, loop in self.loops.items()]).reshape(-1, 2),
            **{f"chord_{number}": loop.chord for number, loop in self.loops.items()},
            **{f"state_{index}": _bytes(state) for index, state in enumerate(self.states)},
            "follows": self.follows,
        }

    @classmethod
    def restored(cls, arrays: Mapping[str, Any], instances: int) -> "StateInPython":
        """The inverse of `arrays`."""
        return cls(
            arrays["values"],
            arrays["input_value"],
            arrays["input_rates"],
            {int(n): SavedLoop(float(rtol), arrays[f"chord_{int(n)}"]) for n, rtol in arrays["loops"].tolist()},
            tuple(arrays[f"state_{index}"].tobytes() for index in range(instances)),
            arrays["follows"],
        )


@dataclass(frozen=True, slots=True)
class SavedSimulation:
    """A simulation at a communication point.

    Attributes
    ----------
    steps
        Rows from the start to here.
    history : (k, 1 + n)
        The latest accepted points, oldest first: time, then all slots.
    last : (1 + n,)
        The last row, which may be a side of an event.
    contents
        String table of the slots of strings.
    state
        The complete state of the system, FMUs included.
    memory
        What a master in Python remembers from earlier steps.
    """

    steps: int
    history: Floats
    last: Floats
    contents: tuple[bytes, ...]
    state: bytes | StateInPython
    memory: SavedState

    def write(self, path: Path, plan: Plan) -> None:
        """Write a file (a zip of arrays); it replaces an old one only when it is complete."""
        arrays: dict[str, Any] = {
            "history": self.history,
            "last": self.last,
            "contents": _bytes(b"".join(self.contents)),
            "content_sizes": np.array([len(content) for content in self.contents], dtype=np.int64),
            **({_SYSTEM: _bytes(self.state)} if isinstance(self.state, bytes) else self.state.arrays()),
            **under(_MEMORY, self.memory),
        }
        facts = {"format": _FORMAT, "plan": _identity(plan), "steps": self.steps}
        facts[_CHECKSUM] = _digest(arrays, facts)
        arrays[_FACTS] = _bytes(strict_json(facts).encode())
        with replaced_atomically(path) as file:
            np.savez_compressed(file, **arrays)

    @classmethod
    def read(cls, path: Path, plan: Plan) -> "SavedSimulation":
        """Read a file that was saved with the same plan.

        Raises
        ------
        NotASavedSimulation, SavedForAnother
        """
        try:
            with ForeignZip(path) as packed:
                for problem in exceeded(packed.infolist(), ArchiveLimits()):
                    raise NotASavedSimulation(path, problem)
            with np.load(path, allow_pickle=False) as archive:
                arrays = {name: archive[name] for name in archive.files}
            facts = json_content(arrays[_FACTS].tobytes())
        except _DAMAGED:
            # numpy's own message would advise to unpickle a foreign file.
            raise NotASavedSimulation(path, "it is incomplete, or was not written by save()") from None
        except SpecialFile:
            raise
        except OSError as error:
            if error.errno not in (None, errno.EINVAL):  # of the system, not of a decompressor or a wrong offset
                raise
            raise NotASavedSimulation(path, f"it is damaged: {error}") from None
        _require_intact(path, arrays, facts)
        for what, present in _identity(plan).items():
            if facts["plan"].get(what) != present:
                raise SavedForAnother(path, what, facts["plan"].get(what), present)
        try:
            return cls._of(arrays, facts, plan)
        except KeyError as missing:
            raise NotASavedSimulation(path, f"it is damaged: it has no {missing}") from None
        except (TypeError, ValueError, AttributeError, OverflowError) as error:
            raise NotASavedSimulation(path, f"it is damaged: {error}") from None

    @classmethod
    def _of(cls, arrays: dict[str, Any], facts: dict[str, Any], plan: Plan) -> "SavedSimulation":
        of_system = _SYSTEM in arrays
        return cls(
            steps=_count(facts["steps"]),
            history=arrays["history"],
            last=arrays["last"],
            contents=tuple(_parts(arrays["contents"].tobytes(), arrays["content_sizes"])),
            state=arrays[_SYSTEM].tobytes() if of_system else StateInPython.restored(arrays, len(plan.instances)),
            memory=part_of(arrays, _MEMORY),
        )


def _require_intact(path: Path, arrays: Mapping[str, Any], facts: Any) -> None:
    """Raises NotASavedSimulation if the description is none, or is not of these arrays."""
    if not isinstance(facts, dict) or not isinstance(facts.get("plan"), dict):
        raise NotASavedSimulation(path, "it is damaged: its description is no JSON object with a plan")
    if facts.get("format") != _FORMAT:
        raise NotASavedSimulation(path, f"its format is {facts.get('format')!r}, must be {_FORMAT}")
    if facts.get(_CHECKSUM) != _digest(arrays, facts):
        raise NotASavedSimulation(path, "it is damaged: its content is not the one that was saved")


def _digest(arrays: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    """SHA-256 of all arrays and the description: masters rely on the shapes of what they have saved."""
    stated = {name: fact for name, fact in facts.items() if name != _CHECKSUM}
    digest = hashlib.sha256(strict_json(stated, sort_keys=True).encode())
    for name in sorted(arrays.keys() - {_FACTS}):
        array = np.asarray(arrays[name])
        digest.update(f"{name} {array.dtype.str} {array.shape} ".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _count(stated: Any) -> int:
    if type(stated) is not int or stated < 0:
        raise ValueError(f"its number of steps is {stated!r}")
    return stated


def _bytes(content: bytes) -> Any:
    return np.frombuffer(content, dtype=np.uint8)


def _parts(content: bytes, sizes: Any) -> Iterator[bytes]:
    ends = np.cumsum(sizes).tolist()
    for size, end in zip(sizes.tolist(), ends, strict=True):
        yield content[end - size : end]


def _identity(plan: Plan) -> dict[str, Any]:
    """Facts that must agree for a saved state to fit."""
    interval = plan.interval
    return {
        "system": plan.name,
        "signals": [str(signal) for signal in plan.signals],
        "FMUs": [[one.name, one.description.fmi_version, one.description.token] for one in plan.instances],
        "interval": [interval.start, interval.step],
        "master": repr(plan.master),
        "stimuli": plan.stimuli.fingerprint(),
    }


def check_savable(plan: Plan) -> None:
    """Check that every FMU can serialize its state.

    Raises
    ------
    NotSavable
    """
    for planned in plan.instances:
        if not planned.used_interface.serializes_state:
            raise NotSavable(f"the FMU of {planned.name} cannot serialize its state (canSerializeFMUState)")


def _serialized(assembly: Assembly) -> tuple[bytes, ...]:
    """The states of all FMUs."""
    try:
        return tuple(instance.serialize() for instance in assembly.instances)
    except FmiError as error:
        raise NotSavable(str(error)) from None


def contents(kernel: Kernel) -> tuple[bytes, ...]:
    """Contents of the kernel, by number."""
    return tuple(kernel.content(number) for number in range(kernel.contents))


def number_contents(kernel: Kernel, contents: Iterable[bytes]) -> None:
    """The kernel knows what it knew of contents: in their order, so that they get the numbers that they had."""
    for content in contents:
        kernel.number(content)


def restored_loops(plan: Plan, assembly: Assembly, saved: StateInPython) -> dict[int, RunningLoop]:
    """The loops, by their number."""
    return {number: _loop_of(plan, assembly, number, loop) for number, loop in saved.loops.items()}


def accept_points(kernel: Kernel, history: Floats) -> None:
    for point in history:
        kernel.values[:] = point[1:]
        kernel.accept(float(point[0]))


def set_values(kernel: Kernel, saved: StateInPython) -> None:
    kernel.values[:] = saved.values
    kernel.input_value[:] = saved.input_value
    kernel.input_rates[:] = saved.input_rates


def _loop_of(plan: Plan, assembly: Assembly, number: int, saved: SavedLoop) -> RunningLoop:
    ode, planned = plan.coupled_ode, plan.loops[number]
    inside = ode is not None and SolveLoop(number) in ode.schedule
    own = assembly.of_ode if inside else assembly
    loop = RunningLoop(own, replace(planned, calls=replace(planned.calls, rtol=saved.rtol)), number)
    own.kernel.set_chord(loop.index, saved.chord)
    return loop


def restore_states(plan: Plan, assembly: Assembly, saved: StateInPython) -> None:
    """The FMUs are in their saved states, and those that do not follow their inputs need not refuse it again."""
    limits: dict[int, int] = dict(saved.follows.tolist())
    for number, order in limits.items():
        assembly.kernel.limit_inputs(number, order)
    every = zip(plan.instances, assembly.instances, saved.states, strict=True)
    for number, (planned, instance, state) in enumerate(every):
        instance.deserialize(state)
        rates = saved.input_rates[:, list(planned.input_slots)]
        order = int(np.max(np.flatnonzero(rates.any(axis=1)) + 1, initial=0))
        order = min(order, limits.get(number, 2))
        if order and planned.capabilities.follows and planned.interface is InterfaceType.CO_SIMULATION:
            # The new kernel does not know that this FMU follows its inputs, and would not reset the derivatives.
            instance.forget_rates([name for name, _ in planned.moving], order)
