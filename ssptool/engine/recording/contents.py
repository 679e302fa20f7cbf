"""The texts and bytes that rows refer to by number, as long as somebody needs them."""

from collections.abc import Iterable
from typing import NamedTuple, Protocol


class Contents(Protocol):
    """Contents by number: a list, or those of a run."""

    def __getitem__(self, number: int, /) -> bytes: ...


class News(NamedTuple):
    """What rows bring: contents that are new in them, in the order of their numbers, and the numbers of those to which
    later rows do not refer.
    """

    new: tuple[bytes, ...] = ()
    forgotten: tuple[int, ...] = ()


NO_NEWS = News()


class RunContents:
    """The contents of a run: number 0 is the empty one, and whatever is new has the next number."""

    def __init__(self) -> None:
        self._all = {0: b""}
        self.told = 1

    def __getitem__(self, number: int, /) -> bytes:
        return self._all[number]

    def __len__(self) -> int:
        return len(self._all)

    def add(self, contents: Iterable[bytes]) -> None:
        for content in contents:
            self._all[self.told] = content
            self.told += 1

    def drop(self, numbers: Iterable[int]) -> None:
        for number in numbers:
            del self._all[number]

    @property
    def every(self) -> tuple[bytes, ...]:
        """All, if none was dropped: the place of each is its number."""
        return tuple(self._all.values())
