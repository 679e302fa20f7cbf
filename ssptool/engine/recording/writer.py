"""Writers of result files and readers of growing ones: their protocols, blocks of rows, and a thread that writes."""

import contextlib
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from io import FileIO
from queue import LifoQueue, Queue
from threading import Thread
from time import monotonic
from types import TracebackType
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike

from ssptool.engine.trace import Column, Floats, StringTable
from ssptool.errors import UnusableFile


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
        """Notes on what the format could not keep, signal by signal."""
        ...

    def close(self, manifest: str) -> None:
        """Everything is written; `manifest` (JSON) tells what it is."""
        ...


@dataclass(frozen=True, slots=True)
class News:
    """New rows of a file of results.

    Attributes
    ----------
    begun
        The file is there and says what its columns are.
    columns, times, values
        The columns, and the new rows: times (k,) [s] and an array (k,) for each column.
    replaced
        The rows are the first ones of another run, whose file has taken the place of the one before.
    manifest
        That of a run that has ended; these are its last rows.
    more
        There are more rows, to be read at once.
    """

    begun: bool = False
    columns: tuple[Column, ...] = ()
    times: ArrayLike = ()
    values: Sequence[ArrayLike] = ()
    replaced: bool = False
    manifest: Mapping[str, Any] = field(default_factory=dict)
    more: bool = False


class Tail(Protocol):
    """Reads a file of results that a run writes, each row once."""

    def read(self) -> News:
        """The rows that have come since the last call; none where the file is not there yet.

        Raises
        ------
        UnusableFile
            What the file has is not a trace, and will not become one.
        """
        ...


def refuse_repeats(path: object, signals: Sequence[str]) -> None:
    """
    Raises
    ------
    UnusableFile
        Several columns have one signal.
    """
    if repeated := sorted(signal for signal, times in Counter(signals).items() if times > 1):
        raise UnusableFile(path, f"there are several columns for {', '.join(repeated)}")


def put(file: FileIO, content: bytes | bytearray) -> None:
    """Write all of it: the system may take less at once, such as before it says that the disk is full."""
    rest = memoryview(content)
    while rest:
        rest = rest[file.write(rest) :]


def append(file: FileIO, content: bytes | bytearray) -> None:
    """Write all of it at the end of the file, or nothing: a part of it would be read as something else."""
    end = file.tell()
    try:
        put(file, content)
    except OSError:
        file.truncate(end)
        file.seek(end)
        raise


def change(file: FileIO, place: int, content: bytes) -> None:
    """Write over what stands at a place; the end of the file stays the place to write on."""
    end = file.tell()
    file.seek(place)
    put(file, content)
    file.seek(end)


GROUP_SECONDS = 0.1
"""Time [s] after which a group is written however small it is; or after a small part of the time since the start, or so
long that writing it takes a small part of that time.
"""

LATE_PART = 0.01
"""Fraction of the time since the start that a killed run may lose, if that is more."""

WRITING_PART = 0.05
"""Fraction of the time for writing groups that are smaller than they should be."""


class Patience:
    """Clock of a writer of groups of rows: when one is written that is smaller than it should be."""

    def __init__(self) -> None:
        self._writing = 0.0
        self._began = self._wrote = monotonic()

    @property
    def over(self) -> bool:
        now = monotonic()
        return now - self._wrote >= max(GROUP_SECONDS, LATE_PART * (now - self._began), self._writing / WRITING_PART)

    def renew(self, writing: float) -> None:
        """A group was written, which took so long [s]."""
        self._writing, self._wrote = writing, monotonic()


class FootedFile:
    """Each part takes the place of the footer, and a new footer follows it.

    While a part is written, the file ends with a copy of the footer before, behind the space for the part; when the new
    footer is written before that copy, the copy is cut off. So the file ends with a footer at any time, also after the
    process was killed, except while the copy itself is written.

    Raises
    ------
    OSError
        A method cannot write, such as on a full disk; after `abandon` the file is as before `begin`.

    Attributes
    ----------
    place
        Offset of the next part.
    footer
        The present one.
    """

    def __init__(self, file: FileIO, head: bytes, footer: bytes) -> None:
        self._descriptor = file.fileno()
        self._put(head + footer, 0)
        self.place = len(head)
        self.footer = footer
        self._at = self._copy = self.place

    def begin(self, size: int) -> None:
        """A part of about so many bytes comes."""
        self._at = self.place
        self._keep_copy(self.place + max(size, len(self.footer)))

    def write(self, data: bytes) -> None:
        """The next bytes of the part."""
        self._make_room(len(data))
        self._put(data, self._at)
        self._at += len(data)

    def finish(self, footer: bytes) -> None:
        """The part is whole."""
        self._make_room(len(footer))
        self._put(footer, self._at)
        os.ftruncate(self._descriptor, self._at + len(footer))
        self.place, self.footer = self._at, footer

    def abandon(self) -> None:
        """The part, whose `begin` or what followed has failed, is not to be."""
        # If that fails too, the file ends with the copy.
        with contextlib.suppress(OSError):
            self._put(self.footer, self.place)
            os.ftruncate(self._descriptor, self.place + len(self.footer))

    def _make_room(self, size: int) -> None:
        if self._at + size > self._copy:
            self._keep_copy(max(self._at + 2 * size, self._copy + len(self.footer)))

    def _keep_copy(self, place: int) -> None:
        """The footer at the end of the file, which is here."""
        before = os.fstat(self._descriptor).st_size
        try:
            self._put(self.footer, place)
        except OSError:
            os.ftruncate(self._descriptor, before)
            raise
        self._copy = place

    def _put(self, data: bytes, place: int) -> None:
        os.lseek(self._descriptor, place, os.SEEK_SET)
        rest = memoryview(data)
        while rest:  # the system may take less at once, such as before it says that the disk is full
            rest = rest[os.write(self._descriptor, rest) :]


