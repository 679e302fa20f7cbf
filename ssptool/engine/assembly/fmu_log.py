"""Logs of FMUs: levels, categories, the log file, and the problems reported."""

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from ssptool.engine.planning.plan import PlannedInstance
from ssptool.engine.settings import EVERY_COMPONENT, Settings
from ssptool.errors import WrongUsage, abbreviated
from ssptool.fmu.description import FmuDescription
from ssptool.fmu.instance import FATAL, FmiError, FmuInstance
from ssptool.fmu.messages import (
    FmuMessage,
    MessageFile,
    MessageLog,
    check_log_name,
    new_clock,
    problem_categories,
)

QUIET = ("ok", "pending")
"""Statuses of messages that report no problem."""


@dataclass(frozen=True, slots=True)
class LoggedProblems:
    """Problems that the FMU of a component logged during a run.

    Attributes
    ----------
    counts
        Number of messages by status (warning, discard, error, fatal).
    kinds
        The first message of each kind, in the order in which they came; at most 50.
    """

    component: str
    counts: Mapping[str, int]
    kinds: tuple[FmuMessage, ...]


def logged_problems(instances: Iterable[FmuInstance]) -> tuple[LoggedProblems, ...]:
    """Problems of all instances that logged some."""
    found = []
    for instance in instances:
        counts = {status: count for status, count in instance.log.counts.items() if status not in QUIET}
        if counts:
            found.append(LoggedProblems(instance.name, counts, instance.log.kinds))
    return tuple(found)


def more_about(settings: Settings, messages: Sequence[str]) -> str:
    """Advice after a failed call: the option that shows more messages of the FMU."""
    if settings.fmu_log is not None:
        return f"see {settings.fmu_log} for the messages of the FMU"
    return "--fmu-log FILE shows more messages of the FMU" if messages else "--fmu-log FILE shows what the FMU logs"


class FmuLogging:
    """Problems of all instances that logged any."""

    def __init__(self, settings: Settings, file: MessageFile | None) -> None:
        self._settings = settings
        self._file = file
        self.clock = new_clock()

    @property
    def everything(self) -> bool:
        """True if FMUs are instantiated with loggingOn."""
        return self._file is not None

    def log(self, component: str, description: FmuDescription) -> MessageLog:
        """Message log for a new instance."""
        log = MessageLog(component, description)
        log.follow(self.clock)
        if self._file is not None:
            log.write_to(self._file, self._level(component), self._categories(component))
        return log

    def start(self, instance: FmuInstance) -> str:
        """Make a new instance log the categories that the user chose, and its categories of errors and warnings, if it
        has any. Returns a note if the FMU rejects the choice of the user.

        Raises
        ------
        FmiError
            The FMU returned fatal.
        """
        instance.log.follow(self.clock)
        categories = self._asked(instance)
        if not categories:
            return ""
        try:
            instance.debug_logging(True, categories)
        except FmiError as error:
            if error.status == FATAL:
                raise
            if self.everything:
                return f"{instance.name}: the FMU refused {error.function}, so it chooses itself what it logs"
        return ""

    def _asked(self, instance: FmuInstance) -> tuple[str, ...]:
        """Categories for fmi…SetDebugLogging; none if the choice at instantiation (loggingOn) is sufficient."""
        description, name = instance.description, instance.name
        problems = problem_categories(description)
        if self._file is None:
            return problems
        chosen = [one for one in self._categories(name) if one in description.log_categories]
        if chosen or self._level(name) != "ok":
            return tuple(dict.fromkeys((*chosen, *problems)))
        return ()

    def _level(self, component: str) -> str:
        levels = self._settings.fmu_log_level
        assert isinstance(levels, Mapping)  # Settings are normalized when they are made.
        return levels.get(component, levels.get(EVERY_COMPONENT, "ok"))

    def _categories(self, component: str) -> Sequence[str]:
        categories = self._settings.fmu_log_categories
        assert isinstance(categories, Mapping)
        return categories.get(component, categories.get(EVERY_COMPONENT, ()))

    def lost(self) -> str:
        """Note on messages that could not be written; empty if there are none."""
        if self._file is None or not self._file.lost:
            return ""
        count = self._file.lost
        messages = "1 message of FMUs is" if count == 1 else f"{count} messages of FMUs are"
        return f"{messages} missing in {self._file.path}: {os.strerror(self._file.error)}"


@contextmanager
def open_fmu_logging(settings: Settings) -> Iterator[FmuLogging]:
    """Logs for one run, with their file if the user asked for one. Raises as `MessageFile`."""
    with contextlib.nullcontext() if settings.fmu_log is None else MessageFile(settings.fmu_log) as file:
        yield FmuLogging(settings, file)


def check_fmu_log(settings: Settings, instances: Sequence[PlannedInstance]) -> None:
    """Raises `WrongUsage` for a component or a category that does not exist, and ValueError for a name of a file with
    another ending than .csv or .jsonl.
    """
    if settings.fmu_log is None:
        return
    check_log_name(settings.fmu_log)
    assert isinstance(settings.fmu_log_categories, Mapping)
    components = [instance.name for instance in instances]
    for name in (*settings.fmu_log_level, *settings.fmu_log_categories):
        if name != EVERY_COMPONENT and name not in components:
            raise WrongUsage(f"--fmu-log: the system has no component {name!r}; it has {abbreviated(components)}")
    for name, categories in settings.fmu_log_categories.items():
        meant = [one for one in instances if name in (EVERY_COMPONENT, one.name)]
        if any(not one.description.log_categories for one in meant):
            continue  # an FMU that declares none may still use some
        declared = sorted({category for one in meant for category in one.description.log_categories})
        for category in categories:
            if category not in declared:
                raise WrongUsage(f"no FMU declares the log category {category!r}; declared are {abbreviated(declared)}")
