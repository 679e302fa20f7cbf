"""What the rules found, and what they were found in."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from ssptool.documents.diagnostics import Diagnostic, Position, Severity
from ssptool.rules.excerpt import Excerpt


@dataclass(frozen=True, slots=True)
class Skipped:
    """Rules that could not be applied to a document, and why."""

    file: str
    reason: str


@dataclass(frozen=True, slots=True)
class Report:
    """All diagnostics of a package in the order of files and lines.

    `subject` is the path that was checked, `files` the documents of it that were looked at, `excerpts` the source
    line of each position that has one.
    """

    subject: str
    diagnostics: tuple[Diagnostic, ...]
    files: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    excerpts: Mapping[Position, Excerpt] = field(default_factory=lambda: MappingProxyType({}))

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

    def of(self, severity: Severity) -> tuple[Diagnostic, ...]:
        return tuple(diagnostic for diagnostic in self.diagnostics if diagnostic.severity is severity)
