"""Two FMUs with heavy steps (1 ms of work each) side by side: how much faster on two threads than on one, also where
one of them is stepped by the thread that asks only, as an ODE is.

The components are those of the kernel's tests; wall time, medians of one run.
"""

import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

from ssptool.engine.kernel.calls import Instruction, Op
from tests.engine.kernel.methods import create
from tests.engine.kernel.mock_fmu import Mock, Mocks, build

STEP_SECONDS, STEPS, REPEATS, BUDGET = 1e-3, 200, 5, 1.8


def measure(
    mocks: Mocks, threads: int, seconds_per_step: float = STEP_SECONDS, *, apart: bool = False
) -> tuple[float, bytes]:
    """[s] of wall time, and the trace."""
    kernel = create(4)
    components = [Mock(x=[1.0]), Mock(x=[0.3])]
    for component, slot in zip(components, (0, 2), strict=True):
        component.seconds = seconds_per_step
        table = mocks.table(kernel, component, [slot], [slot + 1])
        kernel.add(replace(table, apart=apart and slot == 2))
    kernel.connect([3, 1], [0, 2], [-1.0, 1.0], [0.0, 0.0])
    group = kernel.group([0, 1])
    kernel.record_slots(range(4))
    kernel.use_threads(threads)
    jacobi = [Instruction(op, group) for op in (Op.EXCHANGE, Op.HOLD, Op.ADVANCE, Op.ACCEPT, Op.RECORD)]
    rows = np.empty((STEPS, 5))
    began = time.perf_counter()
    outcome = kernel.run(jacobi, 0.0, 0.01, 0, rows)
    seconds = time.perf_counter() - began
    assert outcome.ok, outcome
    return seconds, rows.tobytes()


def machine() -> float:
    """How much faster the machine does two pieces of work at once now; other processes may need its cores."""
    piece = [sys.executable, "-c", "sum(range(20_000_000))"]
    began = time.perf_counter()
    for _ in range(2):
        subprocess.run(piece, check=True)
    middle = time.perf_counter()
    for process in [subprocess.Popen(piece) for _ in range(2)]:
        process.wait()
    return (middle - began) / (time.perf_counter() - middle)


def compare(mocks: Mocks, what: str, seconds_per_step: float, *, apart: bool = False) -> bool:
    """Measure, print, and say whether the traces are the same."""
    runs = [tuple(measure(mocks, n, seconds_per_step, apart=apart) for n in (1, 2)) for _ in range(REPEATS)]
    ratio = statistics.median(one[0] / two[0] for one, two in runs)
    same = len({trace for pair in runs for _, trace in pair}) == 1
    verdict = "within" if ratio >= BUDGET else "MISSES"
    print(f"steps that {what} for {1e3 * abs(seconds_per_step):g} ms: {ratio:.2f} times faster on 2 threads,", end=" ")
    print(f"{verdict} the budget of {BUDGET}; traces {'the same, bit for bit' if same else 'DIFFERENT'}")
    return same


def main() -> int:
    print(f"two processes at once are {machine():.2f} times faster than one after the other on this machine now")
    with tempfile.TemporaryDirectory() as folder:
        mocks = Mocks(build(Path(folder)), 2)
        same = [
            compare(mocks, "work", STEP_SECONDS),
            compare(mocks, "wait", -STEP_SECONDS),
            compare(mocks, "work, beside one that is apart,", STEP_SECONDS, apart=True),
            compare(mocks, "wait, beside one that is apart,", -STEP_SECONDS, apart=True),
        ]
    return 0 if all(same) else 1


if __name__ == "__main__":
    sys.exit(main())
