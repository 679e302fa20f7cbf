"""Diagnostics of documents: a code, a severity, a position, a message and advice."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Protocol

from ssptool.foreign_text import one_line


class Severity(StrEnum):
    """Severity of a diagnostic. A document with errors is rejected."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class HasAttributes(Protocol):
    """An element, or a mapping of its attributes."""

    def get(self, name: str, /) -> str | None: ...


class LaterAddress(NamedTuple):
    """Address of an element that is formatted at first use, because most addresses are never used.

    `around` is the address of the parent; the attributes listed in `identity` distinguish the element from others of
    its `name`.
    """

    around: str
    name: str
    identity: tuple[str, ...]
    attributes: Mapping[str, str]

    def __str__(self) -> str:
        return f"{self.around}/{self.name}{identified(self.attributes, self.identity)}"

    def __hash__(self) -> int:
        return hash(str(self))

    def __eq__(self, other: object) -> bool:
        return str(self) == str(other) if isinstance(other, LaterAddress | str) else NotImplemented

    def __lt__(self, other: object) -> bool:
        return str(self) < str(other)

    def __gt__(self, other: object) -> bool:
        return str(self) > str(other)


def identified(attributes: HasAttributes, identity: Iterable[str]) -> str:
    """The attributes of an `identity` that have values, as conditions of an address; empty if there are none."""
    stated = ((name, attributes.get(name)) for name in identity)
    return "".join(
        f"[@{name}='{value}']" if "'" not in value else f'[@{name}="{value}"]'
        for name, value in stated
        if value is not None
    )


class Position(NamedTuple):
    """A position in a document.

    `file` is the path inside the archive, `line` counts from 1 (0: unknown, e.g. for an element that was just
    added), `address` is like an XPath from the root: `/System/Elements/Component[@name='System1']`.
    """

    file: str
    line: int = 0
    at: str | LaterAddress = ""

    @property
    def address(self) -> str:
        return str(self.at)

    def __str__(self) -> str:
        return one_line(f"{self.file}:{self.line}" if self.line else self.file)


class DataFinding(NamedTuple):
    """An error in data, with its location; `line` is 0 for data that do not come from a file."""

    source: str
    line: int
    column: str
    message: str

    def __str__(self) -> str:
        place = f"{self.source}:{self.line}" if self.line else self.source
        return one_line(f"{place}: {f'{self.column}: ' if self.column else ''}{self.message}")


MOST_LISTED = 50
"""Number of findings that a message lists; the others are only counted."""


class BadData(ValueError):
    """Inputs, a scenario, a study or parameters cannot be used; `findings` contain the location of each error."""

    def __init__(self, what: str, findings: Sequence[DataFinding]) -> None:
        shown = [str(finding) for finding in findings[:MOST_LISTED]]
        if len(findings) > MOST_LISTED:
            shown.append(f"and {len(findings) - MOST_LISTED} more")
        super().__init__(f"{what} cannot be used\n" + "\n".join(f"  {line}" for line in shown))
        self.findings = tuple(findings)


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """A finding in a document."""

    code: str
    severity: Severity
    position: Position
    message: str
    advice: str = ""

    def __str__(self) -> str:
        advice = f" ({self.advice})" if self.advice else ""
        return one_line(f"{self.position}: {self.severity} {self.code}: {self.message}{advice}")


class InvalidDocument(Exception):
    """A document or archive is not readable; `diagnostics` lists all findings."""

    def __init__(self, *diagnostics: Diagnostic) -> None:
        super().__init__("\n".join(map(str, diagnostics)))
        self.diagnostics = diagnostics


def error(code: str, position: Position, message: str, advice: str = "") -> Diagnostic:
    return Diagnostic(code, Severity.ERROR, position, message, advice)
