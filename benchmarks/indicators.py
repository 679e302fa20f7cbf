"""What the signs of steps that are too large cost: CPU time of runs that look for them, to that of runs that do not.

Both keep all rows. Runs take turns, and a ratio is one of neighbours; the median of the ratios counts.
"""

import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import ssptool

SYSTEMS = Path(__file__).parents[1] / "systems"
BUDGET = 1.02
TURNS = 15
RUNS = {
    "oscillator, jacobi, 200 000 steps": ("dual_mass_oscillator", {"master": "jacobi", "stop_time": 200.0}),
    "oscillator, iterated, 50 000 steps": ("dual_mass_oscillator", {"master": "iterated", "stop_time": 50.0}),
    "governor, iterated, 20 000 steps": ("flyball_governor", {"implementation": "cs", "stop_time": 20.0}),
}


def seconds(system: Path, warnings: str, options: dict[str, object]) -> float:
    """CPU time of a run [s]."""
    began = time.process_time()
    result = ssptool.simulate(
        system, **options, step_size=1e-3, warnings=warnings, accuracy="off", isolated=False, keep=True
    )
    spent = time.process_time() - began
    assert result.ok
    return spent


def main() -> int:
    exceeded = 0
    for name, (system, options) in RUNS.items():
        seconds(SYSTEMS / system, "off", options)
        ratios = []
        for turn in range(TURNS):
            order = ("on", "off") if turn % 2 else ("off", "on")
            found = {which: seconds(SYSTEMS / system, which, options) for which in order}
            ratios.append(found["on"] / found["off"])
        ratio = statistics.median(ratios)
        exceeded += ratio > BUDGET
        print(f"{name:40} {ratio:6.3f}   budget {BUDGET}{'   EXCEEDED' if ratio > BUDGET else ''}")
    return 1 if exceeded else 0


if __name__ == "__main__":
    sys.exit(main())
