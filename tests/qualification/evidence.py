"""Evidence as one JSON document: verdicts of requirements, rules and use cases, and what they rest on."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from ssptool.rules.catalogue import RULES
from tests.qualification.measured import Outcome, TestRun
from tests.qualification.trace import Requirement, by_code, requirements, tried_by
from tests.qualification.use_cases import USE_CASES, UseCase

SCHEMA = 1

PASSED, FAILED, UNTESTED, REASONED = "passed", "failed", "not tested", "reasoned"
"""Verdicts. "reasoned": there is nothing to test, and the reason is stated."""


def evidence(
    environment: Mapping[str, Any], run: TestRun, claims: Sequence[Mapping[str, Any]], paths: Sequence[str]
) -> dict[str, Any]:
    """The whole document. `paths` are the tests that were asked for."""
    outcomes = {one.test: one for one in run.outcomes}
    named = by_code(outcomes)
    traced = [_traced(one, tried_by(one, named, outcomes), outcomes) for one in requirements()]
    rules = [_rule(code, named.get(code, ()), outcomes) for code in sorted(RULES)]
    cases = [_use_case(one, outcomes.values(), claims, traced) for one in USE_CASES]
    found = {"schema": SCHEMA, "created": datetime.now(UTC).isoformat(timespec="seconds"), "asked_for": list(paths)}
    return {
        **found,
        "verdict": _overall(run, [*cases, *traced, *rules]),
        "pytest_exit_status": run.ended,
        "tests": {
            **Counter(one.outcome for one in run.outcomes),
            "seconds": round(sum(one.seconds for one in run.outcomes), 1),
        },
        "not_passed": [_told(one) for one in run.outcomes if one.outcome != PASSED],
        "use_cases": cases,
        "requirements": traced,
        "rules": rules,
        "claims": list(claims),
        "environment": dict(environment),
    }


def verdict_of(tests: Iterable[str], outcomes: Mapping[str, Outcome]) -> str:
    """Failed if one failed; passed if one passed; skipped tests are not evidence."""
    found = {outcomes[test].outcome for test in tests}
    return FAILED if FAILED in found else PASSED if PASSED in found else UNTESTED


def _traced(one: Requirement, tests: Sequence[str], outcomes: Mapping[str, Outcome]) -> dict[str, Any]:
    nothing_to_test = one.reason and not one.rules and not one.tests and not tests
    return {
        "id": one.id,
        "clause": one.clause,
        "basis": one.basis,
        "severities": dict(one.severities),
        "rules": list(one.rules),
        "reason": one.reason,
        "verdict": REASONED if nothing_to_test else verdict_of(tests, outcomes),
        "tests": {test: outcomes[test].outcome for test in tests},
    }


def _rule(code: str, tests: Sequence[str], outcomes: Mapping[str, Outcome]) -> dict[str, Any]:
    return {"code": code, "verdict": verdict_of(tests, outcomes), "tests": len(tests)}


def _use_case(
    case: UseCase, outcomes: Iterable[Outcome], claims: Sequence[Mapping[str, Any]], traced: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Each file or folder of its evidence must have been run."""
    own = [one for one in outcomes if any(_inside(one.test, path) for path in case.evidence)]
    missing = [
        path for path in case.evidence if not any(one.outcome == PASSED and _inside(one.test, path) for one in own)
    ]
    held = Counter(bool(one["holds"]) for one in claims) if case.claims else Counter()
    requirement_verdicts = {one["verdict"] for one in traced} if case.requirements else set()
    if any(one.outcome == FAILED for one in own) or held[False] or FAILED in requirement_verdicts:
        verdict = FAILED
    elif missing or (case.claims and not claims) or UNTESTED in requirement_verdicts:
        verdict = UNTESTED
    else:
        verdict = PASSED
    return {
        "name": case.name,
        "title": case.title,
        "verdict": verdict,
        "evidence": list(case.evidence),
        "not_run": missing,
        "tests": dict(Counter(one.outcome for one in own)),
        "claims": {"hold": held[True], "do not hold": held[False]} if case.claims else {},
    }


def _inside(test: str, path: str) -> bool:
    file = test.partition("::")[0]
    return file == path or file.startswith(f"{path}/")


def _overall(run: TestRun, parts: Iterable[Mapping[str, Any]]) -> str:
    """A run of pytest that did not end by itself is not evidence, whatever its tests came to."""
    verdicts = {one["verdict"] for one in parts}
    if run.ended != 0 or FAILED in verdicts:
        return FAILED
    return UNTESTED if UNTESTED in verdicts else PASSED


def _told(one: Outcome) -> dict[str, str]:
    return {"test": one.test, "outcome": one.outcome, "told": one.told}
