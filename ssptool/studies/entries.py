"""Entries of a study file, read by name and type, and their findings, which are all reported together."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from ssptool.arguments import parse_time
from ssptool.confinement import is_outside, outside_folder
from ssptool.documents.diagnostics import BadData, DataFinding
from ssptool.studies.expressions import unknown

Key = tuple[str, ...]


class Findings:
    """Collector of findings, by the keys of the study file.

    Parameters
    ----------
    source
        The file, or the name of a study that was made in Python.
    lines
        Line numbers of the keys.
    """

    def __init__(self, source: str, lines: Mapping[Key, int]) -> None:
        self.source = source or "study"
        self.lines = lines
        self.found: list[DataFinding] = []

    def add(self, key: Key, message: str) -> None:
        finding = DataFinding(self.source, self.line(key), ".".join(key), message)
        if finding not in self.found:
            self.found.append(finding)

    def about(self, *key: str) -> bool:
        """True if there are findings on this key, or inside of it."""
        name = ".".join(key)
        return any(found.column == name or found.column.startswith(name + ".") for found in self.found)

    def names(self, table: str) -> set[str]:
        """Names of the entries of a table with findings."""
        return {found.column.split(".", 1)[1] for found in self.found if found.column.startswith(table + ".")}

    def line(self, key: Key) -> int:
        """Line of the key, or of the table that contains it."""
        while key:
            if key in self.lines:
                return self.lines[key]
            key = key[:-1]
        return 1 if self.lines else 0

    def check(self) -> None:
        """Raise BadData if there are any findings."""
        if self.found:
            raise BadData("the study", self.found)


T = TypeVar("T")


def beyond(path: Path, does: str = "read") -> str:
    """Message on a file that a study refers to, and that it may not read or write."""
    if is_outside(path):
        return str(outside_folder(path))
    return (
        f"{path} lies outside the folder of the study, the working folder and the repository around; if the study may "
        f"{does} it: --allow-outside {path.parent}"
    )


class StudyEntries:
    """One table of a study. `rest` reports entries that were not read."""

    def __init__(self, content: Any, key: Key, findings: Findings) -> None:
        self.key = key
        self.findings = findings
        self._taken: set[str] = set()
        self._content: Mapping[str, Any] = {}
        if isinstance(content, Mapping):
            self._content = content
        else:
            findings.add(key, f"found {content!r}, expected a table")

    def __contains__(self, name: str) -> bool:
        return name in self._content

    def names(self) -> list[str]:
        return list(self._content)

    def find(self, name: str, message: str) -> None:
        self.findings.add((*self.key, name) if name else self.key, message)

    def take(self, name: str) -> Any:
        """The entry, unchecked; None if it is missing."""
        self._taken.add(name)
        return self._content.get(name)

    def table(self, name: str) -> "StudyEntries":
        """A nested table; empty if it does not exist."""
        return StudyEntries({} if name not in self._content else self.take(name), (*self.key, name), self.findings)

    def text(self, name: str) -> str | None:
        return self._typed(name, str, "a text")

    def flag(self, name: str) -> bool:
        return bool(self._typed(name, bool, "true or false"))

    def number(self, name: str) -> float | None:
        value = self.take(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
            self.find(name, f"found {value!r}, expected a number")
            return None
        return float(value)

    def time(self, name: str) -> float | None:
        """Seconds, from a number or a string with a unit of time."""
        if not isinstance(self._content.get(name), str):
            return self.number(name)
        try:
            return parse_time(self.take(name))
        except ValueError as error:
            self.find(name, f"found {self._content[name]!r}, expected {error}")
            return None

    def duration(self, name: str) -> float | None:
        """A time greater than 0 [s]."""
        value = self.time(name)
        if value is not None and not value > 0:
            self.find(name, f"found {value:g}, expected a time greater than 0")
            return None
        return value

    def positive(self, name: str) -> float | None:
        value = self.number(name)
        if value is not None and not value > 0:
            self.find(name, f"found {value:g}, expected a number greater than 0")
            return None
        return value

    def count(self, name: str, least: int = 1) -> int | None:
        value = self.take(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            self.find(name, f"found {value!r}, expected a whole number of at least {least}")
            return None
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """A string, or a list of strings."""
        value = self.take(name)
        if value is None:
            return ()
        values = [value] if isinstance(value, str) else value
        if not isinstance(values, Sequence) or not all(isinstance(one, str) for one in values):
            self.find(name, f"found {value!r}, expected a text or a list of texts")
            return ()
        return tuple(values)

    def rest(self, what: str, known: Sequence[str]) -> None:
        """Report entries that were not read."""
        for name in self._content:
            if name not in self._taken:
                self.find(str(name), unknown(what, str(name), known))

    def _typed(self, name: str, kind: type[T], words: str) -> T | None:
        value = self.take(name)
        if value is None or isinstance(value, kind):
            return value
        self.find(name, f"found {value!r}, expected {words}")
        return None
