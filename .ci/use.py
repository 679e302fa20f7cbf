"""Use an installed ssptool as a user does: an example, findings, a run, an export, a study; print hashes of results.

`python .ci/use.py` writes into the current folder. It ends with 1 if something does not work or the result is wrong.
Packages are tried with it, on every platform.
"""

import csv
import hashlib
import subprocess
import sys
from pathlib import Path

SYSTEM = "dual_mass_oscillator"
FORCE = 5.0
"""System2.F at the start [N], of the closed form."""

STUDY = f"""\
system = "{SYSTEM}"
[factors]
"System1.c1" = [0.1, 0.2]
[results]
peak = 'max("System1.x1")'
"""


def main() -> int:
    ssptool("example", SYSTEM)
    ssptool("doctor", SYSTEM)
    ssptool("validate", SYSTEM)
    ssptool("run", SYSTEM, "--stop-time", "1", "--output", "run.csv")
    ssptool("export", SYSTEM, "one.fmu")
    ssptool("run", "one.fmu", "--stop-time", "1", "--output", "exported.csv")
    Path("peaks.toml").write_text(STUDY, encoding="utf-8")
    ssptool("study", "peaks.toml", "--output", "study")
    Path("study.txt").write_text(ssptool("study", "results", "study"), encoding="utf-8")
    with Path("run.csv").open(encoding="utf-8", newline="") as file:
        start = next(csv.DictReader(file))
    if abs(float(start["System2.F [N]"]) - FORCE) > 1e-9:
        print(f"System2.F is {start['System2.F [N]']} at the start, and not {FORCE}")
        return 1
    for name in ("run.csv", "exported.csv", "study.txt"):
        print(hashlib.sha256(Path(name).read_bytes()).hexdigest()[:16], name)
    return 0


def ssptool(*arguments: object) -> str:
    """What a command prints; ends this program if it fails."""
    command = [sys.executable, "-P", "-m", "ssptool", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    if done.returncode != 0:
        sys.exit(f"ssptool {' '.join(map(str, arguments))} ended with {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
