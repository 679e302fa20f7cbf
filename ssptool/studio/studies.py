"""Studies of the system: files next to it, started in a separate process and watched by their result folders."""

import json
import math
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any

from ssptool.documents.diagnostics import BadData
from ssptool.documents.vocabulary import rounded_text
from ssptool.errors import UnusableFile, WrongUsage, is_own
from ssptool.studies.charts import chart
from ssptool.studies.stored_results import StudyResults, read_results
from ssptool.studies.study_file import draft_study, read_toml
from ssptool.studio.runs import Tell
from ssptool.studio.session import EditSession
from ssptool.studio.stimuli import listed

LOOK_SECONDS = 0.5
"""Time between two looks at the results of a running study [s]."""
MOST_SHOWN = 200
"""Runs that the table of a study shows: the last ones."""


def _study_goes_on() -> WrongUsage:
    """Another study goes on."""
    return WrongUsage("a study is in progress; cancel it first, or wait for its end")


def _unsaved_system() -> WrongUsage:
    """A study runs what is on disk."""
    return WrongUsage("a study runs the system as it is on disk: save your edits first")


class StudyRuns:
    """The studies of one system; one goes on at a time. `tell` sends its progress to the pages."""

    def __init__(self, session: EditSession, tell: Tell) -> None:
        self._session = session
        self._tell = tell
        self._process: subprocess.Popen[str] | None = None
        self._thread: Thread | None = None
        self._ended = Event()
        self._going = ("", session.path)  # the study that goes on, or went on last: its name and its file
        self._said: dict[str, str] = {}

    def close(self) -> None:
        """End the study that goes on; its finished runs are kept."""
        self.cancel()
        if self._thread is not None:
            self._thread.join()

    def all(self) -> list[dict[str, Any]]:
        """The files of studies of this system, each with what its folder has."""
        return [self._content(name, file) for name, file in self._files()]

    def start(self, name: str, *, unsaved: bool) -> dict[str, Any]:
        """Begin a study, or go on with it. Raises WrongUsage."""
        if self._process is not None:
            raise _study_goes_on()
        if unsaved:
            raise _unsaved_system()
        file = self._path(name)
        command = [sys.executable, "-m", "ssptool", "study", "run", str(file), "--output", str(_folder(file))]
        command.append("--sandbox" if self._session.sandbox else "--no-sandbox")
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
        """End the study that goes on as Ctrl-C does: finished runs are kept, and it can be started again."""
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
        """The points and results of a study so far, the last runs first; with their units."""
        results = self._results(name)
        columns = ["number", *results.factors, *results.results, "status", "message"]
        rows = sorted(results.rows(), key=lambda row: -row["number"])[:MOST_SHOWN]
        units = results.units
        return {
            "columns": [{"name": one, "unit": units.get(one) or ""} for one in columns],
            "rows": [[_cell(row.get(one)) for one in columns] for row in rows],
        }

    def chart(self, name: str) -> Any:
        """Chart of a study, as a figure of plotly; None as long as there is nothing to draw."""
        try:
            figure = chart(self._results(name), None, ()).page()
        except Exception as problem:  # too few runs, too many panels: the table is there anyway
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
        """Tell of new runs, and at last how the study ended."""
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
