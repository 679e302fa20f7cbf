"""FMU instances: a pool that uses them again from run to run, and their distribution over processes."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple, Protocol, Self

from ssptool.engine.failure import Ending, Failure
from ssptool.engine.planning.plan import Plan, PlannedInstance
from ssptool.engine.settings import ASKED, EACH, Choice, Settings
from ssptool.errors import ContradictingSettings, abbreviated
from ssptool.fmu.binary import FmuBinary, load
from ssptool.fmu.compiling import CompiledFmu, compilation_notes, compiled_fmu, lacks_library
from ssptool.fmu.description import FmuDescription, InterfaceType
from ssptool.fmu.instance import FmiError, FmuInstance
from ssptool.fmu.processes import AVAILABLE, MISSING
from ssptool.fmu.surroundings import Surroundings
from ssptool.fmu.unpacked import UnpackedFmus
from ssptool.option_words import Boxing
from ssptool.working_directory import copied_from, original_of

if TYPE_CHECKING:
    from ssptool.fmu.processes.process import FmuProcess


OWN, BOXED = 0, -1
"""The process that steps all components by default, and the one in its place if FMUs are in a sandbox; other processes
are counted from 1."""


class EarlierRuns:
    """Unpacked FMUs and loaded systems that later runs of a system in this process use again, while its files stay
    unchanged.

    Attributes
    ----------
    folders
        Unpacked FMUs.
    systems
        Systems in C++ that have been loaded; they have no instances between runs.
    """

    def __init__(self) -> None:
        self.folders = UnpackedFmus()
        self.systems: list[object] = []

    def close(self) -> None:
        """Remove the unpacked FMUs."""
        self.systems.clear()
        self.folders.close()


class Pool:
    """Owner of loaded libraries and instances, until it is closed; a context manager.

    An instance that was terminated regularly is used again after a reset, which FMI requires of every FMU. An instance
    that cannot be reset is freed and replaced.

    Parameters
    ----------
    reuse
        If false, each run makes new instances; libraries stay loaded.
    earlier
        Resources that are shared with other runs.
    sandbox
        Load FMUs in child processes in a sandbox instead of this process.

    Attributes
    ----------
    systems
        Systems in C++ that earlier runs have loaded.
    """

    def __init__(self, *, reuse: bool = True, earlier: EarlierRuns | None = None, sandbox: Boxing = False) -> None:
        self.reuse = reuse
        self._sandbox = sandbox
        self._enclosed: tuple[Path, ...] = ()
        self._folders = None if earlier is None else earlier.folders
        self.reused = 0
        self.systems: list[object] = [] if earlier is None else earlier.systems
        self._paths: dict[str, Path] = {}
        self._binaries: dict[tuple[Path, InterfaceType, int], FmuBinary] = {}
        self._processes: dict[int, FmuProcess] = {}
        self._idle: dict[tuple[int, str], list[FmuInstance]] = defaultdict(list)

    def path(self, source: str, sources: "Sources") -> Path:
        """File or folder of an FMU, the same for all runs."""
        if source not in self._paths:
            self._paths[source] = sources.local_path(source)
        return self._paths[source]

    def enclose(self, plan: Plan, sources: "Sources") -> None:
        """Let sandboxes that start from now on see the FMUs of a plan."""
        self._enclosed = tuple(dict.fromkeys(self.path(one.source, sources) for one in plan.instances))

    def binary(self, path: Path, description: FmuDescription, interface: InterfaceType, process: int = 0) -> FmuBinary:
        """A loaded FMU, in this process (0) or in another one, which starts with its first FMU. Raises as `load`."""
        process = process or (BOXED if self._sandbox else OWN)
        key = (path, interface, process)
        if process and (known := self._processes.get(process)) is not None and known.lost is not None:
            self._give_up(process)
        if key not in self._binaries:
            if process == OWN:
                self._binaries[key] = load(path, description, interface, self._folders)
            elif self._sandbox:
                self._binaries[key] = self._remote(FmuBinary(path, description, path, None, interface), process)
            else:
                # This process removes unpacked files, so it also unpacks the FMUs of other processes.
                self._binaries[key] = self._remote(self.binary(path, description, interface), process)
        return self._binaries[key]

    def _remote(self, unpacked: FmuBinary, number: int) -> FmuBinary:
        # Imported here, because few runs need these modules.
        from ssptool.fmu.processes.process import FmuProcess, RemoteBinary

        if number not in self._processes:
            self._processes[number] = FmuProcess(number, self._sandbox, self._enclosed)
        return RemoteBinary(unpacked, self._processes[number])

    def _give_up(self, process: int) -> None:
        """Drop a process that has ended by itself, with the binaries and instances in it."""
        for key in [key for key in self._binaries if key[-1] == process]:
            gone = self._binaries.pop(key)
            for one in [one for one in self._idle if one[0] == id(gone)]:
                del self._idle[one]
        self._processes.pop(process).end()

    def take(self, binary: FmuBinary, name: str, surroundings: Surroundings | None) -> FmuInstance | None:
        """A reset instance of this name, for a run in these surroundings; None if a new one is needed."""
        idle = self._idle[id(binary), name]
        while idle:
            instance = idle.pop()
            instance.surroundings = surroundings
            try:
                instance.reset()
            except FmiError:
                self._free(binary, instance)
                continue
            self.reused += 1
            return instance
        return None

    def give_back(self, binary: FmuBinary, instance: FmuInstance, *, keep: bool) -> None:
        """Return an instance that is no longer used; `keep` it for `take`, if it can be reset."""
        instance.surroundings = None
        if self.reuse and keep and instance.reusable:
            self._idle[id(binary), instance.name].append(instance)
        else:
            self._free(binary, instance)

    def close(self) -> None:
        """Free all instances and libraries; may be called again."""
        self.systems = []
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


class Sources(Protocol):
    """Source of FMU files, such as an archive."""

    def local_path(self, name: str) -> Path:
        """Path of a file or folder on this machine."""
        ...


@dataclass(frozen=True, slots=True)
class Located:
    """FMUs by their names in the archive, as files that a child process can read; `originals` maps temporary copies to
    the files that they were made from.
    """

    paths: Mapping[str, Path]
    originals: Mapping[Path, Path]

    @classmethod
    def of(cls, paths: Mapping[str, Path]) -> Self:
        """Located files, with the names that messages use instead of those of copies."""
        return cls(paths, {path: found for path in paths.values() if (found := original_of(path)) is not None})

    def name_originals(self) -> None:
        """Let messages of this process, which may be a new interpreter, name the originals as well."""
        for copy, original in self.originals.items():
            copied_from(original, copy)

    def local_path(self, name: str) -> Path:
        return self.paths[name]


def with_libraries(plan: Plan, archive: Sources) -> tuple[Plan, Sources]:
    """Compile the FMUs of a plan that have no library for this platform. The plan gets a note on each of them.

    Raises
    ------
    UnusableFmu
        There is no compiler, an FMU lists no sources, or the compiler refuses them.
    UnreadableFmu
        An FMU cannot be unpacked.
    """
    made: dict[str, CompiledFmu] = {}
    paths = {one.source: archive.local_path(one.source) for one in plan.instances}
    for one in plan.instances:
        if one.source not in made and lacks_library(paths[one.source], one.description):
            made[one.source] = compiled_fmu(paths[one.source], one.description)
    if not made:
        return plan, archive
    copies = {source: one.path for source, one in made.items()}
    return replace(plan, notes=(*plan.notes, *compilation_notes(made))), Located.of({**paths, **copies})


REPORT = "the FMU is at fault: report it to its supplier; --in-process under a debugger shows where it happens"


class Distribution(NamedTuple):
    """Process of each component, and the choices that the plan reports about it."""

    processes: tuple[int, ...]
    choices: tuple[Choice, ...] = ()
    notes: tuple[str, ...] = ()


def distribute(instances: Sequence[PlannedInstance], settings: Settings) -> Distribution:
    """Distribute components over processes: as the settings say, and so that no FMUs share a process that disturb each
    other.

    Raises
    ------
    ContradictingSettings
        The settings ask for processes, which this platform does not support.
    """
    if settings.processes is not None and not AVAILABLE:
        raise ContradictingSettings(f"processes = {settings.processes}", MISSING, "leave out --processes")
    if settings.processes == EACH:
        processes = list(range(1, len(instances) + 1))
    elif settings.processes is None:
        processes = [OWN] * len(instances)
    else:
        processes = [1 + index % int(settings.processes) for index in range(len(instances))]
    moved = _apart(instances, processes) if AVAILABLE else {}
    return Distribution(tuple(processes), tuple(_choices(instances, processes, settings)), tuple(_notes(moved)))


def _apart(instances: Sequence[PlannedInstance], processes: list[int]) -> dict[str, list[str]]:
    """Move components that FMUs of their process would disturb; reason → components."""
    moved: dict[str, list[str]] = defaultdict(list)
    for index, one in enumerate(instances):
        beside = (
            other for other, process in zip(instances, processes[:index], strict=False) if process == processes[index]
        )
        if reason := disturbance(one, beside):
            processes[index] = max(processes) + 1
            moved[reason].append(one.name)
    return moved


def disturbance(one: PlannedInstance, others: Iterable[PlannedInstance]) -> str | None:
    """First reason why a component cannot share a process with others; None if it can."""
    if not one.used_interface.once_per_process and not one.description.python_modules:
        return None  # most FMUs disturb nobody
    return next(filter(None, (_disturbance(one, other) for other in others)), None)


def _disturbance(one: PlannedInstance, other: PlannedInstance) -> str | None:
    if one.description.token == other.description.token:
        if not one.used_interface.once_per_process:
            return None
        return f"{one.source} sets canBeInstantiatedOnlyOncePerProcess and is used by other components too"
    # Python imports a module once per process: a second FMU would get the module of the first.
    if same := one.description.python_modules & other.description.python_modules:
        kind = "a Python module" if len(same) == 1 else "Python modules"
        return f"{one.source} and {other.source} both bring {kind} named {abbreviated(sorted(same))}"
    return None


def _choices(instances: Sequence[PlannedInstance], processes: Sequence[int], settings: Settings) -> Iterator[Choice]:
    apart = {number for number in processes if number != OWN}
    if not apart:
        return
    reason = ASKED if settings.processes is not None else "some FMUs cannot share a process"
    shown = "; ".join(
        f"process {number}: {abbreviated(_names(instances, processes, number))}" for number in sorted(apart)
    )
    yield Choice("processes", str(settings.processes or len(apart)), f"{reason}; {shown}")


def _names(instances: Sequence[PlannedInstance], processes: Sequence[int], number: int) -> list[str]:
    return [one.name for one, process in zip(instances, processes, strict=True) if process == number]


def _notes(moved: Mapping[str, Sequence[str]]) -> Iterator[str]:
    for reason, names in moved.items():
        have = "has a process of its own" if len(names) == 1 else "have processes of their own"
        yield f"{abbreviated(names)} {have}, because {reason}"


def lost_process(instances: Iterable[FmuInstance], time: float) -> Failure | None:
    """Failure of the first component whose process has ended by itself; None if all run."""
    instances = tuple(instances)
    for one in instances:
        if (process := one.process) is None or (lost := process.lost) is None:
            continue
        component, function = lost
        others = [other.name for other in instances if other.process is process and other.name != component]
        shared = f", which it shares with {abbreviated(others)}," if others else ""
        where = f"in {function} of component {component}" if function else "in no call of an FMU"
        return Failure(
            Ending.EXITED if process.exited else Ending.CRASHED,
            f"the process of component {component}{shared} {process.ended_by} ({where})",
            REPORT,
            time,
            component,
            function,
            next((own.log.latest() for own in instances if own.name == component), ()),
        )
    return None
