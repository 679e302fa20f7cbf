"""Studies of the system: files next to it, started in a separate process and watched by their result folders."""

import json
import math
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import count
from os.path import relpath
from pathlib import Path
from threading import Event, Thread
from typing import Any

from ssptool.documents.diagnostics import BadData
from ssptool.documents.saving import save_file
from ssptool.documents.vocabulary import number_text, rounded_text
from ssptool.errors import UnusableFile, WrongUsage, is_own
from ssptool.network.inventory import VariableEntry
from ssptool.option_words import BEST, Boxing
from ssptool.studies.charts import chart
from ssptool.studies.first_draft import (
    ChosenStudy,
    StudiedSystem,
    StudyKind,
    default_results,
    first_draft,
    proposed_values,
)
from ssptool.studies.stored_results import StudyResults, read_results
from ssptool.studies.study_file import draft_study, read_toml, read_toml_text, study_from
from ssptool.studio.run_settings import settings_of
from ssptool.studio.runs import Tell
from ssptool.studio.session import EditSession
from ssptool.studio.stimuli import listed

_SANDBOX: Mapping[Boxing, str] = {True: "--sandbox", False: "--no-sandbox", BEST: f"--sandbox={BEST}"}

DESIGNS: Mapping[StudyKind, str] = {
    StudyKind.GRID: "Every combination",
    StudyKind.LHS: "Latin hypercube",
    StudyKind.SOBOL: "Evenly spread points",
    StudyKind.MORRIS: "Parameters that matter (Morris)",
    StudyKind.SALTELLI: "Sensitivities (Sobol' indices)",
    StudyKind.OPTIMIZE: "Optimize",
}
"""Designs of new studies by what the page calls them."""

LOOK_SECONDS = 0.5
"""Interval of checks of the results of a running study [s]."""
MOST_SHOWN = 200
"""Number of runs in the table of a study; the last ones are shown."""


def _study_goes_on() -> WrongUsage:
    """Error: another study is running."""
    return WrongUsage("a study is in progress; cancel it first, or wait for its end")


def _unsaved_system() -> WrongUsage:
    """Error: unsaved changes, because a study uses the system on disk."""
    return WrongUsage("a study runs the system as it is on disk: save your edits first")


