"""The formats of result files, by the ending of their names."""

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from ssptool.engine.recording.contents import Contents
from ssptool.engine.recording.guarded import GuardedWriter
from ssptool.engine.recording.writer import Writer
from ssptool.engine.trace import Column, Trace
from ssptool.working_directory import absolute
from ssptool.wrong_usage import WrongUsage


class UnknownFormat(WrongUsage, ValueError):
    """The ending of a file's name is that of no format."""

    def __init__(self, path: Path) -> None:
        found = f"the folder {path.name!r}" if path.is_dir() else repr(path.name)
        super().__init__(f"results are files of type {', '.join(FORMATS)}; found {found}")
        self.path = path


class MissingExtra(Exception):
    """A format needs a package that is not installed."""

    def __init__(self, path: Path, package: str, extra: str) -> None:
        super().__init__(
            f"{path.name} needs {package}: pip install 'ssptool[{extra}]', or choose another format (.csv)"
        )
        self.path = path
        self.package = package
        self.extra = extra


class _Format(NamedTuple):
    """Where the code is; loaded when it is needed, since some formats have large libraries behind them."""

    module: str
    writer: str
    reader: str
    package: str = ""

    def load(self, path: Path, name: str) -> Callable[..., Any]:
        if self.package and find_spec(self.package) is None:
            raise MissingExtra(path, self.package, self.module)
        function: Callable[..., Any] = getattr(import_module(f"ssptool.engine.recording.{self.module}"), name)
        return function


FORMATS: Mapping[str, _Format] = {
    ".csv": _Format("csv", "CsvWriter", "read_csv"),
    ".parquet": _Format("parquet", "ParquetWriter", "read_parquet", "pyarrow"),
    ".mat": _Format("mat", "MatWriter", "read_mat"),
}
"""Ending → format."""


def check_output(path: Path) -> None:
    """That results can be written there, before anything is run.

    Raises
    ------
    UnknownFormat
        No format has this ending.
    MissingExtra
        The package for it is not installed.
    OSError
        The folder does not exist, or the path is one.
    """
    format, place = _format(path), absolute(path)
    if format.package and find_spec(format.package) is None:
        raise MissingExtra(path, format.package, format.module)
    if not place.parent.is_dir():
        raise FileNotFoundError(f"{path.parent}: no such folder for the results; make it, or choose another --output")
    if place.is_dir():
        raise IsADirectoryError(f"{path} is a folder; results go to a file")


def open_writer(path: Path, columns: Sequence[Column], contents: Contents = (b"",)) -> Writer:
    """Begin a file of results, over an old one if there is one.

    Parameters
    ----------
    contents
        What the numbers in columns of type String and Binary mean: which may grow before each `write`.

    Raises
    ------
    UnknownFormat, MissingExtra
        As `check_output`.
    ResultsNotWritten
        The operating system does not let it; from the methods of the writer as well.
    """
    format = _format(path)
    begin = format.load(path, format.writer)
    place = absolute(path)
    return GuardedWriter(path, lambda: begin(place, columns, contents))


def read_trace(path: Path | str) -> Trace:
    """The trace in a file of results: CSV, Parquet or MAT by its ending. Also of a run that was interrupted.

    Raises
    ------
    UnknownFormat, MissingExtra
        As `check_output`.
    UnreadableTrace
        The file is not a trace.
    """
    path = Path(path)
    format = _format(path)
    trace: Trace = format.load(path, format.reader)(path)
    return trace


def read_manifest(path: Path | str) -> Mapping[str, Any]:
    """What is written of the run in a file of results, or beside it; empty if the run was interrupted."""
    path = Path(path)
    format = _format(path)
    manifest: Mapping[str, Any] = format.load(path, "read_manifest")(path)
    return manifest


def _format(path: Path) -> _Format:
    try:
        return FORMATS[path.suffix.lower()]
    except KeyError:
        raise UnknownFormat(path) from None
