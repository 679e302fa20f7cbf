"""Packages inside packages: their entries under names like `resources/sub.ssp!SystemStructure.ssd`.

An FMU is a zip as well, so that `resources/A.fmu!modelDescription.xml` is the name of an entry, too. A name that an
entry of the package itself has, `!` and all, is that entry's.
"""

from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from ssptool.dataclass import dataclass
from ssptool.documents.diagnostics import InvalidDocument, Position, error
from ssptool.documents.entries import Entries, Limits, ZipEntries

INSIDE = "!"


@dataclass(slots=True)
class Allowance:
    """What is left of the limits, for a package and all those inside it together."""

    left: Limits

    def take(self, entries: ZipEntries) -> None:
        spent = entries.size
        self.left = replace(
            self.left,
            entries=self.left.entries - spent.entries,
            unpacked_bytes=self.left.unpacked_bytes - spent.unpacked_bytes,
        )


class Place(NamedTuple):
    """Where an entry is: with `entries` as `name`; `prefix` is the name of the package around it, with a `!`."""

    entries: Entries
    prefix: str
    name: str


class Nesting:
    """The entries of a package and of the packages inside, which are opened when they are asked for."""

    def __init__(self, around: Entries, allowance: Allowance, prefix: str = "", depth: int = 0) -> None:
        self._around = around
        self._allowance = allowance
        self._prefix = prefix
        self._depth = depth
        self._opened: dict[str, Nesting] = {}

    def has(self, name: str) -> bool:
        """Whether there is such an entry; there is none in what cannot be opened."""
        try:
            place = self.place(name)
        except InvalidDocument:
            return False
        return place.entries.has(place.name)

    def read(self, name: str) -> bytes:
        place = self.place(name)
        return place.entries.read(place.name)

    def local_path(self, name: str) -> Path:
        place = self.place(name)
        return place.entries.local_path(place.name)

    def place(self, name: str) -> Place:
        """Where an entry is or would be.

        Raises
        ------
        InvalidDocument
            A package around it cannot be opened (PKG-001 …), or exceeds the limits (PKG-024).
        """
        at = -1 if self._around.has(name) else name.find(INSIDE)
        while at >= 0:
            if self._around.has(name[:at]):
                return self._inside(name[:at]).place(name[at + 1 :])
            at = name.find(INSIDE, at + 1)
        return Place(self._around, self._prefix, name)

    def forget(self, name: str) -> None:
        """The entry was replaced or removed: what was opened of it holds no longer."""
        if name in self._opened:
            self._opened.pop(name).close()

    def close(self) -> None:
        for opened in self._opened.values():
            opened.close()
        self._around.close()

    def _inside(self, name: str) -> "Nesting":
        if name not in self._opened:
            full = self._prefix + name
            if self._depth == self._allowance.left.depth:
                message = f"packages are nested deeper than {self._depth} levels"
                raise InvalidDocument(error("PKG-024", Position(full), message, "unpack the innermost ones"))
            entries = ZipEntries(self._around.local_path(name), self._allowance.left, full)
            self._allowance.take(entries)
            self._opened[name] = Nesting(entries, self._allowance, full + INSIDE, self._depth + 1)
        return self._opened[name]
