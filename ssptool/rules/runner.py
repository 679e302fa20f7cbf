"""Check a package: read it, apply the catalogue, report."""

from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType

from ssptool.documents.archive import Archive
from ssptool.documents.diagnostics import Diagnostic, InvalidDocument, Position
from ssptool.rules.chapters import CHAPTERS as CHAPTERS
from ssptool.rules.excerpt import Excerpt, excerpt
from ssptool.rules.load import load
from ssptool.rules.report import Report, Skipped
from ssptool.rules.run import Run
from ssptool.rules.subjects import Package, Unreadable
from ssptool.rules.switches import EVERYTHING, Switches


def check_path(
    path: Path | str, variant: str | None = None, *, switches: Switches = EVERYTHING, unguarded: bool = False
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

    Raises
    ------
    FileNotFoundError
        There is nothing at `path`.
    UnknownVariant
        The archive has no such variant.
    """
    path = Path(path)
    try:
        archive = Archive.open(path)
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
    package = load(archive, variant)
    listed, withheld = switches.apply(_sorted(Run(unguarded=unguarded).package(package)))
    return Report(
        str(archive.path),
        listed,
        tuple(file.name for file in package.files),
        tuple(_skipped(package)),
        MappingProxyType(_excerpts(package, listed)),
        withheld,
        _folder(archive.path),
    )


def _folder(path: Path) -> str | None:
    """Where the files of an archive stand on disk; None if they are in a zip."""
    if path.is_dir():
        return str(path)
    return str(path.parent) if path.suffix.lower() == ".ssd" else None


def _sorted(diagnostics: set[Diagnostic]) -> tuple[Diagnostic, ...]:
    return tuple(sorted(diagnostics, key=lambda one: (one.position, one.code, one.message, one.advice, one.severity)))


def _skipped(package: Package) -> Iterator[Skipped]:
    for file in package.files:
        if not file.valid:
            what = "cannot be read" if file.document is None else "is not valid"
            yield Skipped(file.name, f"the rules on its content were not applied, because it {what}")
    for name in package.packages:
        yield Skipped(name, "packages inside a package are not checked yet: check it by itself")


def _excerpts(package: Package, diagnostics: tuple[Diagnostic, ...]) -> dict[Position, Excerpt]:
    sources: dict[str, list[str]] = {}
    excerpts = {}
    for position in {diagnostic.position for diagnostic in diagnostics if diagnostic.position.line}:
        lines = sources.get(position.file)
        if lines is None:
            lines = sources[position.file] = _lines(package, position.file)
        if position.line <= len(lines):
            excerpts[position] = excerpt(lines[position.line - 1], position)
    return excerpts


def _lines(package: Package, file: str) -> list[str]:
    """The lines of a file of the package, counted as XML parsers do; none if it is not a text."""
    try:
        text = package.archive.read(file).decode("utf-8-sig", "replace")
    except (LookupError, InvalidDocument):
        return []
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
