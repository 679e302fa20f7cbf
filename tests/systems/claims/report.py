"""Write docs/verification.md: claims with expected and found values."""

from collections.abc import Iterator, Mapping, Sequence

from tests.systems.claims.claim import Claim, Verdict

_INTRODUCTION = """# Verification

This page lists claims about the example systems in `systems`, with expected and found values. `source` is the origin
of the expected value. `make verify` checks all claims, writes this page, and fails if a claim does not hold. `make test
ALL=1` asserts the same claims (`tests/systems/claims`).
"""
_HEADER = "| claim | expected | tolerance | found | holds | source |\n|---|---|---|---|---|---|"


def report(verdicts: Mapping[str, Sequence[Verdict]]) -> str:
    """The page, from the verdicts of each system."""
    return "\n".join([_INTRODUCTION, *_summary(verdicts), *_tables(verdicts)])


def stated(claim: Claim) -> tuple[str, str, str, str]:
    """What the page says of a claim apart from what was found: claim, expected, tolerance, source."""
    unit = f" {claim.unit}" if claim.unit else ""
    return claim.name, f"{claim.expected:.10g}{unit}", claim.tolerance.text, claim.source


def _summary(verdicts: Mapping[str, Sequence[Verdict]]) -> Iterator[str]:
    yield "| system | claims | hold |\n|---|---|---|"
    for system, of_system in verdicts.items():
        yield f"| [{system}](../systems/{system}/README.md) | {len(of_system)} | {sum(v.holds for v in of_system)} |"
    yield ""


def _tables(verdicts: Mapping[str, Sequence[Verdict]]) -> Iterator[str]:
    for system, of_system in verdicts.items():
        yield f"## {system}\n\n{_HEADER}"
        for verdict in of_system:
            claim, expected, tolerance, source = stated(verdict.claim)
            found = f"{verdict.found:.{verdict.claim.digits}g}"
            yield f"| {claim} | {expected} | {tolerance} | {found} | {'✓' if verdict.holds else '**✗**'} | {source} |"
        yield ""
