"""A file of results that may become impossible to write, such as on a full disk."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ssptool.engine.recording.writer import Writer
from ssptool.engine.trace import Floats


class ResultsNotWritten(Exception):
    """The file of results could not be begun, or takes no more.

    Attributes
    ----------
    time : [s]
        Of the first row that it does not take, as far as is known; None: the file could not be begun or ended.
    """

    def __init__(self, path: Path, reason: str, time: float | None) -> None:
        since, kept = ("", "") if time is None else (f" at t = {time:g} s", "the file keeps what is in it; ")
        super().__init__(
            f"{path}: results cannot be written{since}: {reason}; {kept}make room, or choose another --output"
        )
        self.path = path
        self.reason = reason
        self.time = time


class GuardedWriter:
    """Says once that the file cannot be written, and leaves it as it is from then on.

    Raises
    ------
    ResultsNotWritten
        From the constructor and all methods.
    """

    def __init__(self, path: Path, begin: Callable[[], Writer]) -> None:
        self._path = path
        self._failed = False
        with self._guard():
            self._writer = begin()

    def write(self, rows: Floats) -> None:
        if self._failed:
            return
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
        with self._guard():
            self._writer.close(manifest)

    @contextmanager
    def _guard(self, time: float | None = None) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self._failed = True
            raise ResultsNotWritten(self._path, error.strerror or str(error), time) from error
