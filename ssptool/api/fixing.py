"""Mending what is wrong with a system."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ssptool.documents.archive import Archive
from ssptool.documents.diagnostics import Diagnostic
from ssptool.editing.changes import FileEdit, unified_diff
from ssptool.rules.fixing import fix as fix_archive
from ssptool.rules.report import Report
from ssptool.rules.settings import find_settings
from ssptool.rules.switches import Choice, Switches


@dataclass(frozen=True, slots=True)
class Mended:
    """What was mended, how (as a unified diff), and the report of what is left."""

    fixed: tuple[Diagnostic, ...]
    diff: str
    report: Report


def fix(
    path: Path | str,
    *,
    variant: str | None = None,
    select: Sequence[str] = (),
    ignore: Sequence[str] = (),
    strict: bool | None = None,
    unsafe: bool = False,
    save: bool = True,
) -> Mended:
    """Apply the fixes that rules declare, and save the documents; bytes that no fix concerns stay as they are.

    Parameters
    ----------
    variant, select, ignore, strict
        As of `validate`: what is not reported is not fixed.
    unsafe
        Apply guesses as well, such as the nearest known name.
    save
        False: write nothing.

    Raises
    ------
    InvalidDocument
        The archive cannot be opened.
    """
    switches = Switches((Choice(tuple(select), tuple(ignore), strict), find_settings(Path(path))))
    with Archive.open(path) as archive:
        mended = fix_archive(archive, variant, switches=switches, unsafe=unsafe)
        edits = archive.edits()
        files = (FileEdit(edit.name, archive.before(edit.name), archive.content(edit.name)) for edit in edits)
        diff = unified_diff(files)
        if save and edits:
            archive.save()
    return Mended(mended.diagnostics, diff, mended.report)
