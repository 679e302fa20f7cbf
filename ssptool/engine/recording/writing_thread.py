"""A file that is written in a thread of its own, while the system goes on."""

from collections.abc import Callable
from queue import LifoQueue, Queue
from threading import Thread
from types import TracebackType
from typing import Self

import numpy as np

from ssptool.engine.recording.contents import Contents
from ssptool.engine.recording.writer import Writer
from ssptool.engine.trace import Floats


class WritingThread:
    """Writes for whoever has rows; no thread is left when its context is.

    Parameters
    ----------
    waiting
        Blocks of rows that may wait: the memory they take is bounded, and whoever has more waits as well.

    The native kernel, encoders of numbers and the system's calls all run without the lock of the interpreter, so that
    steps and writing overlap.

    Notes
    -----
    Why this is free of races: a block of rows belongs to one thread at a time. The caller has one, lent or to
    copy rows to; the queue of those that wait hands it over, and the queue of those that are free hands it back. The
    writer itself is used by the thread while there is one, and by the caller before it is started and after it was
    joined. An error is left before its block is given back, and taken by the caller: late by some blocks at most while
    rows come, and surely after the join. Only the caller takes it away, and a writer fails once. All contents of a
    block are there before the block is handed over, and go when this thread has written it.
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

    def around(self, open_writer: Callable[[Contents], Writer]) -> Callable[[Contents], Writer]:
        """What begins a file, such that this thread writes it."""

        def begin(contents: Contents) -> Writer:
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
        """Memory that nobody uses, of so many numbers at least; used again, because new pages cost more than a copy."""
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
                self._error = error  # The caller tells, and waits for memory until then: so go on.
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
