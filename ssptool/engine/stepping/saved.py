"""Saved simulations: files from which a co-simulation can continue, also in another process."""

import errno
import hashlib
import struct
import zipfile
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ssptool.documents.foreign_files import ArchiveLimits, ForeignZip, SpecialFile, exceeded
from ssptool.documents.saving import replaced_atomically
from ssptool.engine.kernel.calls import Floats
from ssptool.engine.kernel.interface import Kernel
from ssptool.engine.masters.protocols import SavedState, part_of, under
from ssptool.engine.planning.plan import Plan
from ssptool.engine.stepping.values import NotSavable
from ssptool.errors import UnusableFile
from ssptool.foreign_text import json_content, strict_json

_FORMAT = 11
_FACTS, _SYSTEM, _MEMORY, _CHECKSUM = "facts", "system", "master", "sha256"


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

    def write(self, path: Path, plan: Plan) -> None:
        """Write a file (a zip of arrays). It replaces an old file only after it is complete."""
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
        with replaced_atomically(path) as file:
            np.savez_compressed(file, **arrays)

    @classmethod
    def read(cls, path: Path, plan: Plan) -> "SavedSimulation":
        """Read a file that was saved with the same plan.

        Raises
        ------
        UnusableFile
        """
        arrays, facts = _opened(path)
        for what, present in _identity(plan).items():
            if facts["plan"].get(what) != present:
                saved = facts["plan"].get(what)
                raise UnusableFile(path, f"it was saved with {what} {saved!r}, but {what} is now {present!r}")
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


def saved_substeps(path: Path, names: Collection[str]) -> tuple[tuple[str, int], ...]:
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
        raise UnusableFile(path, f"not a saved simulation: its format is {facts.get('format')!r}, must be {_FORMAT}")
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
        "signals": [str(signal) for signal in plan.signals],
        "FMUs": [[one.name, one.description.fmi_version, one.description.token] for one in plan.instances],
        "interval": [interval.start, interval.step],
        "master": repr(plan.master),
        "stimuli": plan.stimuli.fingerprint(),
        "substeps": dict(plan.substep_counts),
    }


def check_savable(plan: Plan, *, in_memory: bool = False) -> None:
    """Check that every FMU can save its state, and can serialize it (not required for `in_memory`).

    Raises
    ------
    NotSavable
    """
    verb, flag = ("save", "canGetAndSetFMUState") if in_memory else ("serialize", "canSerializeFMUState")
    for planned in plan.instances:
        able = planned.used_interface
        if not (able.saves_state if in_memory else able.serializes_state):
            raise NotSavable(f"the FMU of {planned.name} cannot {verb} its state ({flag})")


def contents(kernel: Kernel) -> tuple[bytes, ...]:
    """Contents of the kernel, by number."""
    return tuple(kernel.content(number) for number in range(kernel.contents))


def number_contents(kernel: Kernel, contents: Iterable[bytes]) -> None:
    """Add these contents to the kernel in order, so that they keep their numbers."""
    for content in contents:
        kernel.number(content)
