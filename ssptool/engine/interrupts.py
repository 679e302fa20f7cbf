"""Sections of code that Ctrl-C does not cut short."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_Handler = Callable[[int, FrameType | None], Any]

_holding = False
_waiting: list[Callable[[], Any]] = []


@contextmanager
def held_back() -> Iterator[None]:
    """An interrupt (SIGINT) or a request to end (SIGTERM) waits for the end of this context; a second one does not.

    Within another such context, and in threads other than the main one, where none of these arrives, nothing is done.
    """
    global _holding
    if _holding or threading.current_thread() is not threading.main_thread():
        yield
        return
    with _held(signal.SIGINT), _held(signal.SIGTERM):
        _holding = True
        try:
            yield
        finally:
            _holding = False


def let_through() -> None:
    """What was held back arrives here, because nothing is done by halves at present."""
    if _waiting:
        _waiting.pop()()


@contextmanager
def _held(number: signal.Signals) -> Iterator[None]:
    before = signal.getsignal(number)
    if not callable(before):  # it is ignored, or ends the process, or is not Python's business
        yield
        return
    handle: _Handler = before

    def hold(number: int, frame: FrameType | None) -> None:
        if _waiting:
            _waiting.clear()
            handle(number, frame)
        _waiting.append(lambda: handle(number, frame))

    signal.signal(number, hold)
    try:
        yield
    finally:
        signal.signal(number, before)
        let_through()
