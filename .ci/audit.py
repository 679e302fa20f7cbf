"""Look up the packages of .ci/constraints.txt in the database of known vulnerabilities; fail if there is one.

Where the database cannot be reached, or knows none of the packages, that is said and nothing fails.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

PINS = Path(__file__).with_name("constraints.txt")


def main() -> int:
    command = [sys.executable, "-m", "pip_audit", "--requirement", str(PINS), "--no-deps", "--disable-pip"]
    done = subprocess.run([*command, "--format", "json", "--progress-spinner", "off"], capture_output=True, text=True)
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        reason = (done.stderr.strip().splitlines() or ["no answer"])[-1]
        print(f"audit skipped: {reason}")
        return 0
    return judge(packages)


def judge(packages: list[dict[str, Any]]) -> int:
    """The exit status for what pip-audit has found."""
    known = [one for one in packages if "skip_reason" not in one]
    if not known:
        print(f"audit skipped: none of {len(packages)} packages found in the database (is it reachable?)")
        return 0
    for one in packages:
        if "skip_reason" in one:
            print(f"not audited: {one['name']}: {one['skip_reason']}")
    bad = [one for one in known if one["vulns"]]
    for one in bad:
        print(f"vulnerable: {one['name']} {one['version']}: {', '.join(found['id'] for found in one['vulns'])}")
    print(f"packages audited: {len(known)}, with known vulnerabilities: {len(bad)}")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
