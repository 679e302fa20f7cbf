"""Results of a study on disk: a folder that Parquet readers accept as one table, even while the study runs.

study.json                      definition of the study
runs/part-*.parquet             one row per run, in files that appear complete and never change
traces/part-*.parquet           signals over time, if the study keeps them: the run first, then time and signals
"""

import base64
import io
import os
import shutil
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from time import monotonic
from types import MappingProxyType, NoneType
from typing import IO, Any
from uuid import uuid4

import numpy as np

from ssptool.documents.saving import replaced_atomically, stay_inside
from ssptool.engine.recording.formats import misfits
from ssptool.engine.settings import present_names
from ssptool.engine.trace import Trace
from ssptool.errors import UnusableFile, WrongUsage, counted, studies_need
from ssptool.foreign_text import json_content, json_text, one_line
from ssptool.studies.accuracy import ACCURACY, LIMIT, REMARK
from ssptool.studies.definition import Points, RunOutcome, RunStatus, Task
from ssptool.studies.designs import FactorValue
from ssptool.tempfiles import lock, open_unread

FLUSH_SECONDS = 1.0
"""Time that finished runs wait for others before they are written [s]."""

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
    "source_sha256?": str,
    "folder": str,
    "system": str,
    "design": str,
    "study": Mapping,
    "version": str,
    "nominal": (Mapping, NoneType),
    "files": {"*": str},
    "fixed?": {"variant?": (str, NoneType)},
    "ended?": str,
    "accuracy?": (str, float),
    "verified?": str,
}
"""Content of a definition that readers need."""


class OtherStudy(Exception):
    """A folder contains the results of another study, or of another system."""

    def __init__(self, folder: Path, differences: Sequence[str]) -> None:
        what = "".join(f"\n  {one_line(str(difference))}" for difference in differences)
        super().__init__(f"{folder} has results that do not go with these; choose another folder, or remove it{what}")
        self.folder = folder
        self.differences = tuple(differences)


@contextmanager
def intact(folder: Path, path: Path) -> Iterator[None]:
    """Context that raises UnusableFile if a Parquet file is damaged."""
    try:
        yield
    except (ValueError, TypeError, KeyError, NotImplementedError) as error:
        raise UnusableFile(folder, f"{path.name} is damaged: {error}") from None
    except OSError as error:
        if error.errno is not None:  # an error of the operating system, not of the Parquet reader
            raise
        raise UnusableFile(folder, f"{path.name} is damaged: {error}") from None


