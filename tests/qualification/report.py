"""Folder of a qualification: the evidence, its hash, the sign-off and the page that shows them."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ssptool.foreign_text import json_text
from ssptool.results.report import report_page
from ssptool.results.report.content import ReportPicture, ReportTable
from ssptool.rules.catalogue import VERSIONS
from tests.qualification.evidence import FAILED, PASSED

EVIDENCE, HASH, SIGNATURE, PAGE = "evidence.json", "evidence.sha256", "signature.json", "report.html"


def write(folder: Path, evidence: Mapping[str, Any]) -> None:
    """Write evidence and its page; an earlier sign-off, which was of other evidence, goes."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / SIGNATURE).unlink(missing_ok=True)
    (folder / EVIDENCE).write_text(json_text(evidence, indent=1) + "\n", encoding="utf-8")
    (folder / HASH).write_text(f"{hash_of(folder)}  {EVIDENCE}\n", encoding="utf-8")
    (folder / PAGE).write_text(page(folder), encoding="utf-8")


def sign(folder: Path, name: str) -> None:
    """Put a name and role under the evidence."""
    signature = {
        "signed_by": name,
        "signed": datetime.now(UTC).isoformat(timespec="seconds"),
        "evidence_sha256": hash_of(folder),
    }
    (folder / SIGNATURE).write_text(json_text(signature, indent=1) + "\n", encoding="utf-8")
    (folder / PAGE).write_text(page(folder), encoding="utf-8")


def changes(folder: Path) -> Iterator[str]:
    """What was changed after it was written: evidence, sign-off or page."""
    found = hash_of(folder)
    stated = (folder / HASH).read_text(encoding="utf-8").partition(" ")[0]
    if found != stated:
        yield f"{EVIDENCE} was changed: its SHA-256 is {found}, and {HASH} says {stated}"
    signature = _signature(folder)
    if signature and signature["evidence_sha256"] != found:
        yield f"{SIGNATURE} is of other evidence: it says {signature['evidence_sha256']}"
    if (folder / PAGE).read_text(encoding="utf-8") != page(folder):
        yield f"{PAGE} does not show {EVIDENCE} and {SIGNATURE} as they are now"


def hash_of(folder: Path) -> str:
    return hashlib.sha256((folder / EVIDENCE).read_bytes()).hexdigest()


def _signature(folder: Path) -> dict[str, str]:
    file = folder / SIGNATURE
    return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}


# -- the page ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class QualificationContent:
    """The content of the page. `signature` is empty for unsigned evidence."""

    title: str
    ok: bool
    verdict: str
    tool: str
    signature: str
    sha256: str
    identity: ReportTable
    use_cases: ReportTable
    not_passed: ReportTable
    requirements: ReportTable
    own_rules: ReportTable
    claims: ReportTable
    installation: ReportTable
    packages: str
    files: str
    plots: Sequence[ReportPicture] = ()


def page(folder: Path) -> str:
    """The page of the evidence in a folder."""
    evidence = json.loads((folder / EVIDENCE).read_text(encoding="utf-8"))
    environment, signature = evidence["environment"], _signature(folder)
    content = QualificationContent(
        title="Qualification of ssptool",
        ok=evidence["verdict"] == PASSED,
        verdict=_verdict(evidence),
        tool=f"ssptool {environment['ssptool']}, {evidence['created']}",
        signature=f"{signature['signed_by']}, {signature['signed']}" if signature else "",
        sha256=hash_of(folder),
        identity=ReportTable("What was tested", ("what", "value"), list(_identity(evidence))),
        use_cases=_use_cases(evidence),
        not_passed=_table(
            "Tests that did not pass", evidence["not_passed"], {"test": "", "outcome": "", "told": "reason"}
        ),
        requirements=_requirements(evidence),
        own_rules=_own_rules(evidence),
        claims=_claims(evidence),
        installation=_table("Installation", environment["doctor"], {"topic": "", "name": "", "found": ""}),
        packages="\n".join(f"{name} {version}" for name, version in environment["packages"].items()),
        files="\n".join(f"{value}  {name}" for name, value in environment["files"].items()),
    )
    return report_page(content, "qualification.html", __package__ or "tests.qualification")


