"""Output of processes that run foreign code, which have no terminal.

Such a child is in a session of its own, so that `/dev/tty` is nothing to it; it reads from nowhere, and its standard
output and standard error are a pipe. A thread of the parent shows on standard error what comes, as text.
"""

import codecs
import ctypes
import io
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import Any, TextIO

from ssptool.foreign_text import several_lines, without_commands

_STDIN, _STDOUT, _STDERR = 0, 1, 2
_AT_ONCE = 1 << 16
"""Bytes that are read together, and characters of a line that are shown before its end."""

LATER_SECONDS = 1.0
"""Time by which the end of the pipe may follow that of the child: what a child has started may have it open [s]."""

_showing = threading.Lock()
"""Held by a thread that writes: a fork made meanwhile would find the locks of the stream taken for ever."""

if sys.platform != "win32":
    os.register_at_fork(before=_showing.acquire, after_in_parent=_showing.release, after_in_child=_showing.release)

_shown: list["ChildOutput"] = []
"""Outputs of the children that have not been waited for."""

_is_child = False

_unheard: ContextVar[bool] = ContextVar("unheard", default=False)


@contextmanager
def unheard() -> Iterator[None]:
    """Show nothing of what children print that are started meanwhile: they repeat what others have done."""
    token = _unheard.set(True)
    try:
        yield
    finally:
        _unheard.reset(token)


def is_child() -> bool:
    """Whether this process has left the terminal: its children inherit its streams."""
    return _is_child


class _Reader(threading.Thread):
    """A thread that holds no lock while this process is copied."""


def may_be_copied() -> bool:
    """Whether this process has one thread, but for those that read from children."""
    return sum(not isinstance(thread, _Reader) for thread in threading.enumerate()) == 1


class ChildOutput:
    """A pipe for what a child prints, and the thread that shows it.

    Attributes
    ----------
    end
        Descriptor of the child's end.
    """

    def __init__(self) -> None:
        self._begin, self.end = os.pipe()
        self._stream: TextIO | None = None
        self.show_here()
        self._pid = 0
        self._thread = _Reader(target=self._show_all, daemon=True)

    def show_here(self) -> None:
        """Show on the present standard error what comes from now on, unless nothing is to be heard."""
        self._stream = None if _unheard.get() else sys.stderr

    def begin(self, pid: int) -> None:
        """Show what comes. The child has its end, and leads a session if this system has sessions."""
        os.close(self.end)
        self._pid = pid
        _shown.append(self)
        self._thread.start()

    def give_up(self) -> None:
        """There is no child after all."""
        os.close(self.end)
        os.close(self._begin)

    def finish(self) -> None:
        """Wait until all is shown that a child has printed which has ended; can be repeated."""
        with suppress(ValueError):
            _shown.remove(self)
        self._thread.join(LATER_SECONDS)

    def send(self, number: int) -> None:
        """Send a signal to all processes of the session."""
        if sys.platform != "win32":
            with suppress(OSError):  # the session has not begun, or has ended
                os.killpg(self._pid, number)

    def _show_all(self) -> None:
        decoder, line = codecs.getincrementaldecoder("utf-8")("backslashreplace"), ""
        while content := os.read(self._begin, _AT_ONCE):
            whole, line_break, line = (line + decoder.decode(content)).rpartition("\n")
            self._show(whole + line_break)
            if len(line) >= _AT_ONCE:
                self._show(f"{line}\n")
                line = ""
        os.close(self._begin)
        if line := line + decoder.decode(b"", final=True):
            self._show(f"{line}\n")

    def _show(self, text: str) -> None:
        if not text or self._stream is None:
            return
        with _showing, suppress(OSError, ValueError):  # nobody reads it any more
            self._stream.write(without_commands(several_lines(text)))
            self._stream.flush()


def leave_terminal(end: int) -> None:
    """Make a copy of the parent a child without a terminal: `end` is that of its `ChildOutput`."""
    if sys.platform == "win32":
        raise AssertionError("there are no forks")
    os.setsid()
    for stream in (_STDOUT, _STDERR):
        os.dup2(end, stream)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, _STDIN)
    os.close(null)
    settle_streams()


def settle_streams() -> None:
    """Let this child, whose streams are a pipe, keep nothing of what is printed: it would be lost with the process."""
    global _is_child
    _is_child = True
    _former.extend((sys.stdout, sys.stderr))
    sys.stdout, sys.stderr = map(_unbuffered, (_STDOUT, _STDERR))
    with suppress(OSError, ValueError, AttributeError):  # another C library
        if sys.platform == "win32":
            library = ctypes.CDLL("ucrtbase")
            library.__acrt_iob_func.restype = ctypes.c_void_p
            stdout, unbuffered = ctypes.c_void_p(library.__acrt_iob_func(1)), 4
        else:
            library = ctypes.CDLL(None)
            name = "__stdoutp" if sys.platform == "darwin" else "stdout"
            stdout, unbuffered = ctypes.c_void_p.in_dll(library, name), 2
        library.setvbuf(stdout, None, unbuffered, ctypes.c_size_t(0))


_former: list[TextIO | None] = []
"""Streams that a copy has from its parent: one that was destroyed would print once more what the parent prints."""


def _unbuffered(descriptor: int) -> TextIO:
    raw: Any = io.FileIO(descriptor, "w", closefd=False)
    return io.TextIOWrapper(raw, "utf-8", "backslashreplace", write_through=True)


def stop_with_children() -> None:
    """Let Ctrl-Z stop the children too, which the terminal does not reach, and `fg` or `bg` continue them."""
    if sys.platform != "win32":
        signal.signal(signal.SIGTSTP, _stop)


def _stop(_number: int, _frame: object) -> None:
    if sys.platform != "win32":
        stopped = list(_shown)
        for output in stopped:
            output.send(signal.SIGSTOP)
        os.kill(os.getpid(), signal.SIGSTOP)
        for output in stopped:
            output.send(signal.SIGCONT)
