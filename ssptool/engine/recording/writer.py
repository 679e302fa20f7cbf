"""Protocols of writers of result files and of readers of growing ones; sizes of blocks; the writing thread."""

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
    """A growing file of rows. Its columns are known from the start; it is complete after `close`."""

    def write(self, rows: Floats) -> None:
        """Append rows of cells (k, 1 + p), the time first. They are written to the file soon, at the latest by `close`.

        After an OSError, for example because the disk is full, the file is readable and has all its earlier rows.

        Cells of strings and bytes are indices into the contents that were passed when the file was created, which must
        already include them.
        """
        ...

    def when_written(self, action: Callable[[], None]) -> None:
        """Call `action` when the contents of all rows so far are in the file, or have been given up. By default at
        once, for formats whose waiting rows need no contents.
        """
        action()

    def notes(self) -> tuple[str, ...]:
        """Notes on facts that the format cannot represent, signal by signal; by default none."""
        return ()

    def close(self, manifest: str) -> None:
        """Write everything that is left, and the `manifest` (JSON)."""
        ...

    def release(self) -> None:
        """Close the file as it is, if `close` was not called; never raises."""
        ...


@dataclass(frozen=True, slots=True)
class News:
    """New rows of a result file.

    Attributes
    ----------
    begun
        True if the file exists and states its columns.
    columns, times, values
        The columns, and the new rows: times (k,) [s] and an array (k,) for each column.
    replaced
        True if the rows are the first of another run, whose file has replaced the previous one.
    manifest
        Manifest of a run that has ended, with these rows as its last.
    more
        True if more rows can be read immediately.
    """

    begun: bool = False
    columns: tuple[Column, ...] = ()
    times: ArrayLike = ()
    values: Sequence[ArrayLike] = ()
    replaced: bool = False
    manifest: Mapping[str, Any] = field(default_factory=dict)
    more: bool = False


