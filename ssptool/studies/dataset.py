"""Results of a study on disk: a folder that Parquet readers take for one table, also while the study runs.

study.json                      definition of the study
runs/part-*.parquet             one row per run, in files that appear complete and never change
traces/run=<run>/trace.parquet  signals over time, if the study keeps them
"""

import fcntl
import os
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from types import NoneType
from typing import Any
from uuid import uuid4

from ssptool.documents.saving import replaced_atomically, stay_inside
from ssptool.engine.recording.formats import misfits
from ssptool.errors import studies_need
from ssptool.foreign_text import json_content, json_text, one_line
from ssptool.studies.definition import Points, RunOutcome, RunStatus
from ssptool.studies.designs import FactorValue

FLUSH_SECONDS = 1.0
"""For so long finished runs wait for others before they are written."""

DEFINITION = "study.json"
_LOCK = ".lock"
_RUNS, _NEW, _OLD, _TRACES = "runs", ".runs.new", ".runs.old", "traces"


_CONTENT = {
    "name": str,
    "runs": int,
    "factors": {"*": Mapping},
    "results": {"*": str},
    "units": {"*": (str, NoneType)},
    "source": str,
    "folder": str,
    "system": str,
    "design": str,
    "study": Mapping,
    "version": str,
    "nominal": (Mapping, NoneType),
    "files": {"*": str},
    "fixed?": {"variant?": (str, NoneType)},
    "ended?": str,
}
"""What those who read a definition rely on."""


class NotResults(Exception):
    """A folder does not hold the results of a study."""

    def __init__(self, folder: Path, reason: str) -> None:
        super().__init__(f"{folder}: {reason}")
        self.folder = folder
        self.reason = reason


class OtherStudy(Exception):
    """A folder holds the results of another study, or of another system."""

    def __init__(self, folder: Path, differences: Sequence[str]) -> None:
        what = "".join(f"\n  {one_line(str(difference))}" for difference in differences)
        super().__init__(f"{folder} has results that do not go with these; choose another folder, or remove it{what}")
        self.folder = folder
        self.differences = tuple(differences)


class BusyResults(Exception):
    """Another process writes into the folder."""

    def __init__(self, folder: Path) -> None:
        super().__init__(f"{folder}: another process runs this study; wait for it, or choose another folder")
        self.folder = folder


@contextmanager
def intact(folder: Path, path: Path) -> Iterator[None]:
    """Raises NotResults if a file of Parquet turns out to be damaged."""
    try:
        yield
    except (ValueError, TypeError, KeyError, NotImplementedError) as error:
        raise NotResults(folder, f"{path.name} is damaged: {error}") from None
    except OSError as error:
        if error.errno is not None:  # of the system, not of the reader of Parquet
            raise
        raise NotResults(folder, f"{path.name} is damaged: {error}") from None


