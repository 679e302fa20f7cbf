"""What a macro step costs with each component in a process of its own, beside all of them in one.

The dual-mass oscillator, whose FMUs take next to no time, so that what is seen is the way to the other processes and
back; wall time, medians of runs that take turns. Beside it a byte through a pipe to another process and back, the least
that any call into one takes on this machine. Rows must be the same, bit for bit.
"""

import os
import statistics
import sys
from pathlib import Path
from time import perf_counter
from typing import Literal

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

import ssptool

SYSTEM = Path(__file__).parents[1] / "systems/dual_mass_oscillator"
STEPS, REPEATS, TRIPS = 2000, 5, 5000
CASES = {
    "jacobi, inputs held": ssptool.Settings(master="jacobi", approximation="hold"),
    "iterated": ssptool.Settings(master="iterated"),
}


def round_trip() -> float:
    """[s] of wall time."""
    there, back = os.pipe(), os.pipe()
    if (child := os.fork()) == 0:
        os.close(there[1])
        while byte := os.read(there[0], 1):
            os.write(back[1], byte)
        os._exit(0)
    started = perf_counter()
    for _ in range(TRIPS):
        os.write(there[1], b".")
        os.read(back[0], 1)
    seconds = (perf_counter() - started) / TRIPS
    os.close(there[1])
    os.waitpid(child, 0)
    return seconds


def measure(settings: ssptool.Settings, processes: Literal["each"] | None) -> tuple[float, bytes]:
    """[s] of wall time per macro step, and the rows."""
    result = ssptool.simulate(
        SYSTEM, settings=settings, accuracy="off", processes=processes, stop_time=1e-3 * STEPS, step_size=1e-3
    )
    return result.statistics.seconds / STEPS, np.ascontiguousarray(result.trace.y).tobytes()


def main() -> int:
    same = True
    print(f"a byte to another process and back: {1e6 * statistics.median(round_trip() for _ in range(REPEATS)):.1f} us")
    for name, settings in CASES.items():
        runs = [(measure(settings, None), measure(settings, "each")) for _ in range(REPEATS)]
        ratio = statistics.median(there[0] / here[0] for here, there in runs)
        here, there = (1e6 * statistics.median(pair[side][0] for pair in runs) for side in (0, 1))
        same = same and len({rows for pair in runs for _, rows in pair}) == 1
        print(f"{name}: {there:.1f} us per macro step with --processes each, {here:.1f} without: {ratio:.1f} times")
    print(f"rows {'the same, bit for bit' if same else 'DIFFERENT'}")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
