"""Saved simulations: files from which a run or a simulation can continue, also in another process."""

import errno
import hashlib
import io
import struct
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ssptool.documents.foreign_files import ArchiveLimits, ForeignZip, SpecialFile, exceeded
from ssptool.engine.assembly.assembly import Assembly
from ssptool.engine.kernel.calls import Floats
from ssptool.engine.masters.protocols import SavedState, part_of, under
from ssptool.engine.planning.plan import FoundAtStart, Plan
from ssptool.engine.run.accuracy_check import step_is_guessed, with_reason
from ssptool.engine.run.freeze import frozen_starts, root_starts
from ssptool.engine.run.make_plan import completed
from ssptool.engine.run.selection import select
from ssptool.engine.run.steps import steps_of
from ssptool.engine.run.system import LoadedSystem, SystemSteps
from ssptool.errors import UnusableFile, WrongValue, abbreviated
from ssptool.fmu.instance import FmiError
from ssptool.foreign_text import json_content, strict_json

if TYPE_CHECKING:
    from ssptool.engine.kernel._kernel import NativeKernel


_FORMAT = 15
_FACTS, _SYSTEM, _MEMORY, _CHECKSUM = "facts", "system", "master", "sha256"
_SIGNALS, _STARTS = "signals", "start values"


class NotSavable(Exception):
    """The complete state of a simulation cannot be saved."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"the simulation cannot be saved: {reason}")
        self.reason = reason


_DAMAGED = (
    ValueError,
    KeyError,
    EOFError,
    AttributeError,
    RuntimeError,  # from encrypted entries, and from compressions that zipfile does not know
    struct.error,
    zlib.error,
    zipfile.BadZipFile,
)
"""Errors of reading a foreign or damaged file."""


@dataclass(frozen=True, slots=True)
class SavedSimulation:
    """A simulation at a communication point.

    Attributes
    ----------
    steps
        Rows from the start to here.
    accepted : [s]
        Time of the last communication point.
    last : (1 + n,)
        The last row, possibly one side of an event: time, then all slots.
    contents
        String table of the slots of strings.
    state
        The complete state of the system, FMUs included.
    memory
        Memory of a master in Python about earlier steps.
    """

    steps: int
    accepted: float
    last: Floats
    contents: tuple[bytes, ...]
    state: bytes
    memory: SavedState

    @classmethod
    def now(cls, steps: SystemSteps, plan: Plan, count: int, accepted: float, last: Floats) -> "SavedSimulation":
        """The complete simulation at the present point, after `count` rows; no rows may wait. Raises NotSavable."""
        memory = memory_of(steps, plan)
        check_savable(plan)
        try:
            state = steps.save()  # first, because it may move the FMUs to the point to be saved
        except FmiError as error:
            raise NotSavable(str(error)) from None
        return cls(count, accepted, last, contents(steps.kernel), state, memory)

    def resumed(self, loaded: LoadedSystem, assembly: Assembly) -> SystemSteps:
        """Steps of the loaded system from here. Raises FmiError, and ValueError for a state of another system."""
        number_contents(assembly.kernel, self.contents)
        try:
            loaded.resume(assembly, self.state)
            steps = steps_of(loaded, assembly, resumed=True)
            steps.recall(self.memory)
        except (RuntimeError, ValueError) as error:
            raise ValueError(f"not a saved simulation: {error}") from None
        return steps

    @property
    def time(self) -> float:
        """Time of the last row [s]."""
        return float(self.last[0])

    def content(self, plan: Plan) -> bytes:
        """Content of a file (a zip of arrays)."""
        arrays: dict[str, Any] = {
            "accepted": np.array(self.accepted),
            "last": self.last,
            "contents": _bytes(b"".join(self.contents)),
            "content_sizes": np.array([len(content) for content in self.contents], dtype=np.int64),
            _SYSTEM: _bytes(self.state),
            **under(_MEMORY, self.memory),
        }
        facts = {"format": _FORMAT, "plan": _identity(plan), "steps": self.steps}
        facts[_CHECKSUM] = _digest(arrays, facts)
        arrays[_FACTS] = _bytes(strict_json(facts).encode())
        written = io.BytesIO()
        np.savez_compressed(written, **arrays)
        return written.getvalue()

    @classmethod
    def read(cls, path: Path, plan: Plan) -> "SavedSimulation":
        """Read a file that was saved with the same plan.

        Raises
        ------
        UnusableFile
        """
        arrays, facts = _opened(path)
        for what, present in _identity(plan).items():
            saved = facts["plan"].get(what)
            if saved != present:
                raise UnusableFile(path, _difference(what, saved, present))
        try:
            return cls._of(arrays, facts)
        except KeyError as missing:
            raise UnusableFile(path, f"not a saved simulation: it is damaged: it has no {missing}") from None
        except (TypeError, ValueError, AttributeError, OverflowError) as error:
            raise UnusableFile(path, f"not a saved simulation: it is damaged: {error}") from None

    @classmethod
    def _of(cls, arrays: dict[str, Any], facts: dict[str, Any]) -> "SavedSimulation":
        return cls(
            steps=_count(facts["steps"]),
            accepted=float(arrays["accepted"]),
            last=arrays["last"],
            contents=tuple(_parts(arrays["contents"].tobytes(), arrays["content_sizes"])),
            state=arrays[_SYSTEM].tobytes(),
            memory=part_of(arrays, _MEMORY),
        )


def continued(
    path: Path, plan: Plan, replan: Callable[..., Plan], recorded: Sequence[str]
) -> tuple[Plan, SavedSimulation]:
    """A saved simulation, and the plan of the run that continues it: with the step and the substeps of the file if the
    plan states none. `replan` makes the plan with other settings; `recorded` are patterns of signals.

    Raises
    ------
    UnusableFile
    WrongValue
        The saved simulation has reached the stop time.
    """
    if step_is_guessed(plan):
        step = _saved_step(path)
        plan = with_reason(replan(settings=replace(plan.settings, step_size=step)), "step_size", step, f"as in {path}")
    plan = with_saved_substeps(path, plan)
    saved = SavedSimulation.read(path, select(plan, recorded))
    if saved.time >= plan.interval.stop:
        raise WrongValue(
            f"{path} is at t = {saved.time:.12g} s, and the run ends at {plan.interval.stop:.12g} s; state a later "
            "stop time"
        )
    return replace(plan, instead=None), saved  # another implementation cannot continue it


def with_saved_substeps(path: Path, plan: Plan) -> Plan:
    """The plan with the numbers of substeps that a run finds at its start, from a saved simulation."""
    if not plan.by_need:
        return plan
    return completed(plan, FoundAtStart(substeps=_saved_substeps(path, plan.by_need)))


def _difference(what: str, saved: Any, present: Any) -> str:
    """Text on a fact of the plan that is not the one of the saved simulation."""
    if what == _SIGNALS and isinstance(saved, list):
        others = abbreviated(sorted({*saved, *present} - {*saved} & {*present}))
        return f"it was saved with other signals: {others}; record the same variables of FMUs"
    if what != _STARTS:
        return f"it was saved with {what} {saved!r}, but {what} is now {present!r}"
    before = saved if isinstance(saved, dict) else {}
    names = [name for name in present.keys() | before.keys() if present.get(name) != before.get(name)]
    where = abbreviated(sorted(name or "the system" for name in names))
    return (
        f"it was saved with other start values of {where}, and a run that continues keeps those; state the same start "
        "values, and change tunable parameters and inputs with `Simulation.set`"
    )


def _saved_step(path: Path) -> float:
    """Macro step [s] of a saved simulation. Raises UnusableFile."""
    stated = _opened(path)[1]["plan"].get("interval")
    if not isinstance(stated, list) or len(stated) != 2 or not isinstance(stated[1], float):
        raise UnusableFile(path, f"it was saved with interval {stated!r}, which has no step")
    return stated[1]


def _saved_substeps(path: Path, names: Collection[str]) -> tuple[tuple[str, int], ...]:
    """Substeps of these components in a saved simulation. Raises UnusableFile."""
    stated = _opened(path)[1]["plan"].get("substeps")
    counts = stated if isinstance(stated, dict) else {}
    if not all(isinstance(counts.get(name), int) for name in names):
        wanted = ", ".join(names)
        raise UnusableFile(path, f"it was saved with substeps {stated!r}, and not by need for {wanted}")
    return tuple((name, counts[name]) for name in names)


def _opened(path: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arrays and description of a file, complete and unchanged. Raises UnusableFile."""
    try:
        with ForeignZip(path) as packed:
            for problem in exceeded(packed.infolist(), ArchiveLimits()):
                raise UnusableFile(path, f"not a saved simulation: {problem}")
        with np.load(path, allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        facts = json_content(arrays[_FACTS].tobytes())
    except _DAMAGED:
        # numpy's own message would advise to unpickle an untrusted file.
        raise UnusableFile(path, "not a saved simulation: it is incomplete, or was not written by save()") from None
    except SpecialFile:
        raise
    except OSError as error:
        # Raised by the operating system, not by a decompressor or for a wrong offset.
        if error.errno not in (None, errno.EINVAL):
            raise
        raise UnusableFile(path, f"not a saved simulation: it is damaged: {error}") from None
    _require_intact(path, arrays, facts)
    return arrays, facts


def _require_intact(path: Path, arrays: Mapping[str, Any], facts: Any) -> None:
    """Check that the description is valid and belongs to these arrays. Raises UnusableFile."""
    if not isinstance(facts, dict) or not isinstance(facts.get("plan"), dict):
        raise UnusableFile(
            path, "not a saved simulation: it is damaged: its description is not a JSON object with a plan"
        )
    if facts.get("format") != _FORMAT:
        found = facts.get("format")
        reason = f"it was saved by another version of ssptool (format {found!r}, this version reads {_FORMAT})"
        raise UnusableFile(path, f"{reason}: continue it with that version, or save it again from the start")
    if facts.get(_CHECKSUM) != _digest(arrays, facts):
        raise UnusableFile(path, "not a saved simulation: it is damaged: its content is not the one that was saved")


def _digest(arrays: Mapping[str, Any], facts: Mapping[str, Any]) -> str:
    """SHA-256 of all arrays and the description. Masters rely on the shapes of their saved arrays."""
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
    """Facts about the plan that must be equal when a saved state is read."""
    interval = plan.interval
    return {
        "system": plan.name,
        _SIGNALS: [str(signal) for signal in plan.signals],
        "FMUs": [[one.name, one.description.fmi_version, one.description.token] for one in plan.instances],
        "interval": [interval.start, interval.step],
        "master": repr(plan.master),
        "stimuli": plan.stimuli.fingerprint(),
        "substeps": dict(plan.substep_counts),
        _STARTS: dict(_starts(plan)),
    }


def _starts(plan: Plan) -> Iterator[tuple[str, str]]:
    """Component → digest of its start values and structural parameters; "": those of inputs of the system."""
    roots = {str(plan.signals[slot]): value for slot, value in root_starts(plan).items()}
    own = ((one.name, [frozen_starts(one), sorted(one.structure.items())]) for one in plan.instances)
    for name, values in chain([("", sorted(roots.items()))], own):
        yield name, hashlib.sha256(strict_json(values, default=str).encode()).hexdigest()[:16]


def check_savable(plan: Plan, *, in_memory: bool = False) -> None:
    """Check that every FMU can save its state, and can serialize it (not required for `in_memory`).

    Raises
    ------
    NotSavable
    """
    if plan.undeclared and not in_memory:  # the plan of another simulation lacks it
        raise NotSavable(f"{plan.undeclared[0].component} has feedthrough that its description denies")
    verb, flag = ("save", "canGetAndSetFMUState") if in_memory else ("serialize", "canSerializeFMUState")
    for planned in plan.instances:
        able = planned.used_interface
        if not (able.saves_state if in_memory else able.serializes_state):
            raise NotSavable(f"the FMU of {planned.name} cannot {verb} its state ({flag})")


def memory_of(steps: SystemSteps, plan: Plan) -> SavedState:
    """Memory of a master in Python. Raises NotSavable."""
    memory = steps.memory()
    if memory is None:
        raise NotSavable(f"master {plan.master.name} cannot store its state")
    return memory


def contents(kernel: "NativeKernel") -> tuple[bytes, ...]:
    """Contents of the kernel, by number."""
    return tuple(kernel.content(number) for number in range(kernel.contents))


def number_contents(kernel: "NativeKernel", contents: Iterable[bytes]) -> None:
    """Add these contents to the kernel in order, so that they keep their numbers."""
    for content in contents:
        kernel.number(content)
