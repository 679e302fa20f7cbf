"""Findings in the present documents, each with the element or connection in the diagram that it is about."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ssptool.documents.archive import Archive
from ssptool.documents.diagnostics import Diagnostic
from ssptool.drawing.diagram.model import Span, StatedSheet
from ssptool.network.tree import ElementPath
from ssptool.rules.kept import Kept
from ssptool.rules.runner import check_with_fixes
from ssptool.rules.selection import Switches
from ssptool.studio.advice import page_advice


def key_of(finding: Diagnostic) -> str:
    """Key by which a finding is recognized in a later check of the same text."""
    return " ".join([finding.code, finding.position.file, finding.position.address, finding.message])


@dataclass(frozen=True, slots=True)
class DrawnThing:
    """An element, or a connection (by its text), in the sheet of a system."""

    sheet: ElementPath
    element: ElementPath | None
    connection: str = ""

    def content(self) -> dict[str, Any]:
        return {
            "sheet": list(self.sheet),
            "element": None if self.element is None else list(self.element),
            "connection": self.connection,
        }


class DrawnPlaces:
    """Lines of files that define drawn elements and connections; the smallest range counts."""

    def __init__(self, sheets: Iterable[StatedSheet]) -> None:
        found: list[tuple[Span, DrawnThing]] = []
        for sheet in sheets:
            found += [(block.span, DrawnThing(sheet.path, block.path)) for block in sheet.blocks if not block.group]
            found += [
                (span, DrawnThing(sheet.path, None, text))
                for line in sheet.lines
                for span, text in zip(line.spans, line.described, strict=True)
            ]
        self._lines: dict[tuple[str, int], DrawnThing] = {}
        for span, thing in sorted(found, key=lambda one: one[0].first - one[0].last):
            for line in range(span.first, span.last + 1):
                self._lines[span.file, line] = thing

    def at(self, file: str, line: int) -> DrawnThing | None:
        return self._lines.get((file, line))


def findings_of(
    archive: Archive, variant: str, switches: Switches, kept: Kept, places: DrawnPlaces
) -> list[dict[str, Any]]:
    """Findings of a check for the page, in the order of reports."""
    checked = check_with_fixes(archive, variant, switches=switches, kept=kept)
    return [finding_content(one, places, checked.fixes) for one in checked.report.diagnostics]


def finding_content(finding: Diagnostic, places: DrawnPlaces, fixes: Mapping[Diagnostic, Any]) -> dict[str, Any]:
    """A finding as data for the page."""
    fix, place = fixes.get(finding), places.at(finding.position.file, finding.position.line)
    advice, actions = page_advice(finding.advice)
    return {
        "key": key_of(finding),
        "code": finding.code,
        "severity": finding.severity.value,
        "message": finding.message,
        "advice": advice,
        "actions": [{"title": title, "edits": edits} for title, edits in actions],
        "where": str(finding.position),
        "place": None if place is None else place.content(),
        "fixes": [] if fix is None else [{"title": one.title, "safe": one.safe} for one in fix.options],
    }
