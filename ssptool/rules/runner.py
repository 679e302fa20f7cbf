"""Check a package: read it, apply the catalogue, report."""

import codecs
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from types import MappingProxyType

from ssptool.dataclass import dataclass
from ssptool.documents.archive import Archive
from ssptool.documents.diagnostics import Diagnostic, InvalidDocument, Position
from ssptool.documents.entries import Limits
from ssptool.documents.nesting import INSIDE
from ssptool.documents.uncollected import uncollected
from ssptool.rules.chapters import CHAPTERS as CHAPTERS
from ssptool.rules.excerpt import Excerpt, excerpt
from ssptool.rules.fixes import Fix
from ssptool.rules.load import load
from ssptool.rules.report import Report, Skipped
from ssptool.rules.run import Run
from ssptool.rules.subjects import Package, Unreadable
from ssptool.rules.switches import EVERYTHING, Switches
from ssptool.working_directory import absolute

MOST_LINES = 30
"""So far below the name of an element its attributes are looked for."""


def check_path(
    path: Path | str,
    variant: str | None = None,
    *,
    switches: Switches = EVERYTHING,
    unguarded: bool = False,
    outside: Sequence[Path] = (),
) -> Report:
    """Check a zip, a folder or a lone SSD. No FMU binary is loaded.

    Parameters
    ----------
    path
        What to check.
    variant
        The only system structure to check; None: all at the root, and all that they refer to.
    switches
        Which findings are shown.
    unguarded
        Let a rule that fails raise, instead of reporting that under the code INTERNAL.
    outside
        Folders in which a zip may read files around it.

    Raises
    ------
    FileNotFoundError
        There is nothing at `path`.
    UnknownVariant
        The archive has no such variant.
    """
    path = Path(path)
    try:
        archive = Archive.open(path, outside=outside)
    except InvalidDocument as problem:
        found = set(Run(unguarded=unguarded).unreadable(Unreadable(problem.diagnostics)))
        listed, withheld = switches.apply(_sorted(found))
        return Report(str(path), listed, withheld=withheld)
    with archive:
        return check(archive, variant, switches=switches, unguarded=unguarded)


def check(
    archive: Archive, variant: str | None = None, *, switches: Switches = EVERYTHING, unguarded: bool = False
) -> Report:
    """Check an archive that is open; see `check_path`."""
    with uncollected():
        found = examine(archive, variant, unguarded=unguarded, tools=switches.tools)
    listed, withheld = switches.apply(_sorted(found.diagnostics))
    shown = {one.position for one in listed}
    return Report(
        str(archive.path),
        listed,
        found.files,
        found.skipped,
        MappingProxyType({position: line for position, line in found.excerpts.items() if position in shown}),
        withheld,
        MappingProxyType({one: fix.safe for one, fix in fixes_of(listed, found.fixes).items()}),
        _folder(archive.path),
    )


def fixes_of(listed: Iterable[Diagnostic], fixes: Mapping[Diagnostic, Fix]) -> dict[Diagnostic, Fix]:
    """The fixes of those that are listed, whose severity may have been raised since they were found."""
    known = {_essence(diagnostic): fix for diagnostic, fix in fixes.items()}
    return {diagnostic: known[_essence(diagnostic)] for diagnostic in listed if _essence(diagnostic) in known}


def _essence(diagnostic: Diagnostic) -> tuple[str, Position, str]:
    return diagnostic.code, diagnostic.position, diagnostic.message


