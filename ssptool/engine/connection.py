"""Messages between two processes, whole and in their order.

As `multiprocessing.connection` has them, which takes as long to load as all that such a process says of a short run
takes to be said.
"""

import contextlib
import os
import select
import struct
from collections.abc import Iterator

_LENGTH = struct.Struct("=Q")


class Connection:
    """One end: what is sent here is received at the other. Both ends are used by one thread each.

    Parameters
    ----------
    descriptors : (int, int)
        Of the file to read from, and of that to write to.
    """

    def __init__(self, descriptors: tuple[int, int]) -> None:
        self.descriptors = descriptors
        self._closed = False
        self._poll = select.poll()
        self._poll.register(descriptors[0], select.POLLIN)

    def send_bytes(self, content: bytes) -> None:
        """Send a message; returns when all of it is on its way. Raises `BrokenPipeError` if nobody can receive it."""
        rest = memoryview(_LENGTH.pack(len(content)) + content)
        while rest:
            rest = rest[os.write(self.descriptors[1], rest) :]

    def recv_bytes(self) -> bytes:
        """The next message; waits for it. Raises `EOFError` if the other end was closed before all of it was sent."""
        (length,) = _LENGTH.unpack(self._read(_LENGTH.size))
        return self._read(length)

    def poll(self, seconds: float | None) -> bool:
        """Whether there is something to receive, or the other end was closed; waits so long, None: for ever."""
        return bool(self._poll.poll(None if seconds is None else 1e3 * seconds))

    def close(self) -> None:
        """Doing it again does no harm."""
        if not self._closed:
            self._closed = True
            for descriptor in self.descriptors:
                os.close(descriptor)

    def _read(self, length: int) -> bytes:
        return b"".join(self._parts(length))

    def _parts(self, length: int) -> Iterator[bytes]:
        while length:
            part = os.read(self.descriptors[0], min(length, 1 << 20))
            if not part:
                raise EOFError
            length -= len(part)
            yield part


def connected() -> tuple[Connection, Connection]:
    """Two ends of one connection."""
    with contextlib.ExitStack() as undo:
        ends = []
        for _ in range(2):
            ends.append(os.pipe())
            undo.callback(_close, ends[-1])
        undo.pop_all()
    (first_in, first_out), (second_in, second_out) = ends
    return Connection((first_in, second_out)), Connection((second_in, first_out))


def _close(descriptors: tuple[int, int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