class Dataset:
    """Result folder of a study; see `open_dataset`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.traces = TraceParts(folder)
        self._pending: list[RunOutcome] = []
        self._flushed = monotonic()
        self._schema: Any = None

    @property
    def runs(self) -> Path:
        """Path of the runs, for any reader of Parquet."""
        return self.folder / _RUNS

    @property
    def parts(self) -> list[Path]:
        """Files of the runs; while a merged file replaces them, only that file."""
        for name in (_RUNS, _NEW, _OLD):
            if found := sorted((self.folder / name).glob("part-*.parquet")):
                return found
        return []

    def mend(self) -> None:
        """Remove leftovers of an interrupted merge (exclusive writers only)."""
        for name in (_NEW, _OLD):
            if not self.runs.exists() and (self.folder / name).exists():
                (self.folder / name).rename(self.runs)

    # -- definition ------------------------------------------------------------------------------------------

    def definition(self) -> dict[str, Any]:
        """Definition of the study. Raises UnusableFile."""
        try:
            content: dict[str, Any] = json_content((self.folder / DEFINITION).read_text(encoding="utf-8"))
        except FileNotFoundError:
            reason = f"it has no {DEFINITION}" if self.folder.is_dir() else "there is no such folder"
            raise WrongUsage(f"{self.folder}: not a result folder of a study: {reason}") from None
        except (ValueError, OSError) as error:
            raise UnusableFile(self.folder, f"{DEFINITION} cannot be read: {error}") from None
        if fault := next(misfits(content, _CONTENT), ""):
            raise UnusableFile(self.folder, f"{DEFINITION} is damaged: {fault}")
        for table in (content["study"], content.get("fixed", {})):
            if isinstance(stated := table.get("settings"), Mapping):
                table["settings"] = present_names(stated, None)
        return content

    def begin(
        self, definition: Mapping[str, Any], points: Points, results: Sequence[str], *, complete: bool = False
    ) -> None:
        """Create the folder, or continue in it. If the points are `complete`, no other runs may be in the folder, and
        its runs get the numbers of their points.

        Raises
        ------
        OtherStudy
            The folder contains a study that differs in more than further points.
        """
        if (self.folder / DEFINITION).exists():
            found = list(_differences(self.definition(), definition))
            numbers = {run: number for number, run in enumerate(points.ids)} if complete else None
            if not found and numbers is not None and (others := self.finished() - numbers.keys()):
                found.append(f"{counted(len(others), 'run')} of points that this design does not have")
            if found:
                raise OtherStudy(self.folder, found)
            if numbers is not None:
                self._renumber(numbers)
        elif any(self.runs.glob("*")):
            raise UnusableFile(self.folder, f"there is a folder {_RUNS}, and no {DEFINITION}; choose another folder")
        self.describe(definition)  # first: without it, nobody knows the folder again
        self.runs.mkdir(parents=True, exist_ok=True)
        for leftover in (*self.runs.glob("*.writing"), *self.traces.place.glob("*.writing")):
            leftover.unlink()
        self._schema = _schema(points, results, definition.get("units", {}))
        self._keep_traces()

    def describe(self, definition: Mapping[str, Any]) -> None:
        """Write the definition of the study."""
        with replaced_atomically(self.folder / DEFINITION) as file:
            file.write(json_text(definition, indent=1).encode())

    # -- runs ------------------------------------------------------------------------------------------------

    def table(self) -> Any:
        """All runs so far, as an Arrow table in the order of their numbers."""
        arrow = studies_need("pyarrow")
        tables = [self._part(part) for part in self.parts]
        if not tables:
            raise UnusableFile(self.folder, "no run has finished yet")
        with intact(self.folder, self.runs):
            # Parts from an earlier version have not all columns on the accuracy.
            return arrow.concat_tables(tables, promote_options="default").sort_by("number")

    def finished(self) -> set[str]:
        """Names of the runs in the folder."""
        return {run for part in self.parts for run in self._part(part, "run")["run"].to_pylist()}

    def counts(self) -> Counter[RunStatus]:
        """Number of runs by their status."""
        found: Counter[RunStatus] = Counter()
        for part in self.parts:
            with intact(self.folder, part):
                for each in self._part(part, "status")["status"].value_counts().to_pylist():
                    found[RunStatus(each["values"])] += each["counts"]
        return found

    def _keep_traces(self) -> None:
        """Keep only the traces of the runs in the folder."""
        if self.traces.parts:
            self.traces.keep(self.finished())

    def _part(self, path: Path, *columns: str) -> Any:
        """Rows of runs, with all or with the given columns. Raises UnusableFile if the file is damaged."""
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

    def _renumber(self, numbers: Mapping[str, int]) -> None:
        """Give the runs these numbers, by name."""
        arrow, parquet = studies_need("pyarrow"), studies_need("pyarrow.parquet")
        for part in self.parts:
            known = self._part(part, "run", "number")
            wanted = arrow.array([numbers[run] for run in known["run"].to_pylist()], arrow.int64())
            if known["number"].combine_chunks() != wanted:
                table = parquet.ParquetFile(part).read()
                place = table.column_names.index("number")
                _write_table(part, table.set_column(place, table.schema.field(place), wanted))

    def forget_failed(self) -> None:
        """Remove failed runs, so that they are repeated."""
        parquet, compute = studies_need("pyarrow.parquet"), studies_need("pyarrow.compute")
        for part in self.parts:
            table = parquet.ParquetFile(part).read()
            kept = table.filter(compute.not_equal(table["status"], RunStatus.FAILED.value))
            if not len(kept):
                part.unlink()
            elif len(kept) < len(table):
                _write_table(part, kept)
        self._keep_traces()

    def add(self, outcomes: Sequence[RunOutcome]) -> None:
        """Add finished runs. They are written within `FLUSH_SECONDS` if more runs follow, and by `flush`."""
        self._pending += outcomes
        for outcome in outcomes:
            if outcome.trace is not None:
                self.traces.add(outcome.task, outcome.trace)
        if monotonic() - self._flushed >= FLUSH_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write everything to disk, traces before their runs."""
        self._flushed = monotonic()
        self.traces.flush()
        if self._pending:
            arrow = studies_need("pyarrow")
            rows = [row_of(outcome) for outcome in self._pending]
            name = f"part-{self._pending[0].task.number:08d}-{uuid4().hex[:8]}.parquet"
            _write_table(self.runs / name, arrow.Table.from_pylist(rows, schema=self._schema))
            self._pending = []

    def gather(self, checks: Mapping[str, RunOutcome] = MappingProxyType({})) -> None:
        """Merge all parts into one file; readers see either this file or the parts. Traces are merged into files of 1
        000 runs.

        `checks` are outcomes of checked runs by name; their rows get the accuracy.
        """
        self.traces.gather()
        if len(self.parts) < 2 and not checks:
            return
        new, old = self.folder / _NEW, self.folder / _OLD
        for folder in (new, old):
            shutil.rmtree(folder, ignore_errors=True)
        table = _with_checks(self.table(), checks)
        new.mkdir()
        _write_table(new / "part-00000000-all.parquet", table)
        self.runs.rename(old)
        new.rename(self.runs)
        shutil.rmtree(old)


