"""What the rules found, and what they were found in."""

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from ssptool.dataclass import dataclass
from ssptool.documents.diagnostics import Diagnostic, Position, Severity
from ssptool.documents.nesting import INSIDE
from ssptool.rules.excerpt import Excerpt
from ssptool.rules.report_html import report_html


class Skipped(NamedTuple):
    """Rules that could not be applied to a document, and why."""

    file: str
    reason: str


class Region(NamedTuple):
    """Where in a file something stands: line and columns, counted from 1; the last column is the one behind it."""

    line: int
    columns: tuple[int, int] | None = None
    text: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """All diagnostics of a package in the order of files and lines.

    `subject` is the path that was checked, `files` the documents of it that were looked at, `excerpts` the source
    line of each position that has one. `withheld` are diagnostics that are not wanted, of rules that rest on the
    words of the standard. `fixable` are those that a program can mend, and whether that is safe. `folder` is where
    the files stand on disk; None if they are in a zip.
    """

    subject: str
    diagnostics: tuple[Diagnostic, ...]
    files: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    excerpts: Mapping[Position, Excerpt] = field(default_factory=lambda: MappingProxyType({}))
    withheld: tuple[Diagnostic, ...] = ()
    fixable: Mapping[Diagnostic, bool] = field(default_factory=lambda: MappingProxyType({}))
    folder: str | None = None

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        return self.of(Severity.ERROR)

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        return self.of(Severity.WARNING)

    @property
    def infos(self) -> tuple[Diagnostic, ...]:
        return self.of(Severity.INFO)

    @property
    def ok(self) -> bool:
        """Whether there is no error. Warnings do not keep a system from running."""
        return not self.errors

    def __bool__(self) -> bool:
        """Whether there is no error, as `ok`."""
        return self.ok

    def __repr__(self) -> str:
        counts = {"error": len(self.errors), "warning": len(self.warnings), "information": len(self.infos)}
        found = [
            f"{count} {name}{'s' if count > 1 and name != 'information' else ''}"
            for name, count in counts.items()
            if count
        ]
        return f"<Report on {self.subject}: {', '.join(found) or 'no findings'}>"

    def _repr_html_(self) -> str:
        return report_html(self.subject, self.diagnostics)

    def of(self, severity: Severity) -> tuple[Diagnostic, ...]:
        return tuple(diagnostic for diagnostic in self.diagnostics if diagnostic.severity is severity)

    def on_disk(self, file: str) -> str:
        """The path of a file that other tools can open, with forward slashes: of the package if it is inside a zip."""
        if self.folder is None:
            return Path(self.subject).as_posix()
        return Path(self.folder, file.partition(INSIDE)[0] if _in_zip(file) else file).as_posix()

    def region(self, position: Position) -> Region | None:
        """The offending part of a file, as exactly as it is known; None if no line of it is to blame."""
        if not position.line:
            return None
        shown = self.excerpts.get(position)
        if shown is None:
            return Region(position.line)
        return Region(shown.line or position.line, (shown.start + 1, shown.end + 1), shown.text)

    def region_on_disk(self, position: Position) -> Region | None:
        """The same of the file of `on_disk`: that may be a zip, which has no lines."""
        return None if self.folder is None or _in_zip(position.file) else self.region(position)


def _in_zip(file: str) -> bool:
    """Whether this names an entry of a package or FMU inside the package that was checked."""
    return any(ending + INSIDE in file.lower() for ending in (".ssp", ".fmu"))
