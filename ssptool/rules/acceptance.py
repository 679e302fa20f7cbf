"""Errors in spite of which a system is run: accepted by the user, or of rules that a settings file switches off."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ssptool.documents.diagnostics import Diagnostic, Severity
from ssptool.errors import WrongUsage
from ssptool.rules.catalogue import RULES
from ssptool.rules.report import Report
from ssptool.rules.selection import Shown, Switches, UnknownRule


class Unacceptable(WrongUsage, ValueError):
    """A rule whose errors keep a system from running, whatever the user accepts."""

    def __init__(self, code: str) -> None:
        super().__init__(
            f"{code} cannot be accepted: a system with this error cannot be run; see `ssptool rule {code}`"
        )
        self.code = code


@dataclass(frozen=True, slots=True)
class Acceptance:
    """Findings in spite of which a system is run, and the codes of their rules."""

    findings: tuple[Diagnostic, ...] = ()
    codes: frozenset[str] = frozenset()

    @property
    def notes(self) -> Iterator[str]:
        """A sentence for each rule: how many findings were accepted, where the first is, and what becomes of them."""
        counts = Counter(finding.code for finding in self.findings)
        for code, count in counts.items():
            first = next(finding for finding in self.findings if finding.code == code)
            more = f", {count} findings" if count > 1 else ""
            meaning = " ".join(RULES[code].accepted.split()).rstrip(".")
            yield f"accepted {code} ({first.position}{more}): {meaning or first.message}"


NOTHING_ACCEPTED = Acceptance()


def judge(report: Report, accept: Iterable[str], switches: Switches) -> tuple[tuple[Diagnostic, ...], Acceptance]:
    """The errors that keep a system from running, and the findings in spite of which it is run.

    Parameters
    ----------
    report
        With everything that was found, whatever the switches say.
    accept
        Codes of rules, or beginnings of them.
    switches
        Of a settings file: errors of rules that are not listed are accepted.

    Raises
    ------
    UnknownRule
        No rule has such a code.
    Unacceptable
        A code is that of a rule whose errors keep every system from running.
    """
    asked = accepted_codes(accept)
    refused, accepted = [], []
    for finding in report.diagnostics:
        error = finding.severity is Severity.ERROR
        ignored = error and acceptable(finding) and switches.shown(finding.code) is not Shown.LISTED
        if finding.code in asked or ignored:
            accepted.append(finding)
        elif error:
            refused.append(finding)
    return tuple(refused), Acceptance(tuple(accepted), asked | {finding.code for finding in accepted})


def accepted_codes(accept: Iterable[str]) -> frozenset[str]:
    """The codes of the rules that are meant. Raises as `judge`."""
    codes = set[str]()
    for prefix in accept:
        meant = [code for code in RULES if prefix and code.startswith(prefix)]
        if not meant:
            raise UnknownRule(prefix)
        if prefix in RULES and RULES[prefix].blocks_run:
            raise Unacceptable(prefix)
        codes.update(code for code in meant if not RULES[code].blocks_run)
    return frozenset(codes)


def acceptable(finding: Diagnostic) -> bool:
    """Whether a system with this error can be run; never if no rule has the code: it could not be read."""
    return finding.code in RULES and not RULES[finding.code].blocks_run