class StudyRuns:
    """The studies of one system, one at a time. `tell` sends the progress to the pages."""

    def __init__(self, session: EditSession, tell: Tell) -> None:
        self._session = session
        self._tell = tell
        self._process: subprocess.Popen[str] | None = None
        self._thread: Thread | None = None
        self._ended = Event()
        self._going = ("", session.path)  # name and file of the present or last study
        self._said: dict[str, str] = {}

    def close(self) -> None:
        """End the present study; its finished runs are kept."""
        self.cancel()
        if self._thread is not None:
            self._thread.join()

    def all(self) -> list[dict[str, Any]]:
        """Study files of this system, each with the state of its result folder."""
        return [self._content(name, file) for name, file in self._files()]

    def proposal(self, variables: Sequence[VariableEntry], names: Sequence[str]) -> dict[str, Any]:
        """Values, results and designs to choose from for a study of parameters. Raises WrongUsage."""
        known = {one.name: one for one in variables}
        if unknown := [name for name in names if name not in known]:
            raise WrongUsage(f"no component has {', '.join(unknown)}, so a study cannot vary it")
        experiment = self._session.structure.structure.default_experiment
        stop = None if experiment is None else experiment.stop_time
        taken = {name for name, _ in listed(self._session.path, (".toml",))}
        return {
            "factors": [
                {"name": name, "unit": known[name].unit or "", "values": proposed_values(known[name])} for name in names
            ],
            "stop": "" if stop is None else number_text(stop),
            "results": list(default_results(variables).values()),
            "designs": list(DESIGNS.values()),
            "file": next(name for k in count(1) if (name := f"study{k if k > 1 else ''}.toml") not in taken),
        }

    def new(self, file: str, design: str, stop: str, chosen: ChosenStudy, variables: Sequence[VariableEntry]) -> None:
        """Write a study next to the system, after a look at what would be wrong with it.

        Raises WrongUsage, WrongValue, BadData and FileExistsError.
        """
        session = self._session
        if session.read_only:
            raise WrongUsage(session.read_only)
        path = session.path.absolute().parent / file
        if Path(file).name != file or path.suffix != ".toml":
            raise WrongUsage(f"{file!r} is not the name of a study file, such as study.toml")
        if path.exists():
            raise FileExistsError(f"{file} exists: choose another name")
        kind = next((kind for kind, title in DESIGNS.items() if title == design), None)
        if kind is None:
            raise WrongUsage(f"{design!r} is not a design; expected {', '.join(DESIGNS.values())}")
        ends = None if (time := settings_of({"stop_time": stop}).stop_time) is None else (time, "as chosen")
        system = StudiedSystem(relpath(session.path.resolve(), path.resolve().parent), session.variant, ends)
        text = first_draft(system, variables, kind, file, chosen=chosen)
        study_from(*read_toml_text(text, file), source=str(path))
        save_file(path, text)

    def start(self, name: str, *, unsaved: bool) -> dict[str, Any]:
        """Start or continue a study. Raises WrongUsage."""
        if self._process is not None:
            raise _study_goes_on()
        if unsaved:
            raise _unsaved_system()
        file = self._path(name)
        command = [sys.executable, "-m", "ssptool", "study", "run", str(file), "--output", str(_folder(file))]
        command.append(_SANDBOX[self._session.sandbox])
        self._going = name, file
        self._said.pop(name, None)
        self._ended.clear()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self._session.path.absolute().parent,
            start_new_session=os.name == "posix",
        )
        self._thread = Thread(target=self._watch, args=(self._process,), daemon=True)
        self._thread.start()
        return self._content(name, file)

    def cancel(self) -> None:
        """End the present study like Ctrl-C: finished runs are kept, and it can be continued."""
        if (process := self._process) is not None:
            with suppress(OSError):
                process.send_signal(signal.SIGINT if os.name == "posix" else signal.SIGTERM)

    def _content(self, name: str, file: Path) -> dict[str, Any]:
        """Progress of a study."""
        going = self._process is not None and self._going[0] == name
        told: dict[str, Any] = {"file": name, "going": going, "message": "" if going else self._said.get(name, "")}
        with suppress(UnusableFile, OSError, WrongUsage):
            status = read_results(_folder(file)).status
            told |= {"runs": status.runs, "completed": status.completed, "failed": status.failed}
        return told

    def table(self, name: str) -> dict[str, Any]:
        """Points and results of a study so far, the last runs first, with units."""
        results = self._results(name)
        columns = ["number", *results.factors, *results.results, "status", "message"]
        rows = sorted(results.rows(), key=lambda row: -row["number"])[:MOST_SHOWN]
        units = results.units
        return {
            "columns": [{"name": one, "unit": units.get(one) or ""} for one in columns],
            "rows": [[_cell(row.get(one)) for one in columns] for row in rows],
        }

    def chart(self, name: str) -> Any:
        """Chart of a study as a figure of plotly; None while there is nothing to draw."""
        try:
            figure = chart(self._results(name), None, ()).page()
        except Exception as problem:  # too few runs or too many panels; the table is available anyway
            if not is_own(problem):
                raise
            return None
        figure.update_layout(template="plotly_white", margin={"t": 30, "l": 70, "r": 20, "b": 50})
        return json.loads(figure.to_json())

    def _results(self, name: str) -> StudyResults:
        return read_results(_folder(self._path(name)))

    def _files(self) -> Iterator[tuple[str, Path]]:
        for name, file in listed(self._session.path, (".toml",)):
            with suppress(BadData, OSError, UnicodeDecodeError):
                content, lines = read_toml(file)
                if "system" in content and "factors" in content:
                    study, _ = draft_study(content, lines, source=str(file))
                    if study.system.resolve() == self._session.path.resolve():
                        yield name, file

    def _path(self, name: str) -> Path:
        found = dict(self._files()).get(name)
        if found is None:
            raise WrongUsage(f"{name} is not a study of this system")
        return found

    # -- in a thread -----------------------------------------------------------------------------------------------

    def _watch(self, process: "subprocess.Popen[str]") -> None:
        """Report new runs, and finally the end of the study."""
        reading = Thread(target=self._read, args=(process,), daemon=True)
        reading.start()
        while not self._ended.wait(LOOK_SECONDS):
            self._tell({"event": "study", **self._content(*self._going)})
        process.wait()
        self._process = None
        self._tell({"event": "study", **self._content(*self._going)})

    def _read(self, process: "subprocess.Popen[str]") -> None:
        assert process.stderr is not None
        lines = [line.strip() for line in process.stderr if line.strip()]
        wrong = [place for place, line in enumerate(lines) if line.startswith("error:")]
        self._said[self._going[0]] = "\n".join(lines[wrong[-1] :]).removeprefix("error: ") if wrong else ""
        self._ended.set()


def _folder(file: Path) -> Path:
    return file.with_suffix(".study")


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else rounded_text(value, 6)
    return "" if value is None else str(value)
