"""Rerun the evidence, sign it, or check that nobody changed it: `python -m tests.qualification run|sign|check FOLDER`.

Exit status: 0 if the evidence passes (run), or is as it was written (sign, check); else 1.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.qualification import report
from tests.qualification.evidence import PASSED, evidence
from tests.qualification.measured import environment, judged_claims, run_tests
from tests.qualification.use_cases import all_evidence


def main(words: Sequence[str]) -> int:
    options = _parser().parse_args(words)
    folder: Path = options.folder
    if options.action == "run":
        return _run(folder, options)
    found = list(report.changes(folder))
    for change in found:
        print(change)
    if options.action == "sign" and not found:
        report.sign(folder, options.name)
        print(f"signed: {folder / report.PAGE}")
    elif not found:
        print(f"{folder / report.EVIDENCE} is as it was written")
    return int(bool(found))


def _run(folder: Path, options: argparse.Namespace) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    paths, before = options.paths or list(all_evidence()), environment()
    print(f"running {', '.join(paths)}", flush=True)
    run = run_tests(paths, folder, processes=options.processes, slow=options.slow)
    print(
        f"{len(run.outcomes)} tests; judging the claims" if options.claims else f"{len(run.outcomes)} tests", flush=True
    )
    claims = list(judged_claims()) if options.claims else []
    if environment()["files"] != before["files"]:
        print("files of the package changed while the tests ran: nothing is written, run again")
        return 1
    found = evidence(before, run, claims, paths)
    report.write(folder, found)
    if options.signed_by:
        report.sign(folder, options.signed_by)
    for one in (*found["use_cases"], *(one for one in found["requirements"] if one["verdict"] == "failed")):
        print(f"{one.get('title', one.get('id'))}: {one['verdict']}")
    print(f"{found['verdict']}: {folder / report.PAGE}")
    return int(found["verdict"] != PASSED)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.qualification", description=__doc__)
    actions = parser.add_subparsers(dest="action", required=True)
    run = actions.add_parser("run", help="run tests and claims, and write evidence and report")
    run.add_argument("folder", type=Path)
    run.add_argument("paths", nargs="*", help="tests; else all that the use cases name")
    run.add_argument("--signed-by", default="", metavar="'NAME, ROLE'")
    run.add_argument("--processes", default="logical", help="of pytest -n; 0 is none")
    run.add_argument("--slow", action="store_true", help="tests marked slow too")
    run.add_argument("--no-claims", dest="claims", action="store_false", help="without the claims: never passes")
    sign = actions.add_parser("sign", help="put a name under evidence that nobody changed")
    sign.add_argument("folder", type=Path)
    sign.add_argument("name", metavar="'NAME, ROLE'")
    actions.add_parser("check", help="whether evidence, sign-off and page are as they were written").add_argument(
        "folder", type=Path
    )
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
