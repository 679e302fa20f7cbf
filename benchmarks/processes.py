"""What a macro step costs with each component in a process of its own, beside all of them in one.

The dual-mass oscillator, whose FMUs take next to no time, so that what is seen is the way to the other processes and
back; wall time, medians of runs that take turns. Rows must be the same, bit for bit.
"""

import statistics
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

import ssptool

SYSTEM = Path(__file__).parents[1] / "systems/dual_mass_oscillator"
STEPS, REPEATS = 2000, 5
CASES = {
    "jacobi, inputs held": {"master": "jacobi", "input": "hold"},
    "iterated": {"master": "iterated"},
}


def measure(options: dict[str, str], processes: str | None) -> tuple[float, bytes]:
    """[s] of wall time per macro step, and the rows."""
    result = ssptool.simulate(SYSTEM, stop_time=1e-3 * STEPS, step_size=1e-3, processes=processes, **options)
    return result.statistics.seconds / STEPS, np.ascontiguousarray(result.trace.y).tobytes()


def main() -> int:
    same = True
    for name, options in CASES.items():
        runs = [(measure(options, None), measure(options, "each")) for _ in range(REPEATS)]
        ratio = statistics.median(there[0] / here[0] for here, there in runs)
        here, there = (1e6 * statistics.median(pair[side][0] for pair in runs) for side in (0, 1))
        same = same and len({rows for pair in runs for _, rows in pair}) == 1
        print(f"{name}: {there:.1f} us per macro step with --processes each, {here:.1f} without: {ratio:.1f} times")
    print(f"rows {'the same, bit for bit' if same else 'DIFFERENT'}")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
