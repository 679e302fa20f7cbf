"""python -m tests.systems.claims FILE: judge all claims, write the page; 1 if one does not hold."""

import sys
import traceback
from math import nan
from pathlib import Path

from tests.systems.claims.catalogue import claims_of, systems
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


def judged(claim: Claim) -> Verdict:
    """Also of a claim that cannot be measured: that does not hold, and the others are judged all the same."""
    try:
        return claim.judge()
    except Exception:
        traceback.print_exc()
        return Verdict(claim, nan, False)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
