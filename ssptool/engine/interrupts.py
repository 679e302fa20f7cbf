"""What must not be done by halves, when somebody presses Ctrl-C."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_Handler = Callable[[int, FrameType | None], Any]


@contextmanager
def held_back() -> Iterator[None]:
    """An interrupt (SIGINT) or a request to end (SIGTERM) waits for the end of this context; a second one does not.

    In threads other than the main one nothing is done, because none of these arrives there.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with _held(signal.SIGINT), _held(signal.SIGTERM):
        yield


@contextmanager
def _held(number: signal.Signals) -> Iterator[None]:
    before = signal.getsignal(number)
    if not callable(before):  # it is ignored, or ends the process, or is not Python's business
        yield
        return
    handle: _Handler = before
    arrived: list[int] = []

    def hold(number: int, frame: FrameType | None) -> None:
        arrived.append(number)
        if len(arrived) > 1:
            handle(number, frame)

    signal.signal(number, hold)
    try:
        yield
    finally:
        signal.signal(number, before)
        if len(arrived) == 1:
            signal.raise_signal(number)