def _with_checks(table: Any, checks: Mapping[str, RunOutcome]) -> Any:
    """The table of runs with the accuracy of checked ones."""
    arrow = studies_need("pyarrow")
    runs = table["run"].to_pylist()
    for field in _accuracy_fields(arrow):
        known = table[field.name].to_pylist() if field.name in table.column_names else [None] * len(runs)
        values = [
            getattr(checks[run], field.name) if run in checks else value for run, value in zip(runs, known, strict=True)
        ]
        column = arrow.array(values, field.type)
        place = table.schema.get_field_index(field.name)
        table = table.append_column(field, column) if place < 0 else table.set_column(place, field, column)
    return table


RUNS_OF_FILE = 1_000
"""Smallest number of runs whose traces share a file after the study has ended."""
_RUN_NAMES = ("run", "run of the study")
"""Names of the column before the time; the first that is not the name of a signal is used."""
_MANIFESTS = b"ssptool.runs"
"""Key of the manifests of the runs in the metadata of a file (JSON, compressed with zlib, in base64)."""
_GROUP_BYTES = 1 << 24
"""Smallest size of a group of rows of traces [byte]."""


class TraceParts:
    """Signals of the runs over time, in files that appear complete. All traces in a file have the same signals."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._pending: dict[Any, list[tuple[Task, Any]]] = {}

    @property
    def place(self) -> Path:
        """Path of the traces, for any reader of Parquet."""
        return self.folder / _TRACES

    @property
    def parts(self) -> list[Path]:
        return sorted(self.place.glob("part-*.parquet"))

    def add(self, task: Task, content: bytes) -> None:
        """Add the trace of a run, a Parquet file; `flush` writes it to disk."""
        table = studies_need("pyarrow.parquet").ParquetFile(io.BytesIO(content)).read()
        self._pending.setdefault(table.schema.remove_metadata(), []).append((task, table))

    def flush(self) -> None:
        """Write everything to disk."""
        for traces in self._pending.values():
            arrow = studies_need("pyarrow")
            key = import_module("ssptool.engine.recording.parquet").MANIFEST
            self.place.mkdir(exist_ok=True)
            schema = traces[0][1].schema
            name = next(name for name in _RUN_NAMES if name not in schema.names)
            column = arrow.field(name, arrow.string(), nullable=False)
            manifests = {task.run: json_content(table.schema.metadata[key]) for task, table in traces}
            tables = (table.add_column(0, column, arrow.repeat(task.run, len(table))) for task, table in traces)
            self._write(traces[0][0].number, schema.insert(0, column), manifests, tables)
        self._pending = {}

    def keep(self, runs: Collection[str]) -> None:
        """Remove the traces of all other runs, and duplicates that a killed process may have left."""
        left = set(runs)
        for path in self.parts:
            compute = studies_need("pyarrow.compute")
            found = self._manifests(path)
            if wanted := found.keys() & left:
                left -= wanted
            if wanted == found.keys():
                continue
            if wanted:
                chosen = compute.field(self._schema(path).names[0]).isin(list(wanted))
                manifests = {run: found[run] for run in found if run in wanted}
                self._write(
                    _number(path), self._schema(path), manifests, (t.filter(chosen) for t in self._groups(path))
                )
            path.unlink()

    def gather(self) -> None:
        """Merge traces with the same signals into files of at least `RUNS_OF_FILE` runs, as far as possible.

        For a moment, readers may find a run twice, with the same trace.
        """
        alike: dict[Any, list[Path]] = {}
        for path in self.parts:
            alike.setdefault(self._schema(path).remove_metadata(), []).append(path)
        for paths in alike.values():
            for batch in _batches(paths, lambda path: len(self._manifests(path))):
                manifests = {run: one for path in batch for run, one in self._manifests(path).items()}
                tables = (table for path in batch for table in self._groups(path))
                self._write(_number(batch[0]), self._schema(batch[0]), manifests, tables)
                for path in batch:
                    path.unlink()

    def each(self) -> Iterator[tuple[str, Trace]]:
        """All runs with their traces, each once. Raises UnusableFile if a file is damaged."""
        seen: set[str] = set()
        for path in self.parts:
            here = self._manifests(path).keys() - seen
            yield from ((run, trace) for run, trace in self._traces(path) if run in here)
            seen |= here

    def of(self, run: str) -> tuple[Trace, dict[str, Any]] | None:
        """The trace of a run and its manifest, if it was kept. Raises UnusableFile if the file is damaged."""
        for path in self.parts:
            if run in (manifests := self._manifests(path)):
                rows = self._traces(path, run)
                return next((trace for _, trace in rows), Trace.of([], [])), manifests[run]
        return None

    def _traces(self, path: Path, only: str | None = None) -> Iterator[tuple[str, Trace]]:
        """The traces of a file. The rows of a run are consecutive, in one or several groups."""
        arrow, compute = studies_need("pyarrow"), studies_need("pyarrow.compute")
        trace_of_table = import_module("ssptool.engine.recording.parquet").trace_of_table
        left: Any = None
        with intact(self.folder, path):
            for table in self._groups(path):
                table = table if only is None else table.filter(compute.field(table.column_names[0]) == only)
                table = table if left is None else arrow.concat_tables([left, table])
                names = table[0].combine_chunks().to_numpy(zero_copy_only=False)
                starts = [0, *(np.flatnonzero(names[1:] != names[:-1]) + 1).tolist()] if len(table) else []
                for start, end in pairwise(starts):
                    rows = table.slice(start, end - start)
                    yield names[start], trace_of_table(path, rows.remove_column(0))
                left = table.slice(starts[-1]) if starts else None
            if left is not None:
                yield left[0][0].as_py(), trace_of_table(path, left.remove_column(0))

    def _groups(self, path: Path) -> Iterator[Any]:
        with intact(self.folder, path), studies_need("pyarrow.parquet").ParquetFile(path) as file:
            for number in range(file.num_row_groups):
                yield file.read_row_group(number)

    def _schema(self, path: Path) -> Any:
        with intact(self.folder, path):
            return studies_need("pyarrow.parquet").read_schema(path)

    def _manifests(self, path: Path) -> dict[str, Any]:
        metadata = self._schema(path).metadata or {}
        with intact(self.folder, path):
            content = zlib.decompress(base64.b64decode(metadata.get(_MANIFESTS, _NO_MANIFESTS)))
            found: dict[str, Any] = json_content(content)
            return found

    def _write(self, number: int, schema: Any, manifests: Mapping[str, Any], tables: Iterable[Any]) -> None:
        """Write a file of these traces, in groups of limited size."""
        arrow, parquet = studies_need("pyarrow"), studies_need("pyarrow.parquet")
        metadata = {_MANIFESTS: base64.b64encode(zlib.compress(json_text(manifests).encode()))}
        schema, waiting = schema.with_metadata(metadata), []
        path = self.place / f"part-{number:08d}-{uuid4().hex[:8]}.parquet"
        with _complete_file(path) as file, parquet.ParquetWriter(file, schema, compression="zstd") as writer:
            for table in tables:
                waiting.append(table)
                if sum(one.nbytes for one in waiting) >= _GROUP_BYTES:
                    writer.write_table(arrow.concat_tables(waiting).cast(schema))
                    waiting = []
            if waiting:
                writer.write_table(arrow.concat_tables(waiting).cast(schema))


_NO_MANIFESTS = base64.b64encode(zlib.compress(b"{}"))


def _number(path: Path) -> int:
    """Number of the first run in a file."""
    return int(path.name.split("-")[1])


def _batches(paths: Sequence[Path], runs: Callable[[Path], int]) -> Iterator[list[Path]]:
    """Groups of files to merge: small files are combined until they have enough runs."""
    batch: list[Path] = []
    total = 0
    for path in paths:
        if (count := runs(path)) < RUNS_OF_FILE:
            batch, total = [*batch, path], total + count
            if total >= RUNS_OF_FILE:
                yield batch
                batch, total = [], 0
    if len(batch) > 1:
        yield batch


@contextmanager
def _complete_file(path: Path) -> Iterator[IO[bytes]]:
    """Context with a file to write, which appears either complete or not at all."""
    temporary = path.with_suffix(".writing")
    temporary.unlink(missing_ok=True)
    with temporary.open("xb") as file:  # does not follow a link
        yield file
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def _write_table(path: Path, table: Any) -> None:
    with _complete_file(path) as file:
        studies_need("pyarrow.parquet").write_table(table, file, compression="zstd")


@contextmanager
def open_dataset(folder: Path) -> Iterator[Dataset]:
    """Open the dataset of a folder for exclusive writing.

    Raises
    ------
    WrongUsage
        Another process is writing to the folder.
    WrongUsage
        A file or folder in it is a link that points outside.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name in (_LOCK, DEFINITION, _RUNS, _NEW, _OLD, _TRACES):
        stay_inside(folder, name)
    descriptor = open_unread(folder / _LOCK)
    try:
        try:
            lock(descriptor)
        except OSError:
            raise WrongUsage(
                f"{folder}: another process runs this study; wait for it, or choose another folder"
            ) from None
        dataset = Dataset(folder)
        dataset.mend()
        try:
            yield dataset
        finally:
            dataset.flush()
    finally:
        os.close(descriptor)


