"""The served folder: its systems, paths in it, and runs with results in memory."""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from tempfile import mkdtemp
from threading import Event

import ssptool
from ssptool.confinement import is_outside, outside_folder, require_inside
from ssptool.documents.archive import LONE_SUFFIXES
from ssptool.errors import WrongUsage, abbreviated
from ssptool.option_words import Boxing
from ssptool.rules.runner import ROOTS_OF_SYSTEMS, found_in
from ssptool.sandbox import missing
from ssptool.studies.dataset import DEFINITION
from ssptool.studies.stored_results import StudyResults
from ssptool.tempfiles import TemporaryFolder

KEPT_RUNS = 16
"""Runs whose results stay in memory; the oldest are forgotten."""


def _no_system_named(systems: Sequence[str]) -> WrongUsage:
    """No system is named, and the folder has none or several."""
    which = f"name one: {abbreviated(systems, 20)}" if systems else "there is none in this folder"
    return WrongUsage(f"the argument system is missing; {which}")


def _no_path(text: str) -> WrongUsage:
    """A text that cannot be the path of a file."""
    return WrongUsage(f"{text!r} cannot be a path: it contains a zero character")


def _cancelled() -> WrongUsage:
    """The client has cancelled its call."""
    return WrongUsage("cancelled")


def _unknown_run(name: str, kept: Sequence[str]) -> WrongUsage:
    """No run of this name is kept, and no result file is called so."""
    runs = f"runs in memory are {', '.join(kept)}" if kept else "there is no run in memory yet: call run"
    return WrongUsage(f"{name} is neither a run nor a result file of this folder; {runs}")


def _is_a_study(name: str) -> WrongUsage:
    """A study, where a single run is meant."""
    return WrongUsage(f"{name} is a study, not a run; `results` reads the runs of a study")


def plain_path(text: str) -> Path:
    """A path in the folder. Raises WrongUsage."""
    if "\0" in text:
        raise _no_path(text)
    require_inside(text)
    return Path(text)


def nobody(_done: float) -> None:
    """Do nothing: nobody wants to know."""


@dataclass
class Folder:
    """Files that a client may use: the working folder of this process, to which it is confined."""

    allow_edits: bool = False
    results: Path | None = None
    sandbox: Boxing = True
    runs: "OrderedDict[str, ssptool.Result | StudyResults]" = field(default_factory=OrderedDict)
    cancelled: Event = field(default_factory=Event)
    """Set when the client no longer wants the answer to its call."""
    tell: Callable[[float], None] = nobody
    """Tells the client the fraction of its call that is done."""
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))
    _studies: TemporaryFolder = field(default_factory=TemporaryFolder)
    """Results of studies that are to be kept nowhere else."""

    def systems(self) -> list[str]:
        """Packages, folders, structures and FMUs."""
        found = found_in(Path())
        return [
            one.as_posix()
            for one in found
            if one.suffix.lower() not in LONE_SUFFIXES and (len(found) > 1 or one != Path() or _is_system(one))
        ]

    def system(self, name: str) -> Path:
        """The system of this name; without a name, the only one. Raises WrongUsage."""
        if name:
            return plain_path(name)
        systems = self.systems()
        if len(systems) != 1:
            raise _no_system_named(systems)
        return Path(systems[0])

    def output(self, name: str) -> Path | None:
        """Place for the results of a run; None without a name. Raises WrongUsage."""
        if not name:
            return None
        if self.results is None:
            raise WrongUsage(
                "this server writes no results: leave out output, or start it with `ssptool mcp --results FOLDER`"
            )
        path = self.results / plain_path(name)
        if is_outside(path) or not path.resolve().is_relative_to(self.results.resolve()):
            raise outside_folder(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def require_sandbox(self) -> None:
        """Raises WrongUsage where FMUs are to run in a sandbox, and the system has none."""
        if self.sandbox is True and (reason := missing()):
            raise WrongUsage(
                f"there is no sandbox for FMUs here: {reason}; to run them with all rights of yours, start this "
                "server with `ssptool mcp --no-sandbox`"
            )

    def go_on(self) -> None:
        """Raises WrongUsage."""
        if self.cancelled.is_set():
            raise _cancelled()

    def place_of_study(self) -> Path:
        """A new folder for the results of a study, until the server ends."""
        return Path(mkdtemp(dir=self._studies.name))

    def keep(self, result: "ssptool.Result | StudyResults") -> str:
        """The name under which the result of a run or a study can be read from now on."""
        name = f"{'study' if isinstance(result, StudyResults) else 'run'}{next(self._numbers)}"
        self.runs[name] = result
        while len(self.runs) > KEPT_RUNS:
            self.runs.popitem(last=False)
        return name

    def result(self, name: str) -> "ssptool.Result | StudyResults | Path":
        """A run or a study in memory, a result file, or the results of a study in a folder. Raises WrongUsage."""
        if name in self.runs:
            return self.runs[name]
        path = plain_path(name)
        if (path / DEFINITION).is_file():
            return ssptool.studies.study_results(path)
        if not path.is_file():
            raise _unknown_run(name, list(self.runs))
        return path

    def run(self, name: str) -> "ssptool.Result | Path":
        """A run in memory, or a result file. Raises WrongUsage."""
        found = self.result(name)
        if isinstance(found, StudyResults):
            raise _is_a_study(name)
        return found


def _is_system(path: Path) -> bool:
    return any((path / name).is_file() for name in ROOTS_OF_SYSTEMS)