@dataclass(frozen=True, slots=True)
class Found:
    """What was found in a package and in those inside it."""

    diagnostics: set[Diagnostic]
    files: tuple[str, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    excerpts: Mapping[Position, Excerpt] = field(default_factory=dict)
    fixes: Mapping[Diagnostic, Fix] = field(default_factory=dict)


def examine(
    archive: Archive, variant: str | None, *, unguarded: bool = False, tools: Collection[str] = (), depth: int = 0
) -> Found:
    """Apply the rules to an archive and to the packages inside it."""
    package = load(archive, variant)
    run = Run(unguarded=unguarded, tools=tools)
    diagnostics = run.package(package)
    own = Found(
        diagnostics,
        tuple(file.name for file in package.files),
        tuple(_skipped(package)),
        _excerpts(package, diagnostics),
        editable(run.fixes, archive),
    )
    inner = [_inside(archive, name, unguarded, tools, depth + 1) for name in package.packages]
    return _joined([own, *inner])


def editable(fixes: Mapping[Diagnostic, Fix], archive: Archive) -> Mapping[Diagnostic, Fix]:
    """Those of documents of the archive itself, not of such in an FMU or package inside it."""
    own = set(archive.names()) if fixes else set()
    return {diagnostic: fix for diagnostic, fix in fixes.items() if diagnostic.position.file in own}


def _inside(archive: Archive, name: str, unguarded: bool, tools: Collection[str], depth: int) -> Found:
    """What is wrong in a package inside an archive: it obeys the same rules (SSP 2.0 §3)."""
    if depth > Limits().depth:
        reason = f"packages are nested deeper than {Limits().depth} levels: check it by itself"
        return Found(set(), skipped=(Skipped(name, reason),))
    try:
        path = archive.local_path(name)
        with Archive.open(path) as inner:
            found = examine(inner, None, unguarded=unguarded, tools=tools, depth=depth)
    except InvalidDocument as problem:
        path = Path(name)
        found = Found(set(Run(unguarded=unguarded).unreadable(Unreadable(problem.diagnostics))))
    return _prefixed(found, name, path.name)


def _prefixed(found: Found, name: str, file: str) -> Found:
    """The same with the names of files as the archive around it has them; `file` is what the package is on disk."""

    def outside(position: Position) -> Position:
        whole = position.file in (file, name)
        return position._replace(file=name if whole else f"{name}{INSIDE}{position.file}")

    return Found(
        {replace(one, position=outside(one.position)) for one in found.diagnostics},
        tuple(f"{name}{INSIDE}{one}" for one in found.files),
        tuple(Skipped(f"{name}{INSIDE}{one.file}", one.reason) for one in found.skipped),
        {outside(position): excerpt for position, excerpt in found.excerpts.items()},
        {replace(one, position=outside(one.position)): fix for one, fix in found.fixes.items()},
    )


def _joined(found: list[Found]) -> Found:
    return Found(
        set().union(*(one.diagnostics for one in found)),
        tuple(file for one in found for file in one.files),
        tuple(skipped for one in found for skipped in one.skipped),
        {position: excerpt for one in found for position, excerpt in one.excerpts.items()},
        {diagnostic: fix for one in found for diagnostic, fix in one.fixes.items()},
    )


def _folder(path: Path) -> str | None:
    """Where the files of an archive stand on disk; None if they are in a zip."""
    if absolute(path).is_dir():
        return str(path)
    return str(path.parent) if path.suffix.lower() == ".ssd" else None


def _sorted(diagnostics: set[Diagnostic]) -> tuple[Diagnostic, ...]:
    return tuple(sorted(diagnostics, key=lambda one: (one.position, one.code, one.message, one.advice, one.severity)))


def _skipped(package: Package) -> Iterator[Skipped]:
    for file in package.files:
        if not file.valid:
            what = "cannot be read" if file.document is None else "is not valid"
            yield Skipped(file.name, f"the rules on its content were not applied, because it {what}")


_UTF_16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""A document in UTF-16 is an error; what is shown of it is legible all the same."""


def _excerpts(package: Package, diagnostics: set[Diagnostic]) -> dict[Position, Excerpt]:
    sources: dict[str, list[str]] = {}
    excerpts = {}
    for position in {diagnostic.position for diagnostic in diagnostics if diagnostic.position.line}:
        lines = sources.get(position.file)
        if lines is None:
            lines = sources[position.file] = _lines(package, position.file)
        if position.line <= len(lines):
            following = lines[position.line : position.line + MOST_LINES]
            excerpts[position] = excerpt(lines[position.line - 1], position, following)
    return excerpts


def _lines(package: Package, file: str) -> list[str]:
    """The lines of a file of the package, counted as XML parsers do; none if it is not a text."""
    try:
        content = package.archive.read(file)
    except (LookupError, InvalidDocument):
        return []
    encoding = "utf-16" if content.startswith(_UTF_16_MARKS) else "utf-8-sig"
    text = content.decode(encoding, "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
