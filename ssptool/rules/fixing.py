"""Mend what the rules found, by the fixes that they declare."""

from ssptool.dataclass import dataclass
from ssptool.documents.archive import Archive
from ssptool.documents.diagnostics import Diagnostic
from ssptool.documents.element import Element
from ssptool.rules.fixes import Fix
from ssptool.rules.report import Report
from ssptool.rules.runner import check, editable, examine, fixes_of
from ssptool.rules.switches import EVERYTHING, Switches

MOST_ROUNDS = 20
"""One fix may uncover what another rule has to say; nothing should take that many."""


@dataclass(frozen=True, slots=True)
class Fixed:
    """What was mended, in this order, and the report of what is left. The edits are in the archive, not on disk."""

    diagnostics: tuple[Diagnostic, ...]
    report: Report


def fix(
    archive: Archive, variant: str | None = None, *, switches: Switches = EVERYTHING, unsafe: bool = False
) -> Fixed:
    """Apply the fixes of all findings that are listed, those that are no guesses, or with `unsafe` all.

    Documents of packages inside the archive are left as they are: they are to be mended as archives of their own.
    """
    done: list[Diagnostic] = []
    for _ in range(MOST_ROUNDS):
        applied = _round(archive, variant, switches, unsafe)
        if not applied:
            break
        done += applied
    return Fixed(tuple(done), check(archive, variant, switches=switches))


def _round(archive: Archive, variant: str | None, switches: Switches, unsafe: bool) -> list[Diagnostic]:
    """Apply as many fixes as there are that do not touch the same elements, in the order of files and lines."""
    found = examine(archive, variant, tools=switches.tools)
    listed, _ = switches.apply(found.diagnostics)
    own = editable(found.fixes, archive)
    fixes = fixes_of(sorted(listed, key=lambda one: (one.position, one.code, one.message)), own)
    applied, touched = [], set[Element]()
    for diagnostic, fixed in fixes.items():
        if (fixed.safe or unsafe) and _free(fixed, touched):
            touched |= fixed.touched
            fixed.apply()
            applied.append(diagnostic)
    return applied


def _free(wanted: Fix, touched: set[Element]) -> bool:
    """Whether nothing of it has been edited in this round, nor stands in something that has."""
    around = {ancestor for element in wanted.touched for ancestor in (element, *element.iterancestors())}
    below = {inner for element in wanted.touched for inner in element.iter("*")}
    return touched.isdisjoint(around) and touched.isdisjoint(below)