class Dataset:
    """The folder of results; see `open_dataset`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._pending: list[RunOutcome] = []
        self._flushed = monotonic()
        self._schema: Any = None

    @property
    def runs(self) -> Path:
        """What to read, with any reader of Parquet."""
        return self.folder / _RUNS

    @property
    def traces(self) -> Path:
        return self.folder / _TRACES

    @property
    def parts(self) -> list[Path]:
        """Of the runs; in the moment when these are replaced by a gathered one, that."""
        for name in (_RUNS, _NEW, _OLD):
            if found := sorted((self.folder / name).glob("part-*.parquet")):
                return found
        return []

    def mend(self) -> None:
        """What a process left behind that ended while it gathered the parts. For a writer alone."""
        for name in (_NEW, _OLD):
            if not self.runs.exists() and (self.folder / name).exists():
                (self.folder / name).rename(self.runs)

    # -- what the study is -----------------------------------------------------------------------------------

    def definition(self) -> dict[str, Any]:
        """Raises NotResults."""
        try:
            content: dict[str, Any] = json_content((self.folder / DEFINITION).read_text(encoding="utf-8"))
        except FileNotFoundError:
            reason = f"it has no {DEFINITION}" if self.folder.is_dir() else "there is no such folder"
            raise NotResults(self.folder, f"no folder of a study: {reason}") from None
        except (ValueError, OSError) as error:
            raise NotResults(self.folder, f"{DEFINITION} cannot be read: {error}") from None
        if fault := next(misfits(content, _CONTENT), ""):
            raise NotResults(self.folder, f"{DEFINITION} is damaged: {fault}")
        return content

    def begin(self, definition: Mapping[str, Any], points: Points, results: Sequence[str]) -> None:
        """Make the folder, or go on in it.

        Raises
        ------
        OtherStudy
            What is there is of a study that differs in more than its points.
        """
        if (self.folder / DEFINITION).exists():
            if found := list(_differences(self.definition(), definition)):
                raise OtherStudy(self.folder, found)
        elif self.runs.exists():
            raise NotResults(self.folder, f"there is a folder {_RUNS}, and no {DEFINITION}; choose another folder")
        self.runs.mkdir(parents=True, exist_ok=True)
        for leftover in self.runs.glob("*.writing"):
            leftover.unlink()
        self._schema = _schema(points, results, definition.get("units", {}))
        self.describe(definition)

    def describe(self, definition: Mapping[str, Any]) -> None:
        """Write what the study is."""
        with replaced_atomically(self.folder / DEFINITION) as file:
            file.write(json_text(definition, indent=1).encode())

    # -- runs ------------------------------------------------------------------------------------------------

    def table(self) -> Any:
        """All runs so far, as an Arrow table in the order of their numbers."""
        arrow = studies_need("pyarrow")
        tables = [self._part(part) for part in self.parts]
        if not tables:
            raise NotResults(self.folder, "no run has finished yet")
        with intact(self.folder, self.runs):
            return arrow.concat_tables(tables).sort_by("number")

    def finished(self) -> set[str]:
        """The runs that are there."""
        return {run for part in self.parts for run in self._part(part, "run")["run"].to_pylist()}

    def counts(self) -> Counter[RunStatus]:
        """How many runs ended how."""
        found: Counter[RunStatus] = Counter()
        for part in self.parts:
            with intact(self.folder, part):
                for each in self._part(part, "status")["status"].value_counts().to_pylist():
                    found[RunStatus(each["values"])] += each["counts"]
        return found

    def _part(self, path: Path, *columns: str) -> Any:
        """Rows of runs, with all columns or these. Raises NotResults if the file is damaged."""
        parquet, types = studies_need("pyarrow.parquet"), studies_need("pyarrow.types")
        with intact(self.folder, path):
            table = parquet.ParquetFile(path).read(list(columns) or None)
            definition = {} if columns else self.definition()
            wanted = columns or ("run", "number", "status", "message", *definition["factors"], *definition["results"])
            if missing := [name for name in wanted if name not in table.column_names]:
                raise ValueError(f"it has no column {missing[0]}")
            for name in wanted:
                kind = table.schema.field(name).type
                number = types.is_floating(kind) or types.is_integer(kind) or types.is_null(kind)
                text = types.is_string(kind) or types.is_large_string(kind) or types.is_boolean(kind)
                if not (number or (text and name not in definition.get("results", ()))):
                    raise ValueError(f"the column {name} is of type {kind}")
            return table

    def forget_failed(self) -> None:
        """Take the failed runs out, to be run again."""
        parquet, compute = studies_need("pyarrow.parquet"), studies_need("pyarrow.compute")
        for part in self.parts:
            table = parquet.ParquetFile(part).read()
            kept = table.filter(compute.not_equal(table["status"], RunStatus.FAILED.value))
            if not len(kept):
                part.unlink()
            elif len(kept) < len(table):
                self._write(part, kept)

    def add(self, outcomes: Sequence[RunOutcome]) -> None:
        """Finished runs; on disk within `FLUSH_SECONDS` if there are more, and with `flush`."""
        self._pending += outcomes
        for outcome in outcomes:
            if outcome.trace is not None:
                self._add_trace(outcome.task.run, outcome.trace)
        if monotonic() - self._flushed >= FLUSH_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Everything is on disk."""
        self._flushed = monotonic()
        if self._pending:
            arrow = studies_need("pyarrow")
            rows = [row_of(outcome) for outcome in self._pending]
            name = f"part-{self._pending[0].task.number:08d}-{uuid4().hex[:8]}.parquet"
            self._write(self.runs / name, arrow.Table.from_pylist(rows, schema=self._schema))
            self._pending = []

    def gather(self) -> None:
        """Put all parts into one file: readers see either the one or the others."""
        if len(self.parts) < 2:
            return
        new, old = self.folder / _NEW, self.folder / _OLD
        for folder in (new, old):
            shutil.rmtree(folder, ignore_errors=True)
        table = self.table()
        new.mkdir()
        self._write(new / "part-00000000-all.parquet", table)
        self.runs.rename(old)
        new.rename(self.runs)
        shutil.rmtree(old)

    def _write(self, path: Path, table: Any) -> None:
        """A file that is there complete or not at all."""
        parquet = studies_need("pyarrow.parquet")
        temporary = path.with_suffix(".writing")
        temporary.unlink(missing_ok=True)
        with temporary.open("xb") as file:  # through no link
            parquet.write_table(table, file, compression="zstd")
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)

    def _add_trace(self, run: str, content: bytes) -> None:
        folder = self.traces / f"run={run}"
        stay_inside(self.folder, f"{_TRACES}/{folder.name}/trace.parquet")
        folder.mkdir(parents=True, exist_ok=True)
        with replaced_atomically(folder / "trace.parquet") as file:
            file.write(content)


