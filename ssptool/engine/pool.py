"""Libraries and instances that one run after the other uses, so that most runs load and instantiate nothing."""

from collections import defaultdict
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from ssptool.fmu.binary import Binary, load
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
        self._binaries: dict[tuple[Path, InterfaceType, int], Binary] = {}
        self._processes: dict[int, FmuProcess] = {}
        self._idle: dict[tuple[int, str], list[FmuInstance]] = defaultdict(list)

    def binary(self, path: Path, description: FmuDescription, interface: InterfaceType, process: int = 0) -> Binary:
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

    def _remote(self, unpacked: Binary, number: int) -> Binary:
        # Loaded here, because few runs need them.
        from ssptool.fmu.processes.process import FmuProcess
        from ssptool.fmu.processes.remote import RemoteBinary

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

    def take(self, binary: Binary, name: str) -> FmuInstance | None:
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

    def give_back(self, binary: Binary, instance: FmuInstance, *, keep: bool) -> None:
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

    def _free(self, binary: Binary, instance: FmuInstance) -> None:
        instance.free()
        binary.forget(instance)


class Fresh(Pool):
    """Of a single run, which has everything to itself."""

    def __init__(self) -> None:
        super().__init__(reuse=False)