def row_of(outcome: RunOutcome) -> dict[str, Any]:
    """Row of the table; for a failed run without results."""
    return {
        "run": outcome.task.run,
        "number": outcome.task.number,
        **outcome.task.point,
        **outcome.results,
        "status": outcome.status.value,
        "message": outcome.message,
        "seconds": outcome.seconds,
        "attempts": outcome.attempts,
        ACCURACY: outcome.accuracy,
        REMARK: outcome.accuracy_remark,
        LIMIT: outcome.accuracy_limit.value,
    }


def _schema(points: Points, results: Sequence[str], units: Mapping[str, str | None]) -> Any:
    arrow = studies_need("pyarrow")
    fields = [arrow.field("run", arrow.string(), False), arrow.field("number", arrow.int64(), False)]
    types = {name: _type(arrow, column) for name, column in points.columns.items()}
    for name, kind in (types | dict.fromkeys(results, arrow.float64())).items():
        unit = units.get(name)
        fields.append(arrow.field(name, kind, metadata={"unit": unit} if unit else None))
    fields += [arrow.field("status", arrow.string()), arrow.field("message", arrow.string())]
    fields += [arrow.field("seconds", arrow.float64()), arrow.field("attempts", arrow.int32())]
    return arrow.schema([*fields, *_accuracy_fields(arrow)])


def _accuracy_fields(arrow: Any) -> list[Any]:
    return [arrow.field(ACCURACY, arrow.float64()), *(arrow.field(name, arrow.string()) for name in (REMARK, LIMIT))]


def _type(arrow: Any, column: Sequence[FactorValue]) -> Any:
    kinds = {bool if isinstance(value, bool) else type(value) for value in column}
    if kinds <= {bool}:
        return arrow.bool_()
    if kinds <= {int}:
        return arrow.int64()
    return arrow.float64() if kinds <= {int, float} else arrow.string()


def _differences(there: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    """Differences between definitions that make runs incompatible: all except points, their number, and versions."""
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
