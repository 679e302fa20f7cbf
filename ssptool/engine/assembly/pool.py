"""FMU files, libraries and instances that one run after the other uses."""

from collections import defaultdict
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Protocol, Self

from ssptool.engine.planning.plan import Plan
from ssptool.fmu.binary import FmuBinary, load
from ssptool.fmu.compiling import CompiledFmu, compilation_notes, compiled_fmu, lacks_library
from ssptool.fmu.description import FmuDescription, InterfaceType
from ssptool.fmu.instance import FmiError, FmuInstance

if TYPE_CHECKING:
    from ssptool.fmu.processes.process import FmuProcess


class Pool:
    """Owns what was loaded until it is closed; a context manager.

    An instance that was terminated regularly is used again after a reset, which FMI asks of every FMU. One that
    refuses is freed, and a fresh one takes its place.

    Parameters
    ----------
    reuse
        False: each run has fresh instances, of libraries that stay loaded.
    """

    def __init__(self, *, reuse: bool = True) -> None:
        self.reuse = reuse
        self.reused = 0
        self._binaries: dict[tuple[Path, InterfaceType, int], FmuBinary] = {}
        self._processes: dict[int, FmuProcess] = {}
        self._idle: dict[tuple[int, str], list[FmuInstance]] = defaultdict(list)

    def binary(self, path: Path, description: FmuDescription, interface: InterfaceType, process: int = 0) -> FmuBinary:
        """A loaded FMU, in this process or in that of another number, which begins with its first FMU. Raises as
        `load`.
        """
        key = (path, interface, process)
        if process and (known := self._processes.get(process)) is not None and known.lost is not None:
            self._give_up(process)
        if key not in self._binaries:
            if process == 0:
                self._binaries[key] = load(path, description, interface)
            else:
                # An FMU of another process is unpacked here all the same, because here it is removed.
                self._binaries[key] = self._remote(self.binary(path, description, interface), process)
        return self._binaries[key]

    def _remote(self, unpacked: FmuBinary, number: int) -> FmuBinary:
        # Loaded here, because few runs need them.
        from ssptool.fmu.processes.process import FmuProcess, RemoteBinary

        if number not in self._processes:
            self._processes[number] = FmuProcess(number)
        return RemoteBinary(unpacked, self._processes[number])

    def _give_up(self, process: int) -> None:
        """A process that has ended by itself, and what was there."""
        for key in [key for key in self._binaries if key[-1] == process]:
            gone = self._binaries.pop(key)
            for one in [one for one in self._idle if one[0] == id(gone)]:
                del self._idle[one]
        self._processes.pop(process).end()

    def take(self, binary: FmuBinary, name: str) -> FmuInstance | None:
        """An instance of this name as after instantiation; None where a fresh one is needed."""
        idle = self._idle[id(binary), name]
        while idle:
            instance = idle.pop()
            try:
                instance.reset()
            except FmiError:
                self._free(binary, instance)
                continue
            self.reused += 1
            return instance
        return None

    def give_back(self, binary: FmuBinary, instance: FmuInstance, *, keep: bool) -> None:
        """The instance is no longer used; `keep` it for `take`, if it can be reset."""
        if self.reuse and keep and instance.reusable:
            self._idle[id(binary), instance.name].append(instance)
        else:
            self._free(binary, instance)

    def close(self) -> None:
        """Free all instances and libraries; doing it again does no harm."""
        self._idle.clear()
        while self._binaries:
            self._binaries.popitem()[1].close()
        while self._processes:
            self._processes.popitem()[1].end()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _free(self, binary: FmuBinary, instance: FmuInstance) -> None:
        instance.free()
        binary.forget(instance)


class Fresh(Pool):
    """Of a single run, which has everything to itself."""

    def __init__(self) -> None:
        super().__init__(reuse=False)


class Sources(Protocol):
    """Where FMUs come from; an archive is one."""

    def local_path(self, name: str) -> Path:
        """A file, or a folder, that can be read under this path."""
        ...


@dataclass(frozen=True, slots=True)
class WithLibraries:
    """An archive with copies of some of its FMUs that have a library for this platform."""

    archive: Sources
    copies: dict[str, Path]

    def local_path(self, name: str) -> Path:
        return self.copies.get(name) or self.archive.local_path(name)


def with_libraries(plan: Plan, archive: Sources) -> tuple[Plan, Sources]:
    """Compile the FMUs of a plan that have no library for this platform; the plan has a note on each.

    Raises
    ------
    NotCompiled
        There is no compiler, an FMU lists no sources, or the compiler refuses them.
    UnreadableFmu
        An FMU cannot be unpacked.
    """
    made: dict[str, CompiledFmu] = {}
    for one in plan.instances:
        path = archive.local_path(one.source)
        if one.source not in made and lacks_library(path, one.description):
            made[one.source] = compiled_fmu(path, one.description)
    if not made:
        return plan, archive
    copies = {source: one.path for source, one in made.items()}
    return replace(plan, notes=(*plan.notes, *compilation_notes(made))), WithLibraries(archive, copies)