def _verdict(evidence: Mapping[str, Any]) -> str:
    tests, claims = evidence["tests"], evidence["claims"]
    wrong = sum(not one["holds"] for one in claims)
    return (
        f"{evidence['verdict']}: {tests.get('passed', 0)} tests passed, {tests.get('failed', 0)} failed, "
        f"{tests.get('skipped', 0)} were skipped; {len(claims) - wrong} claims hold, {wrong} do not"
    )


def _identity(evidence: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    environment = evidence["environment"]
    yield "ssptool", environment["ssptool"]
    yield "source", environment["commit"] or "not known: there is no git here"
    if environment["uncommitted"]:
        yield "changed since", ", ".join(environment["uncommitted"])
    yield "files of the package, together", f"SHA-256 {environment['files_sha256']}"
    yield "Python", environment["python"]
    yield "platform", f"{environment['platform']}, {environment['machine']}"
    yield "tests", f"{', '.join(evidence['asked_for'])} ({evidence['tests']['seconds']:g} s)"


def _use_cases(evidence: Mapping[str, Any]) -> ReportTable:
    rows = []
    for one in evidence["use_cases"]:
        tests = ", ".join(f"{number} {outcome}" for outcome, number in sorted(one["tests"].items()))
        claims = ", ".join(f"{number} {word}" for word, number in one["claims"].items() if number)
        rows.append((one["title"], _marked(one["verdict"]), tests, claims, ", ".join(one["not_run"])))
    return ReportTable("Use cases", ("use case", "verdict", "tests", "claims", "evidence that is missing"), rows)


def _requirements(evidence: Mapping[str, Any]) -> ReportTable:
    rows = []
    for one in evidence["requirements"]:
        outcomes = list(one["tests"].values())
        severity = _severity(one["severities"])
        rows.append(
            (
                one["id"],
                one["clause"],
                one["basis"],
                severity,
                _abbreviated(one["rules"]),
                one["reason"],
                str(outcomes.count(PASSED)),
                str(outcomes.count(FAILED)),
                _marked(one["verdict"]),
            )
        )
    headings = (
        "id",
        "clause",
        "basis",
        "severity",
        "rules",
        "without a rule of its own",
        "passed",
        "failed",
        "verdict",
    )
    return ReportTable("Requirements of SSP", headings, rows, frozenset({6, 7}))


def _severity(severities: Mapping[str, str]) -> str:
    """Of a violation in SSP 1.0 and 2.0; one where they do not differ."""
    if len(severities) == len(VERSIONS) and len(set(severities.values())) == 1:
        return next(iter(severities.values()))
    return ", ".join(f"{severity} in {version}" for version, severity in severities.items())


def _abbreviated(rules: Sequence[str]) -> str:
    return ", ".join(rules) if len(rules) < 4 else f"{rules[0]} … {rules[-1]} ({len(rules)})"


def _own_rules(evidence: Mapping[str, Any]) -> ReportTable:
    known = {one["id"] for one in evidence["requirements"]}
    rows = [
        (one["code"], str(one["tests"]), _marked(one["verdict"]))
        for one in evidence["rules"]
        if one["code"] not in known
    ]
    return ReportTable("Rules beyond the requirements of SSP", ("rule", "tests", "verdict"), rows, frozenset({1}))


def _claims(evidence: Mapping[str, Any]) -> ReportTable:
    rows = []
    for one in evidence["claims"]:
        found = "no value" if one["found"] is None else f"{one['found']:.{one['digits']}g}"
        mark = "✓" if one["holds"] else "✗"
        expected = f"{one['expected']:.10g} {one['unit']}".rstrip()
        rows.append((one["system"], one["claim"], expected, one["tolerance"], found, mark, one["source"]))
    headings = ("system", "claim", "expected", "tolerance", "found", "", "source")
    return ReportTable("Claims about the example systems", headings, rows)


def _table(caption: str, entries: Sequence[Mapping[str, str]], columns: Mapping[str, str]) -> ReportTable:
    headings = [heading or name for name, heading in columns.items()]
    return ReportTable(caption, headings, [[one[name] for name in columns] for one in entries])


def _marked(verdict: str) -> str:
    return f"{ {PASSED: '✓', FAILED: '✗'}.get(verdict, '–') } {verdict}"
