"""Run a package in another program and print one value: apart, because some of them end the process.

python -m tests.systems.probe_of_peer TOOL PACKAGE STEP STEPS SIGNAL
"""

import sys
from pathlib import Path

from fmpy.ssp.simulation import simulate_ssp

from tests.systems.peers import in_ecos, in_libcosim


def value(tool: str, package: Path, step: float, steps: int, signal: str) -> float:
    if tool == "fmpy":
        return float(simulate_ssp(str(package), stop_time=(steps - 0.5) * step, step_size=step)[signal][-1])
    run = in_ecos if tool == "ecos" else in_libcosim
    return float(run(package, step, [signal], steps)[signal][-1])


if __name__ == "__main__":
    tool, package, step, steps, signal = sys.argv[1:]
    print(repr(value(tool, Path(package), float(step), int(steps), signal)))
