"""A file that ends with a footer at any time, while parts are added before it."""

import contextlib
import os
from pathlib import Path


class FootedFile:
    """Each part takes the place of the footer, and a new footer follows it.

    While a part is written, the file ends with a copy of the footer before, behind the room for the part; when the new
    footer stands before that copy, the copy is cut off. So whoever reads the file at any time, or finds what a killed
    process has left, finds a footer at its end; but for the moment in which the copy itself is written.

    Raises
    ------
    OSError
        From all methods, such as for a full disk; after `abandon` the file is what it was before `begin`.

    Attributes
    ----------
    place
        Where the next part goes.
    footer
        The present one.
    """

    def __init__(self, path: Path, head: bytes, footer: bytes) -> None:
        self._file = path.open("wb", buffering=0)
        self._descriptor = self._file.fileno()
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
        # If not even that is possible, the file ends with the copy.
        with contextlib.suppress(OSError):
            self._put(self.footer, self.place)
            os.ftruncate(self._descriptor, self.place + len(self.footer))

    def close(self) -> None:
        self._file.close()

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
        rest = memoryview(data)
        while rest:  # the system may take less at once, such as before it says that the disk is full
            written = os.pwrite(self._descriptor, rest, place)
            rest, place = rest[written:], place + written
