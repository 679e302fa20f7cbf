"""No edit brings errors into a system unasked: what is wrong after it and was not before."""

from pathlib import Path

from ssptool.documents.archive import Archive
from ssptool.documents.diagnostics import Diagnostic, Severity
from ssptool.rules.runner import check, check_path


class BrokenEdit(Exception):
    """An edit that would bring errors into a system, and was not saved; `diagnostics` are the new errors."""

    def __init__(self, path: Path, diagnostics: tuple[Diagnostic, ...]) -> None:
        listed = "\n".join(f"  {diagnostic}" for diagnostic in diagnostics)
        what = f"{len(diagnostics)} new errors" if len(diagnostics) > 1 else "a new error"
        super().__init__(f"the edit would give {path} {what} and was not saved\n{listed}")
        self.path = path
        self.diagnostics = diagnostics


def new_errors(archive: Archive, *, weaker_counts: bool = True) -> tuple[Diagnostic, ...]:
    """The errors of an edited archive that the one on disk does not have.

    `weaker_counts`: nor as warnings, which is what some of them are in SSP 1.0.
    """
    now = check(archive).errors
    if not now:
        return ()
    found = (each for each in _found_on_disk(archive.path) if weaker_counts or each.severity is Severity.ERROR)
    before = {essence for each in found for essence in _essences(each)}
    return tuple(each for each in now if before.isdisjoint(_essences(each)))


def _found_on_disk(path: Path) -> tuple[Diagnostic, ...]:
    try:
        return check_path(path).diagnostics
    except FileNotFoundError:
        return ()


def _essences(diagnostic: Diagnostic) -> tuple[tuple[str, ...], ...]:
    """By what a diagnostic is known again, although lines have changed: place or words, or both in a renamed file."""
    code, file, address = diagnostic.code, diagnostic.position.file, diagnostic.position.address
    return (
        (code, file, "at", address),
        (code, file, "says", diagnostic.message),
        (code, "anywhere", address, diagnostic.message),
    )
