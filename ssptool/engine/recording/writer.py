"""What every format does."""

from collections import Counter
from collections.abc import Callable, Sequence
from io import FileIO
from typing import Protocol

from ssptool.engine.trace import Floats


class Writer(Protocol):
    """A growing file of rows. It was begun with the columns, and is complete after `close`."""

    def write(self, rows: Floats) -> None:
        """Append rows of cells (k, 1 + p), the time first. They are in the file soon; `close` writes what is not.

        After an OSError, such as for a full disk, the file can be read and has all that was in it before.

        The numbers of texts and bytes are those of the contents with which the file was begun, which has them by now.
        """
        ...

    def when_written(self, action: Callable[[], None]) -> None:
        """Call it when the contents of rows that were written until now are in the file, or given up."""
        ...

    def notes(self) -> tuple[str, ...]:
        """What the format could not keep, signal by signal."""
        ...

    def close(self, manifest: str) -> None:
        """Everything is written; `manifest` (JSON) tells what it is."""
        ...


class UnreadableTrace(Exception):
    """The file is not a trace in the format that its name promises."""

    def __init__(self, path: object, reason: str, line: int | None = None) -> None:
        super().__init__(f"{path}:{line}: {reason}" if line is not None else f"{path}: {reason}")
        self.path = path
        self.line = line
        self.reason = reason


def refuse_repeats(path: object, signals: Sequence[str]) -> None:
    """
    Raises
    ------
    UnreadableTrace
        There are several columns for a signal.
    """
    if repeated := sorted(signal for signal, times in Counter(signals).items() if times > 1):
        raise UnreadableTrace(path, f"there are several columns for {', '.join(repeated)}")


def put(file: FileIO, content: bytes) -> None:
    """Write all of it: the system may take less at once, such as before it says that the disk is full."""
    rest = memoryview(content)
    while rest:
        rest = rest[file.write(rest) :]
