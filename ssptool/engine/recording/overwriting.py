"""What a run writes must not be what it reads, and not the same file twice."""

from collections.abc import Iterable
from pathlib import Path

from ssptool.documents.csv_columns import sidecar
from ssptool.working_directory import absolute
from ssptool.wrong_usage import WrongUsage


class WouldOverwrite(WrongUsage, ValueError):
    """A file that a run is to write is needed for something else."""

    def __init__(self, path: Path, needed: str) -> None:
        super().__init__(f"{path} {needed}; choose another name for what is to be written (--output, --log-…)")
        self.path = path


def check_written(output: Path | None, logs: Iterable[Path | None], read: Iterable[Path]) -> None:
    """That results and logs go to files of their own, before any of them is opened.

    Raises
    ------
    WouldOverwrite
        One of them is another one of them, or a file that the run reads.
    """
    written = [path for path in (output, *logs) if path is not None]
    if output is not None and output.suffix.lower() == ".csv":
        written.append(sidecar(output))
    places = [absolute(path).resolve() for path in written]
    for number, (path, place) in enumerate(zip(written, places, strict=True)):
        if place in places[:number]:
            raise WouldOverwrite(path, "would be written twice at once")
    there = {_file(place): path for path, place in zip(written, places, strict=True) if place.exists()}
    for file in read if there else ():
        if hit := there.get(_file(file)):
            raise WouldOverwrite(hit, "is read by this run, which would overwrite it")


def _file(path: Path) -> tuple[int, int]:
    """Which file it is, whatever its names are."""
    status = path.stat()
    return status.st_dev, status.st_ino
