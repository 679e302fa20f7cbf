"""What is wrong with a study: all of it at once, before anything runs."""

from collections.abc import Mapping, Sequence

from ssptool.documents.diagnostics import DataFinding
from ssptool.engine.stimuli.findings import BadData

Key = tuple[str, ...]


class BadStudy(BadData):
    """A study that cannot be carried out."""

    def __init__(self, findings: Sequence[DataFinding]) -> None:
        super().__init__("the study", findings)


class Findings:
    """Collects what is wrong, by the keys of the study file.

    Parameters
    ----------
    source
        The file; of a study that was made in Python its name.
    lines
        Where the keys are.
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
        """Whether something is wrong with this key, or inside of it."""
        name = ".".join(key)
        return any(found.column == name or found.column.startswith(name + ".") for found in self.found)

    def names(self, table: str) -> set[str]:
        """Of the entries of a table with which something is wrong."""
        return {found.column.split(".", 1)[1] for found in self.found if found.column.startswith(table + ".")}

    def line(self, key: Key) -> int:
        """That of the key, or of what it is in."""
        while key:
            if key in self.lines:
                return self.lines[key]
            key = key[:-1]
        return 1 if self.lines else 0

    def check(self) -> None:
        """Raises BadStudy if there are any."""
        if self.found:
            raise BadStudy(self.found)
