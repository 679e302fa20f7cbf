"""Reports of work in progress, for example for a line on the terminal."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeAlias, TypeVar

Listener: TypeAlias = Callable[[str], None]
"""Takes texts such as "reading FMU 3 of 12", without names from files."""

NOTHING = ""
"""Told before work that shows its progress in another way, or that makes copies of this process."""

_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)

T = TypeVar("T")


def tell(work: str) -> None:
    listener = _listener.get()
    if listener is not None:
        listener(work)


def one_by_one(work: str, subjects: Sequence[T]) -> Iterator[T]:
    """The subjects, each told by its number before it is worked on; one alone has no number."""
    for number, subject in enumerate(subjects, 1):
        tell(f"{work} {number} of {len(subjects)}" if len(subjects) > 1 else work)
        yield subject


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Pass all that is told inside to the listener."""
    token = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(token)
