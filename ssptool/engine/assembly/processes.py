"""Processes of components: their distribution, and those that have crashed."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ssptool.engine.failure import Ending, Failure, UnsupportedCombination
from ssptool.engine.planning.plan import PlannedInstance
from ssptool.engine.settings import ASKED, EACH, Choice, Settings
from ssptool.errors import abbreviated
from ssptool.fmu.instance import FmuInstance
from ssptool.fmu.processes import AVAILABLE, MISSING

OWN = 0
"""The process that steps all components; others are counted from 1."""

REPORT = "the FMU is at fault: report it to its supplier; --in-process under a debugger shows where it happens"


class Distribution(NamedTuple):
    """The process of each component, with what the plan says about that."""

    processes: tuple[int, ...]
    choices: tuple[Choice, ...] = ()
    notes: tuple[str, ...] = ()


def distribute(instances: Sequence[PlannedInstance], settings: Settings) -> Distribution:
    """Components to processes, as settings ask for and as FMUs need that disturb each other in one process.

    Raises
    ------
    UnsupportedCombination
        Processes were asked for, and there are none on this machine.
    """
    if settings.processes is not None and not AVAILABLE:
        raise UnsupportedCombination(f"processes = {settings.processes}", MISSING, "leave out --processes")
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
        if reason := next(filter(None, (_disturbance(one, other) for other in beside)), None):
            processes[index] = max(processes) + 1
            moved[reason].append(one.name)
    return moved


def _disturbance(one: PlannedInstance, other: PlannedInstance) -> str | None:
    """The reason for which two components cannot share a process, if there is any."""
    if one.description.token == other.description.token:
        interface = one.description.interface(one.interface)
        if interface is None or not interface.once_per_process:
            return None
        return f"{one.source} sets canBeInstantiatedOnlyOncePerProcess and is used by other components too"
    # Python imports a module once per process: the second FMU would get that of the first.
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
    """Of the first component whose process has ended by itself."""
    instances = tuple(instances)
    for one in instances:
        if (process := one.process) is None or (lost := process.lost) is None:
            continue
        component, function = lost
        others = [other.name for other in instances if other.process is process and other.name != component]
        shared = f", which it shares with {abbreviated(others)}," if others else ""
        where = f"in {function} of component {component}" if function else "in no call of an FMU"
        ended = process.ended_by
        return Failure(
            Ending.EXITED if "exit status" in ended else Ending.CRASHED,
            f"the process of component {component}{shared} {ended} ({where})",
            REPORT,
            time,
            component,
            function,
            next((own.log.latest() for own in instances if own.name == component), ()),
        )
    return None