class Tail(Protocol):
    """Reader of a result file that a run is writing; each row is read once."""

    def read(self) -> News:
        """The new rows since the last call; empty if the file does not exist yet.

        Raises
        ------
        UnusableFile
            The content of the file is not a trace, and cannot become one.
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
    """Write all of `content`: the operating system may write less at once, for example before it reports a full
    disk.
    """
    rest = memoryview(content)
    while rest:
        rest = rest[file.write(rest) :]


def append(file: FileIO, content: bytes | bytearray) -> None:
    """Write all of `content` at the end of the file, or nothing: a part of it would be misread."""
    end = file.tell()
    try:
        put(file, content)
    except OSError:
        file.truncate(end)
        file.seek(end)
        raise


def change(file: FileIO, place: int, content: bytes) -> None:
    """Overwrite the content at an offset; the next write is still at the end of the file."""
    end = file.tell()
    file.seek(place)
    put(file, content)
    file.seek(end)


GROUP_SECONDS = 0.1
"""Time [s] after which a group is written, however small it is. The limit is extended to a small part of the time since
the start, and so that writing takes only a small part of the time.
"""

LATE_PART = 0.01
"""Fraction of the time since the start that a killed run may lose, if this is more than `GROUP_SECONDS`."""

WRITING_PART = 0.05
"""Fraction of the time for writing groups that are smaller than they should be."""


class Patience:
    """Clock of a writer of groups of rows; decides when to write a group that is smaller than it should be."""

    def __init__(self) -> None:
        self._writing = 0.0
        self._began = self._wrote = monotonic()

    @property
    def over(self) -> bool:
        now = monotonic()
        return now - self._wrote >= max(GROUP_SECONDS, LATE_PART * (now - self._began), self._writing / WRITING_PART)

    def renew(self, writing: float) -> None:
        """Restart the clock after a group was written, which took `writing` [s]."""
        self._writing, self._wrote = writing, monotonic()


class FootedFile:
    """File with a footer; each new part overwrites the footer, and a new footer follows.

    While a part is written, the file ends with a copy of the previous footer, after the space for the part. When the
    new footer is complete, the copy is cut off. So the file always ends with a footer, even after the process was
    killed, except while the copy itself is written.

    Raises
    ------
    OSError
        A method cannot write, for example because the disk is full; after `abandon` the file is as before `begin`.

    Attributes
    ----------
    place
        Offset of the next part.
    footer
        The present footer.
    """

    def __init__(self, file: FileIO, head: bytes, footer: bytes) -> None:
        self._descriptor = file.fileno()
        self._put(head + footer, 0)
        self.place = len(head)
        self.footer = footer
        self._at = self._copy = self.place

    def begin(self, size: int) -> None:
        """Start a part of about `size` bytes."""
        self._at = self.place
        self._keep_copy(self.place + max(size, len(self.footer)))

    def write(self, data: bytes) -> None:
        """Write the next bytes of the part."""
        self._make_room(len(data))
        self._put(data, self._at)
        self._at += len(data)

    def finish(self, footer: bytes) -> None:
        """Complete the part with a new footer."""
        self._make_room(len(footer))
        self._put(footer, self._at)
        os.ftruncate(self._descriptor, self._at + len(footer))
        self.place, self.footer = self._at, footer

    def abandon(self) -> None:
        """Remove the part after a failed write."""
        # If this fails as well, the file ends with the copy.
        with contextlib.suppress(OSError):
            self._put(self.footer, self.place)
            os.ftruncate(self._descriptor, self.place + len(self.footer))

    def _make_room(self, size: int) -> None:
        if self._at + size > self._copy:
            self._keep_copy(max(self._at + 2 * size, self._copy + len(self.footer)))

    def _keep_copy(self, place: int) -> None:
        """Write a copy of the footer at this offset, which becomes the end of the file."""
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
        while rest:  # the operating system may write less at once, for example before it reports a full disk
            rest = rest[os.write(self._descriptor, rest) :]


class WritingThread:
    """Thread that writes rows; it ends with the context.

    The native kernel, encoders of numbers and system calls run without the interpreter lock, so that steps and writing
    overlap.

    Parameters
    ----------
    waiting
        Largest number of waiting blocks of rows, which limits the memory. If there are more, the caller waits.

    Notes
    -----
    There are no races, because a block of rows belongs to one thread at a time. The caller owns one block, lent or to
    copy rows to. The queue of waiting blocks passes it to the thread, and the queue of free blocks passes it back. The
    writer itself is used by the thread while it runs, and by the caller before the start and after the join. The thread
    stores an error before it returns the block. The caller raises it at most some blocks later, or after the join. Only
    the caller clears the error, and a writer fails only once. All contents of a block are complete before it is passed
    on, and are dropped after this thread has written it.
    """

    def __init__(self, waiting: int) -> None:
        self._most = waiting
        self._waiting: Queue[Floats | Callable[[], None] | None]
        # The block that was used last is most likely still in a cache.
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
        """Function that creates a file whose rows this thread writes."""

        def begin(contents: StringTable) -> Writer:
            self._writer = open_writer(contents)
            return self

        return begin

    def lend(self, count: int, width: int) -> Floats:
        """Memory for rows (count, width), until the next call. Rows written from it are not copied, and no longer
        belong to the caller.
        """
        size = count * width
        if self._lent is not None and self._lent.size < size:
            self._free.put(self._lent)
            self._lent = None
        if self._lent is None:
            self._lent = self._block(size)
        return self._lent[:size].reshape(count, width)

    # -- interface of `Writer` ---------------------------------------------------------------------------------

    def write(self, rows: Floats) -> None:
        """Write rows. Errors of earlier rows are raised here, or in `close`."""
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

    def release(self) -> None:
        self._join()
        self._writer.release()

    # ----------------------------------------------------------------------------------------------------------

    def _begin(self) -> None:
        self._waiting = Queue(self._most)
        self._thread = Thread(target=self._work, name="ssptool-writer", daemon=True)
        self._thread.start()

    def _block(self, size: int) -> Floats:
        """Free memory for at least this number of numbers; blocks are reused, because new pages cost more than a
        copy.
        """
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
                self._error = error  # The caller raises it later, and may wait for memory until then: continue.
            if not callable(block):
                whole = block.base
                assert whole is not None
                self._free.put(whole)

    def _check(self) -> None:
        if (error := self._error) is not None:
            self._error = None  # raised only once
            try:
                raise error
            finally:
                del error  # it refers to this frame

    def _join(self) -> None:
        if self._thread is None:
            return
        if self._thread.ident is not None:  # an interrupt may come before the start of the thread, or here
            self._waiting.put(None)
            self._thread.join()
        self._thread = None


BLOCK_BYTES = 1 << 20
"""Largest size of a block of rows [byte]: rows should still be in the caches when they are copied or written."""


WAITING_ROWS, LEAST_WAITING, MOST_WAITING = 4096, 8, 64
"""Blocks that may wait for the writer: as many as contain this number of rows, within limits, so that steps continue
while a group of rows is encoded.
"""


def rows_at_once(count: int, width: int) -> int:
    """Number of rows of `width` numbers in a block, at most `count`."""
    return max(1, min(count, BLOCK_BYTES // (8 * width)))


def blocks_at_once(width: int) -> int:
    """Number of blocks of such rows that may wait."""
    return min(max(8 * width * WAITING_ROWS // BLOCK_BYTES, LEAST_WAITING), MOST_WAITING)
