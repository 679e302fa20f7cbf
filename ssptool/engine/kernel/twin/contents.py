"""Texts and bytes by number."""

from collections.abc import Sequence

ENTRY_BYTES = 64
"""What a content takes besides its bytes."""


class Contents:
    """Texts that a kernel has met, and what binary variables had, by number. No number means another one later."""

    def __init__(self) -> None:
        self._all: dict[int, bytes] = {}
        self._numbers: dict[bytes, int] = {}
        self._kept: set[int] = set()
        self._next = self.bytes = 0
        self.number(b"", keep=True)

    def __len__(self) -> int:
        return self._next

    def __getitem__(self, number: int) -> bytes:
        if number not in self._all:
            raise IndexError(f"content {number} does not exist, or is forgotten")
        return self._all[number]

    def number(self, content: bytes, keep: bool = False) -> int:
        found = self._numbers.setdefault(content, self._next)
        if found == self._next:
            self._all[found] = content
            self._next += 1
            self.bytes += ENTRY_BYTES + len(content)
        if keep:
            self._kept.add(found)
        return found

    def forget(self, needed: Sequence[int]) -> list[int]:
        forgotten = sorted(self._all.keys() - self._kept - set(needed))
        for number in forgotten:
            content = self._all.pop(number)
            del self._numbers[content]
            self.bytes -= ENTRY_BYTES + len(content)
        return forgotten