class WritingThread:
    """Write rows in a thread, which ends with the context.

    Parameters
    ----------
    waiting
        Blocks of rows that may wait: they bound the memory, and the caller waits while there are more.

    The native kernel, encoders of numbers and the system's calls all run without the lock of the interpreter, so that
    steps and writing overlap.

    Notes
    -----
    Why this is free of races: a block of rows belongs to one thread at a time. The caller has one, lent or to copy rows
    to; the queue of those that wait hands it over, and the queue of those that are free hands it back. The writer
    itself is used by the thread while there is one, and by the caller before it is started and after it was joined. An
    error is left before its block is given back, and taken by the caller: late by some blocks at most while rows come,
    and surely after the join. Only the caller takes it away, and a writer fails once. All contents of a block are
    complete before the block is handed over, and are dropped when this thread has written it.
    """

    def __init__(self, waiting: int) -> None:
        self._most = waiting
        self._waiting: Queue[Floats | Callable[[], None] | None]
        # The last one that was used is most likely still in a cache.
        self._free: Queue[Floats] = LifoQueue()
        self._blocks = 0
        self._lent: Floats | None = None
        self._writer: Writer
        self._thread: Thread | None = None
        self._error: BaseException | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._join()

    def around(self, open_writer: Callable[[StringTable], Writer]) -> Callable[[StringTable], Writer]:
        """Context in which a file is begun such that this thread writes it."""

        def begin(contents: StringTable) -> Writer:
            self._writer = open_writer(contents)
            return self

        return begin

    def lend(self, count: int, width: int) -> Floats:
        """Memory for rows (count, width), until the next call; what is written of it is not copied and not the caller's
        any more.
        """
        size = count * width
        if self._lent is not None and self._lent.size < size:
            self._free.put(self._lent)
            self._lent = None
        if self._lent is None:
            self._lent = self._block(size)
        return self._lent[:size].reshape(count, width)

    # -- as `Writer` -------------------------------------------------------------------------------------------

    def write(self, rows: Floats) -> None:
        """Errors of earlier rows arrive here, or in `close`."""
        self._check()
        if self._thread is None:
            self._begin()
        if self._lent is not None and rows.base is self._lent:
            self._lent = None
        else:
            block = self._block(rows.size)[: rows.size].reshape(rows.shape)
            np.copyto(block, rows)
            rows = block
        self._waiting.put(rows)

    def when_written(self, action: Callable[[], None]) -> None:
        if self._thread is None:
            self._begin()
        self._waiting.put(action)

    def notes(self) -> tuple[str, ...]:
        self._join()
        return self._writer.notes()

    def close(self, manifest: str) -> None:
        self._join()
        self._check()
        self._writer.close(manifest)

    # ----------------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        self._waiting = Queue(self._most)
        self._thread = Thread(target=self._work, name="ssptool-writer", daemon=True)
        self._thread.start()

    def _block(self, size: int) -> Floats:
        """Free memory for at least this many numbers; reused, because new pages cost more than a copy."""
        if self._blocks <= self._most and self._free.empty():
            self._blocks += 1
            return np.empty(size)
        block = self._free.get()
        return block if block.size >= size else np.empty(size)

    def _work(self) -> None:
        while (block := self._waiting.get()) is not None:
            try:
                if callable(block):
                    self._writer.when_written(block)
                    continue
                self._writer.write(block)
            except BaseException as error:
                self._error = error  # The caller reports it, and until then waits for memory: continue.
            if not callable(block):
                whole = block.base
                assert whole is not None
                self._free.put(whole)

    def _check(self) -> None:
        if (error := self._error) is not None:
            self._error = None  # said once is enough
            try:
                raise error
            finally:
                del error  # which holds this frame

    def _join(self) -> None:
        if self._thread is None:
            return
        if self._thread.ident is not None:  # an interrupt may come before it is started, or in here
            self._waiting.put(None)
            self._thread.join()
        self._thread = None


BLOCK_BYTES = 1 << 20
"""Most bytes of rows that come at once: they should still be in the caches when somebody copies or writes them."""


WAITING_ROWS, LEAST_WAITING, MOST_WAITING = 4096, 8, 64
"""Blocks that may wait for whoever writes them: as many as have so many rows together, within limits. So
the system goes on while a group of rows is encoded for a file.
"""


def rows_at_once(count: int, width: int) -> int:
    """Number of rows of `width` numbers in a block, where `count` are asked for."""
    return max(1, min(count, BLOCK_BYTES // (8 * width)))


def blocks_at_once(width: int) -> int:
    """Number of blocks of such rows that may wait."""
    return min(max(8 * width * WAITING_ROWS // BLOCK_BYTES, LEAST_WAITING), MOST_WAITING)
