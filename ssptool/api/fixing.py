"""Mending what is wrong with a system."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from ssptool.api.opening import Files
from ssptool.api.validating import choice
from ssptool.arguments import path, paths
from ssptool.dataclass import dataclass
from ssptool.documents.archive import Archive
from ssptool.documents.diagnostics import Diagnostic, InvalidDocument
from ssptool.documents.entries import Limits
from ssptool.editing.changes import unified_diff
from ssptool.editing.packages import Packages
from ssptool.rules.fixing import fix as fix_archive
from ssptool.rules.load import load
from ssptool.rules.report import Report
from ssptool.rules.runner import check
from ssptool.rules.settings import find_settings
from ssptool.rules.switches import Switches


@dataclass(frozen=True, slots=True)
class Mended:
    """What was mended, how (as a unified diff), and the report of what is left."""

    fixed: tuple[Diagnostic, ...]
    diff: str
    report: Report


def fix(
    system: Path | str,
    *,
    variant: str | None = None,
    select: str | Sequence[str] = (),
    ignore: str | Sequence[str] = (),
    strict: bool | None = None,
    tools: str | Sequence[str] = (),
    allow_outside: Files = (),
    unsafe: bool = False,
    save: bool = True,
) -> Mended:
    """Apply the fixes that rules declare, and save the documents; bytes that no fix concerns stay as they are.

    Documents in packages inside are mended as well.

    Parameters
    ----------
    variant, select, ignore, strict, tools, allow_outside
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
    stated = find_settings(path("system", system))
    switches = Switches((choice(select, ignore, strict, tools), stated))
    outside = (*paths("allow_outside", allow_outside), *stated.allow_outside)
    with Archive.open(system, outside=outside) as archive, closing(Packages()) as packages:
        mended = fix_archive(archive, variant, switches=switches, unsafe=unsafe)
        fixed, report = mended.diagnostics, mended.report
        if inside := tuple(_fix_inside(archive, packages, variant, switches, unsafe)):
            fixed, report = (*fixed, *inside), check(archive, variant, switches=switches)
        diff = unified_diff(packages.edits(archive))
        if save and archive.edits():
            archive.save()
    return Mended(fixed, diff, report)


def _fix_inside(
    around: Archive, packages: Packages, variant: str | None, switches: Switches, unsafe: bool, depth: int = 1
) -> Iterator[Diagnostic]:
    """Mend the packages of which components are made, each by itself, and put them back."""
    # Deeper ones are not checked either.
    for name in load(around, variant).packages if depth <= Limits().depth else ():
        try:
            archive, inner = packages.open(around, name)
        except InvalidDocument:
            continue  # It is reported, and has no document to mend.
        here = fix_archive(archive, switches=switches, unsafe=unsafe).diagnostics
        for diagnostic in here:
            yield replace(diagnostic, position=diagnostic.position._replace(file=inner.name + diagnostic.position.file))
        yield from _fix_inside(archive, inner, None, switches, unsafe, depth + 1)
    packages.put_back(around)
