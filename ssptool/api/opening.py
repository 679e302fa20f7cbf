"""Systems that are to be worked with: open, and without errors but those that the user accepts."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from ssptool.documents.archive import Archive
from ssptool.documents.diagnostics import Diagnostic
from ssptool.documents.document import Document
from ssptool.rules.acceptance import Acceptance, acceptable, judge
from ssptool.rules.acceptance import Unacceptable as Unacceptable
from ssptool.rules.renderers import RENDERERS
from ssptool.rules.report import Report
from ssptool.rules.runner import check
from ssptool.rules.settings import find_settings
from ssptool.rules.switches import Switches

NO_OVERRIDES: Mapping[str, str] = {}


class ValidSystem(NamedTuple):
    """An open archive, a structure in it, and the findings in spite of which it is used."""

    archive: Archive
    structure: Document
    accepted: Acceptance


class InvalidSystem(Exception):
    """The system has errors, so it is not run; `report` says which, and `accept` which codes would let it run."""

    def __init__(self, report: Report, refused: Sequence[Diagnostic] | None = None) -> None:
        errors = report.errors if refused is None else tuple(refused)
        what = f"{len(errors)} errors" if len(errors) > 1 else "an error"
        # Warnings and fixes are what `ssptool validate` is for.
        shown = RENDERERS["text"](replace(report, diagnostics=errors, fixable={}))
        self.report = replace(report, diagnostics=errors)
        self.accept = tuple(dict.fromkeys(one.code for one in errors)) if all(map(acceptable, errors)) else ()
        advice = f"\n\nTo run it all the same: --accept {','.join(self.accept)}" if self.accept else ""
        super().__init__(f"{report.subject} has {what} and cannot be run\n\n{shown}{advice}")


@contextmanager
def valid(path: Path | str, variant: str | None, accept: Sequence[str] = ()) -> Iterator[ValidSystem]:
    """An open archive and a structure in it that has no errors but accepted ones.

    Errors of rules that the nearest settings file switches off are accepted too.

    Raises
    ------
    InvalidSystem
        It has others.
    UnknownRule, Unacceptable
        A code in `accept` is that of no rule, or of one whose errors keep a system from running.
    """
    switches = Switches((find_settings(Path(path)),))
    with Archive.open(path) as archive:
        structure = archive.structure(variant)
        report = check(archive, structure.name)
        refused, accepted = judge(report, accept, switches)
        if refused:
            raise InvalidSystem(report, refused)
        yield ValidSystem(archive, structure, accepted)
