"""Systems that are to be worked with: open, and without errors."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from ssptool.documents.archive import Archive
from ssptool.documents.document import Document
from ssptool.rules.renderers import RENDERERS
from ssptool.rules.report import Report
from ssptool.rules.runner import check

NO_OVERRIDES: Mapping[str, str] = {}


class InvalidSystem(Exception):
    """The system has errors, so it is not run; `report` says which."""

    def __init__(self, report: Report) -> None:
        count = len(report.errors)
        what = f"{count} errors" if count > 1 else "an error"
        # Warnings and fixes are what `ssptool validate` is for.
        shown = RENDERERS["text"](replace(report, diagnostics=report.errors, fixable={}))
        super().__init__(f"{report.subject} has {what} and cannot be run\n\n{shown}")
        self.report = report


@contextmanager
def valid(path: Path | str, variant: str | None) -> Iterator[tuple[Archive, Document]]:
    """An open archive and a structure in it that has no errors."""
    with Archive.open(path) as archive:
        structure = archive.structure(variant)
        report = check(archive, structure.name)
        if report.errors:
            raise InvalidSystem(report)
        yield archive, structure