@contextmanager
def open_dataset(folder: Path) -> Iterator[Dataset]:
    """The dataset of a folder to write into, by this process alone.

    Raises
    ------
    BusyResults
        Another process writes into the folder.
    LinkLeadsOut
        A file or folder in it is a link to something outside.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name in (_LOCK, DEFINITION, _RUNS, _NEW, _OLD, _TRACES):
        stay_inside(folder, name)
    # Its content is nobody's business: it is neither emptied nor written to.
    lock = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666)
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise BusyResults(folder) from None
        dataset = Dataset(folder)
        dataset.mend()
        try:
            yield dataset
        finally:
            dataset.flush()
    finally:
        os.close(lock)


def row_of(outcome: RunOutcome) -> dict[str, Any]:
    """A line of the table; results are missing in that of a failed run."""
    return {
        "run": outcome.task.run,
        "number": outcome.task.number,
        **outcome.task.point,
        **outcome.results,
        "status": outcome.status.value,
        "message": outcome.message,
        "seconds": outcome.seconds,
        "attempts": outcome.attempts,
    }


def _schema(points: Points, results: Sequence[str], units: Mapping[str, str | None]) -> Any:
    arrow = studies_need("pyarrow")
    fields = [arrow.field("run", arrow.string(), False), arrow.field("number", arrow.int64(), False)]
    types = {name: _type(arrow, column) for name, column in points.columns.items()}
    for name, kind in (types | dict.fromkeys(results, arrow.float64())).items():
        unit = units.get(name)
        fields.append(arrow.field(name, kind, metadata={"unit": unit} if unit else None))
    fields += [arrow.field("status", arrow.string()), arrow.field("message", arrow.string())]
    return arrow.schema([*fields, arrow.field("seconds", arrow.float64()), arrow.field("attempts", arrow.int32())])


def _type(arrow: Any, column: Sequence[FactorValue]) -> Any:
    kinds = {bool if isinstance(value, bool) else type(value) for value in column}
    if kinds <= {bool}:
        return arrow.bool_()
    if kinds <= {int}:
        return arrow.int64()
    return arrow.float64() if kinds <= {int, float} else arrow.string()


def _differences(there: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """What must be the same for runs to go together: all but the points, their number, and versions."""
    pairs = [(key, there.get(key), now.get(key)) for key in ("factors", "results")]
    fixed = there.get("fixed", {}), now.get("fixed", {})
    pairs += [(key, fixed[0].get(key), fixed[1].get(key)) for key in fixed[1]]
    for key, before, after in pairs:
        if not isinstance(before, dict) or not isinstance(after, dict):
            if before != after:
                yield f"{key}: {before!r} there, {after!r} now"
            continue
        for name in [*before, *(name for name in after if name not in before)]:
            if before.get(name) != after.get(name):
                yield f"{key}.{name}: {before.get(name)!r} there, {after.get(name)!r} now"
    files = there.get("files", {})
    for name, digest in now.get("files", {}).items():
        if files.get(name, digest) != digest:
            yield f"the file {name} has changed"
