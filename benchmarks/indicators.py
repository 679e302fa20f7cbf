"""What the signs of steps that are too large cost: CPU time of looking for them, to that of the rest of the run.

Both are taken from the same run, which keeps all rows: the speed of a machine changes more from run to run than the
signs cost. The median of some runs counts.
"""

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import ssptool
from ssptool.engine import simulate
from ssptool.engine.run import initialization

SYSTEMS = Path(__file__).parents[1] / "systems"
BUDGET = 1.02
RUNS_OF_EACH = 9
RUNS: dict[str, tuple[str, dict[str, Any]]] = {
    "oscillator, jacobi, 200 000 steps": ("dual_mass_oscillator", {"master": "jacobi", "stop_time": 200.0}),
    "oscillator, iterated, 50 000 steps": ("dual_mass_oscillator", {"master": "iterated", "stop_time": 50.0}),
    "governor, iterated, 20 000 steps": ("flyball_governor", {"implementation": "cs", "stop_time": 20.0}),
}
OF_SIGNS = ((simulate, "warnings_of"), (initialization, "undeclared_feedthrough"), (initialization, "unheld_starts"))
"""Functions that look for signs, in the modules that call them."""

spent = 0.0


def timed(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, whose CPU time is added to `spent` [s]."""

    def call(*arguments: Any) -> Any:
        global spent
        began = time.process_time()
        try:
            return function(*arguments)
        finally:
            spent += time.process_time() - began

    return call


def ratio(system: Path, options: dict[str, Any]) -> float:
    """CPU time of a run to that without looking for signs."""
    global spent
    spent, began = 0.0, time.process_time()
    result = ssptool.simulate(system, **options, step_size=1e-3, accuracy="off", isolated=False, keep=True)
    whole = time.process_time() - began
    assert result.ok and spent > 0.0
    return whole / (whole - spent)


def main() -> int:
    for module, name in OF_SIGNS:
        setattr(module, name, timed(getattr(module, name)))
    exceeded = 0
    for name, (system, options) in RUNS.items():
        ratio(SYSTEMS / system, options)
        found = statistics.median(ratio(SYSTEMS / system, options) for _ in range(RUNS_OF_EACH))
        exceeded += found > BUDGET
        print(f"{name:40} {found:6.3f}   budget {BUDGET}{'   EXCEEDED' if found > BUDGET else ''}")
    return 1 if exceeded else 0


if __name__ == "__main__":
    sys.exit(main())
