"""Formats of result files by their extension; errors of files that cannot or must not be written."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import NoneType
from typing import Any, NamedTuple

import numpy as np

from ssptool.arguments import path as checked_path
from ssptool.documents.csv_columns import sidecar
from ssptool.documents.foreign_files import read_text
from ssptool.engine.recording.writer import Tail, Writer
from ssptool.engine.settings import present_names
from ssptool.engine.trace import Column, Floats, StringTable, Trace, UnitChanges
from ssptool.errors import MissingPackage, UnusableFile, WrongUsage, WrongValue, disk_trouble, missing_extra
from ssptool.foreign_text import NOT_FINITE, json_content, json_text
from ssptool.public_calls import public
from ssptool.tempfiles import locked_output
from ssptool.working_directory import absolute


class ResultsNotWritten(WrongUsage):
    """The result file could not be created (then nothing was run), or no more rows can be written.

    Attributes
    ----------
    time : [s]
        Time of the first row that was not written, if known; None: the file could not be begun or ended.
    """

    def __init__(self, path: Path, reason: str, time: float | None, *, begun: bool = True) -> None:
        since, kept = ("", "") if time is None else (f" at t = {time:g} s", "; the file keeps what is in it")
        super().__init__(f"{path}: results cannot be written{since}: {reason}{kept}")
        self.path = path
        self.reason = reason
        self.time = time
        self.exit_status = 1 if begun else 2


class GuardedWriter:
    """Writer that reports a failed write once, leaves the file unchanged from then on, and always closes it.

    Parameters
    ----------
    begin
        Creates the writer, which registers the file that it opens with this stack.
    changes
        Conversion of rows to the units of the file.

    Raises
    ------
    ResultsNotWritten
        From all methods and the constructor.
    """

    def __init__(self, path: Path, begin: Callable[[ExitStack], Writer], changes: UnitChanges | None = None) -> None:
        self._path = path
        self._changes = changes
        self._failed = False
        existed = os.path.lexists(path)
        try:
            with ExitStack() as files:
                files.callback(locked_output(path))
                self._writer = begin(files)
                self._files = files.pop_all()
        except BlockingIOError:
            reason = "another process writes results to it; wait for it, or choose another file"
            raise ResultsNotWritten(path, reason, None, begun=False) from None
        except BaseException as error:
            if not existed:
                with suppress(OSError):
                    path.unlink(missing_ok=True)
            if isinstance(error, OSError):
                raise ResultsNotWritten(path, disk_trouble(error), None, begun=False) from error
            raise

    def write(self, rows: Floats) -> None:
        if self._failed:
            return
        if self._changes is not None and self._changes.changes:
            rows = rows.copy()
            self._changes.convert(rows[:, 1:])
        with self._guard(float(rows[0, 0]) if len(rows) else None):
            self._writer.write(rows)

    def when_written(self, action: Callable[[], None]) -> None:
        if self._failed:
            action()
            return
        with self._guard():
            self._writer.when_written(action)

    def notes(self) -> tuple[str, ...]:
        return self._writer.notes()

    def close(self, manifest: str) -> None:
        if self._failed:
            return
        with self._guard(), self._files:
            self._writer.close(manifest)

    def release(self) -> None:
        with suppress(OSError):
            self._files.close()

    @contextmanager
    def _guard(self, time: float | None = None) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self._failed = True
            self._files.close()
            raise ResultsNotWritten(self._path, disk_trouble(error), time) from error


def _unknown_format(path: Path) -> WrongValue:
    """Error for an extension without a format."""
    found = f"the folder {path.name!r}" if path.is_dir() else repr(path.name)
    way = "; MDF files are called .mf4" if path.suffix.lower() in (".mdf", ".dat") else ""
    return WrongValue(f"results are files of type {', '.join(FORMATS)}; found {found}{way}")


def _not_followed(path: Path) -> WrongValue:
    """Error for a result file that cannot be read while a run writes it."""
    followed = " or ".join(ending for ending, format in FORMATS.items() if format.tail)
    return WrongValue(
        f"{path}: results in a {path.suffix.lower()} file cannot be read while a run writes them; "
        f"let it write a {followed} file (--output)"
    )


class _Format(NamedTuple):
    """Module of a format, imported at first use, because some formats need large libraries.

    A format without `tail` cannot be read while it is written.
    """

    module: str
    writer: str
    reader: str
    tail: str = ""
    package: str = ""

    def missing(self, path: Path) -> MissingPackage:
        return missing_extra(self.module, self.package, path.name, "choose another format (.csv)")

    def load(self, path: Path, name: str) -> Callable[..., Any]:
        if self.package and find_spec(self.package) is None:
            raise self.missing(path)
        function: Callable[..., Any] = getattr(import_module(f"ssptool.engine.recording.{self.module}"), name)
        return function


FORMATS: Mapping[str, _Format] = {
    ".csv": _Format("csv", "CsvWriter", "read_csv", "CsvTail"),
    ".parquet": _Format("parquet", "ParquetWriter", "read_parquet", "ParquetTail", "pyarrow"),
    # The number of rows is written after them, and the manifest as another matrix: until then the file looks damaged.
    ".mat": _Format("mat", "MatWriter", "read_mat"),
    # Each look would read the whole file again.
    ".h5": _Format("hdf5", "Hdf5Writer", "read_hdf5", package="h5py"),
    # Written and read without a package; files of other tools need asammdf.
    ".mf4": _Format("mdf4", "Mdf4Writer", "read_mdf4"),
}
"""Ending → format."""


def check_output(path: Path) -> None:
    """Check, before the run starts, that results can be written to this path.

    Raises
    ------
    WrongValue
        No format has this ending.
    MissingPackage
        The package for it is not installed.
    OSError
        The folder does not exist, or the path is a folder.
    """
    format, place = _format(path), absolute(path)
    if format.package and find_spec(format.package) is None:
        raise format.missing(path)
    if not place.parent.is_dir():
        raise FileNotFoundError(f"{path.parent}: no such folder for the results; make it, or choose another --output")
    if place.is_dir():
        raise IsADirectoryError(f"{path} is a folder; results go to a file")


def open_writer(
    path: Path, columns: Sequence[Column], contents: StringTable = (b"",), changes: UnitChanges | None = None
) -> Writer:
    """Create a result file, overwriting an old one.

    Parameters
    ----------
    contents
        String table of columns of type String and Binary, which may grow before each `write`.
    changes
        Conversion of rows to the units of the columns.

    Raises
    ------
    WrongValue, MissingPackage
        As `check_output`.
    ResultsNotWritten
        The operating system does not allow it; also raised by methods of the writer.
    """
    format = _format(path)
    begin = format.load(path, format.writer)
    place = absolute(path)
    return GuardedWriter(path, lambda files: begin(place, columns, contents, files), changes)


def open_tail(path: Path, patterns: Sequence[str] = ()) -> Tail:
    """Open a result file that a run is writing or will write, to read signals that match a pattern (default: all).

    Raises
    ------
    WrongValue, MissingPackage
        As `check_output`.
    WrongValue
        The format cannot be read while it is written.
    """
    format = _format(path)
    if not format.tail:
        raise _not_followed(path)
    tail: Tail = format.load(path, format.tail)(absolute(path), patterns)
    return tail


LONGEST_NAME = 4_000
"""Longest name of a signal in results [characters]; longer names would make pictures and HTML reports unusable."""


@public
def read_trace(path: Path | str) -> Trace:
    """The trace in a file of results: CSV, Parquet, MAT, HDF5 or MDF4 by its ending; also of an interrupted run.

    Raises
    ------
    WrongValue, MissingPackage
        As `check_output`.
    UnusableFile
        The file is not a trace, or has points in time that are not numbers or names longer than `LONGEST_NAME`.
    """
    path = checked_path("path", path)
    format = _format(path)
    trace: Trace = format.load(path, format.reader)(path)
    check_names(path, trace.columns)
    check_times(path, trace.t)
    return trace


def copy_results(source: Path, target: Path) -> tuple[str, ...]:
    """Write results and their manifest to another file, in the format of its extension. Returns notes on what that
    format cannot represent.

    Raises
    ------
    WrongValue, MissingPackage, UnusableFile, ResultsNotWritten, OSError
    """
    trace, manifest = read_trace(source), read_manifest(source)
    writer = open_writer(target, trace.columns, trace.contents)
    writer.write(np.column_stack((trace.t, trace.cells)))
    writer.close(json_text(manifest, indent=1))
    return writer.notes()


def check_names(path: Path, columns: Sequence[Column]) -> None:
    """Raise UnusableFile if a name is longer than `LONGEST_NAME`."""
    if (longest := max((len(column.signal) for column in columns), default=0)) > LONGEST_NAME:
        raise UnusableFile(path, f"the name of a signal has {longest} characters, at most {LONGEST_NAME}")


def check_times(path: Path, times: Floats, first: int = 1) -> None:
    """Raise UnusableFile if a time is not finite; `first` is the number of the first row in messages."""
    if (wrong := np.flatnonzero(~np.isfinite(times))).size:
        raise UnusableFile(path, f"the time of row {wrong[0] + first} is {times[wrong[0]]}; it must be finite")


@public
def read_manifest(path: Path | str) -> Mapping[str, Any]:
    """Read the manifest of a run from its result file, or from the JSON file next to it; empty if the run was
    interrupted.
    """
    path = checked_path("path", path)
    format = _format(path)
    try:
        manifest: Mapping[str, Any] = format.load(path, "read_manifest")(path)
    except ValueError as error:
        raise UnusableFile(path, f"the description of its run cannot be read: {error}") from None
    if not isinstance(manifest, Mapping):
        raise UnusableFile(path, "the description of its run is not a JSON object")
    manifest = with_numbers(manifest)
    if fault := next(misfits(manifest, _MANIFEST), ""):
        raise UnusableFile(path, f"the description of its run is damaged: {fault}")
    return {**manifest, "settings": present_names(manifest["settings"], None)} if "settings" in manifest else manifest


def with_numbers(manifest: Mapping[str, Any]) -> Mapping[str, Any]:
    """Manifest from JSON, with numbers instead of the names of numbers that are not finite."""
    found: Mapping[str, Any] = _with_numbers(manifest, _MANIFEST)
    return found


def _with_numbers(value: Any, expected: Any) -> Any:
    """The value with numbers instead of the names of numbers that are not finite, if numbers are expected."""
    match expected:
        case tuple() if any(isinstance(one, dict) for one in expected):
            return _with_numbers(value, expected[0])
        case dict() if isinstance(value, Mapping):
            contents = {key.removesuffix("?"): content for key, content in expected.items()}
            others = contents.get("*", object)
            return {key: _with_numbers(one, contents.get(key, others)) for key, one in value.items()}
        case [content] if isinstance(value, list):
            return [_with_numbers(one, content) for one in value]
        case tuple() if float in expected and isinstance(value, str) and value in NOT_FINITE:
            return float(value)
    return value


_NUMBER, _TEXT_OR_NONE, _NUMBER_OR_NONE = (int, float), (str, NoneType), (int, float, NoneType)
_ITERATION: Mapping[str, Any] = {
    "method": str,
    "iterations": int,
    "residual": _NUMBER_OR_NONE,
    "allowed": _NUMBER_OR_NONE,
    "relative_to": str,
    "connections": [
        {
            "source": str,
            "destination": str,
            "source_component": str,
            "destination_component": str,
            "value": _NUMBER_OR_NONE,
            "unit": str,
            "residual": _NUMBER_OR_NONE,
            "allowed": _NUMBER_OR_NONE,
            "relative": _NUMBER_OR_NONE,
        }
    ],
    "left_out": int,
    "curves": [{"method": str, "iterations": [int], "residuals": [_NUMBER], "allowed": [_NUMBER]}],
}
_MANIFEST: Mapping[str, Any] = {
    "system?": str,
    "created?": str,
    "status?": str,
    "failure?": ({"message?": _TEXT_OR_NONE, "messages?": [str], "iteration?": (_ITERATION, NoneType)}, NoneType),
    "columns?": [{"signal": str, "unit?": _TEXT_OR_NONE, "type?": str, "description?": str, "discrete?": bool}],
    "inputs?": [{"name": str, "sha256": str}],
    "interval?": {"start": _NUMBER, "stop": _NUMBER, "step": _NUMBER},
    "arguments?": ({"system?": str, "start_values?": (Mapping, NoneType)}, NoneType),
    "unstated?": [str],
    "settings?": Mapping,
    "overrides?": [
        {"name": str, "before": object, "after": object, "unit?": str, "by": str, "place": str, "time": _NUMBER_OR_NONE}
    ],
    "choices?": [{"setting": str, "value": str, "reason": str}],
    "notes?": [str],
    "loops?": [
        {
            "stage": str,
            "signals": [str],
            "torn": [str],
            "solver": str,
            "status": str,
            "iterations": int,
            "residual_norm": _NUMBER,
        }
    ],
    "statistics?": {
        "calls?": [{"component": str, "function": str, "calls": int, "seconds": _NUMBER}],
        "steps?": (int, NoneType),
        "iterations_mean?": _NUMBER_OR_NONE,
        "iterations_max?": (int, NoneType),
        "unconverged?": (int, NoneType),
        "residual?": _NUMBER_OR_NONE,
        "inexact?": (int, NoneType),
        "inexact_error?": _NUMBER_OR_NONE,
        "rejected?": (int, NoneType),
        "events?": (int, NoneType),
        "evaluations?": (int, NoneType),
        "loops_solved?": (int, NoneType),
        "loop_iterations?": (int, NoneType),
        "loops_rescued?": (int, NoneType),
        "seconds?": _NUMBER_OR_NONE,
        "initialization_seconds?": _NUMBER_OR_NONE,
        "real_time_factor?": _NUMBER_OR_NONE,
    },
    "accuracy?": {
        "error?": _NUMBER_OR_NONE,
        "signal?": str,
        "time?": _NUMBER_OR_NONE,
        "order?": _NUMBER_OR_NONE,
        "errors?": {"*": _NUMBER},
    },
    "warnings?": [{"code": str, "message": str}],
    "versions?": Mapping,
}
"""Content that readers of a manifest need: key (with `?`: optional) → type, alternatives, or content."""


def misfits(value: Any, expected: Any, name: str = "it") -> Iterator[str]:
    """Locations where a JSON value differs from the expected type, alternatives, object or list.

    A key with `?` is optional; `*` stands for all keys.
    """
    match expected:
        case tuple() if any(isinstance(one, dict) for one in expected):
            content, *plain = expected
            if not isinstance(value, tuple(plain)):
                yield from misfits(value, content, name)
        case dict():
            if not isinstance(value, Mapping):
                yield f"{name} is not an object"
                return
            stated = [(f"{key}?", expected["*"]) for key in value] if "*" in expected else expected.items()
            for key, content in stated:
                plain_key = key.removesuffix("?")
                if plain_key in value:
                    yield from misfits(value[plain_key], content, plain_key if name == "it" else f"{name}.{plain_key}")
                elif plain_key == key:
                    yield f"{name} has no {key}"
        case [content]:
            if not isinstance(value, list):
                yield f"{name} is not a list"
                return
            for place, one in enumerate(value):
                yield from misfits(one, content, f"{name}[{place}]")
        case _ if not isinstance(value, expected) or (isinstance(value, bool) and expected in (int, _NUMBER)):
            yield f"{name} is {type(value).__name__}"


def is_result(path: Path) -> bool:
    """True if a run wrote this file: results with a manifest inside or next to them, or that manifest itself."""
    file = path.with_suffix("") if path.name.lower().endswith(SIDECAR_ENDING) else path
    if file.suffix.lower() not in FORMATS:
        return False
    if file.suffix.lower() == ".csv":
        file = sidecar(file)
        try:
            facts = json_content(read_text(file, "utf-8"))
        except (OSError, ValueError):
            return False
        return isinstance(facts, Mapping) and {"status", "columns"} <= facts.keys()
    try:
        return "columns" in read_manifest(file)
    except (OSError, ValueError, UnusableFile, MissingPackage):
        return False


SIDECAR_ENDING = ".csv.json"


def _format(path: Path) -> _Format:
    try:
        return FORMATS[path.suffix.lower()]
    except KeyError:
        raise _unknown_format(path) from None


def _would_overwrite(path: Path, needed: str) -> WrongValue:
    """Error for an output file of a run that is needed for another purpose."""
    return WrongValue(
        f"{path} {needed}; choose another name for the file to write (--output, --log-loops, --log-coupling, --fmu-log)"
    )


def check_written(output: Path | None, logs: Iterable[Path | None], read: Iterable[Path]) -> None:
    """Check that results and logs go to different files, before any of them is opened.

    Raises
    ------
    WrongValue
        Two of them are the same file, or one is a file that the run reads.
    """
    written = [path for path in (output, *logs) if path is not None]
    if output is not None and output.suffix.lower() == ".csv":
        written.append(sidecar(output))
    places = [absolute(path).resolve() for path in written]
    for number, (path, place) in enumerate(zip(written, places, strict=True)):
        if place in places[:number]:
            raise _would_overwrite(path, "would be written twice at once")
    there = {_file(place): path for path, place in zip(written, places, strict=True) if place.exists()}
    for file in read if there else ():
        if hit := there.get(_file(file)):
            raise _would_overwrite(hit, "is read by this run, which would overwrite it")


def _file(path: Path) -> tuple[int, int]:
    """Identity of a file, independent of its names."""
    status = path.stat()
    return status.st_dev, status.st_ino
