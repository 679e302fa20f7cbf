"""Judge claims; exit status 1 if one does not hold.

`python -m tests.systems.claims FILE` judges those about the example systems and writes the page, `python -m
tests.systems.claims figures [SYSTEM …]` the figures of their README files.
"""

import sys
import traceback
from collections.abc import Sequence
from math import nan
from pathlib import Path

from tests.systems.claims.catalogue import claims_of, figures_of, systems
from tests.systems.claims.claim import Claim, Verdict
from tests.systems.claims.report import report


def main(file: Path) -> int:
    verdicts: dict[str, list[Verdict]] = {}
    for system in systems():
        verdicts[system] = [judged(claim) for claim in claims_of(system)]
        failed = [verdict for verdict in verdicts[system] if not verdict.holds]
        print(f"{system}: {len(verdicts[system])} claims, {len(failed)} do not hold")
        for verdict in failed:
            print(f"  {verdict}")
    file.write_text(report(verdicts), encoding="utf-8")
    return int(any(not verdict.holds for of_system in verdicts.values() for verdict in of_system))


def show_figures(names: Sequence[str]) -> int:
    """Print each figure with the command that makes it, as stated and as found now."""
    wrong = 0
    for system in names:
        for claim in figures_of(system):
            verdict = judged(claim)
            wrong += not verdict.holds
            print(f"{'✓' if verdict.holds else '✗'} {claim.name} -> {verdict.found:.{claim.digits}g}", flush=True)
    return int(wrong > 0)


def judged(claim: Claim) -> Verdict:
    """Also of a claim that cannot be measured: that does not hold, and the others are judged all the same."""
    try:
        return claim.judge()
    except Exception:
        traceback.print_exc()
        return Verdict(claim, nan, False)


if __name__ == "__main__":
    if sys.argv[1] == "figures":
        sys.exit(show_figures(sys.argv[2:] or systems()))
    sys.exit(main(Path(sys.argv[1])))
