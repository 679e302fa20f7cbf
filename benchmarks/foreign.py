"""FMUs with the habits of OpenModelica's beside quiet ones: cost per macro step as ratios to a C loop with logging off.

The FMU of tests/fmu/chatty.c logs every call while logging is on, declares log categories, allocates and frees memory
through the callbacks in each step and has 1 000 variables; two of them feed each other. The C loop makes the same FMI
calls; both must end at the same values, bit for bit. The engine records all connectors. Times are CPU times of one
thread; engine and C loop take turns, and a ratio is one of neighbours. The line for `--fmu-log` has the file in memory
and all that the FMUs log: it shows what messages cost, and has no budget.
"""

import argparse
import ctypes
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import fmpy
import numpy as np

import ssptool
from benchmarks.memory import folder_in_memory
from benchmarks.stepped import stepped
from ssptool.types import Plan
from tests.engine.systems import write_system
from tests.fmu.building import PLATFORM
from tests.fmu.chatty_fmu import TOKEN, build

BUDGET, STEP = 1.15, 1e-3
OUTPUTS = ("A.y", "B.y")
Final = tuple[float, ...]


def planned(system: Path, steps: int, log: Path | None = None) -> Plan:
    settings = ssptool.Settings(
        master="jacobi", approximation="hold", step_size=STEP, stop_time=steps * STEP, fmu_log=log
    )
    return ssptool.plan(system, settings=settings, start_values={"A.x": "1"})


def engine(system: Path, plan: Plan, outputs: Sequence[str]) -> tuple[float, Final]:
    """[s] per macro step, and these outputs at the end."""
    with stepped(plan, system) as stepper:
        # Both sides of an event are rows.
        rows = np.empty((plan.interval.steps * (3 if plan.master.chooses_steps else 1), 1 + len(plan.recorded)))
        began = time.thread_time()
        batch = stepper.run(rows)
        seconds = time.thread_time() - began
        assert batch.failure is None, batch.failure
        assert batch.finished or not plan.master.chooses_steps
        columns = {column.signal: 1 + i for i, column in enumerate(plan.columns)}
        return seconds / plan.interval.steps, tuple(float(rows[batch.steps - 1, columns[name]]) for name in outputs)


def c_loop(folder: Path, version: int) -> Callable[[int], tuple[float, Final]]:
    """The function of foreign.c, compiled like the kernel."""
    compiler = shutil.which("cc")
    assert compiler, "a C compiler is needed for the loop to compare with"
    library, unpacked = folder / f"foreign{version}.so", folder / f"unpacked{version}"
    flags = ["-std=gnu11", "-O3", "-DNDEBUG", "-ffp-contract=off", "-Wall", "-Wextra", "-shared", "-fPIC"]
    subprocess.run([compiler, *flags, Path(__file__).with_name("foreign.c"), "-o", library, "-ldl"], check=True)
    fmpy.extract(folder / f"chatty{version}.fmu", unpacked)
    binary = unpacked / f"binaries/{PLATFORM[version]}/chatty{fmpy.sharedLibraryExtension}"
    function = getattr(ctypes.CDLL(str(library)), f"bench{version}")
    function.restype = ctypes.c_double

    def sample(steps: int) -> tuple[float, Final]:
        outputs = (ctypes.c_double * 2)()
        arguments = str(binary).encode(), TOKEN.encode(), ctypes.c_long(steps), ctypes.c_double(STEP), outputs
        return function(*arguments) / steps, tuple(outputs)

    return sample


def compare(folder: Path, version: int, steps: int, repeats: int) -> bool:
    """Measure, print, and say whether both ended at the same values."""
    name = f"chatty{version}"
    connections = [("A.y", "B.u"), ("B.y", "A.u")]
    system = write_system(folder / f"ring{version}", folder, {"A": name, "B": name}, connections)
    plan, bare_loop = planned(system, steps), c_loop(folder, version)
    own, bare, logged = [], [], []
    with folder_in_memory() as memory:
        with_log = planned(system, steps // 10, memory / "log.csv")
        for _ in range(repeats):
            own.append(engine(system, plan, OUTPUTS))
            bare.append(bare_loop(steps))
            logged.append(engine(system, with_log, OUTPUTS)[0])
    ratio = statistics.median(one[0] / other[0] for one, other in zip(own, bare, strict=True))
    cost = statistics.median(seconds / other[0] for seconds, other in zip(logged, bare, strict=True))
    verdict = "within" if ratio <= BUDGET else "OVER"
    print(f"Two FMUs with the habits of OpenModelica's, FMI {version}.0; {steps} macro steps of {STEP:g} s")
    print(f"  C loop, logging off        {1e6 * statistics.median(s for s, _ in bare):8.3f} µs per macro step")
    print(
        f"  engine                     {1e6 * statistics.median(s for s, _ in own):8.3f} µs    "
        f"ratio {ratio:.3f}, {verdict} the budget of {BUDGET}"
    )
    print(f"  engine with --fmu-log      {1e6 * statistics.median(logged):8.3f} µs    ratio {cost:.1f}, 6 messages")
    finals = {final for _, final in (*own, *bare)}
    print("  both ended at the same values, bit for bit" if len(finals) == 1 else f"  DIFFERENT ends: {sorted(finals)}")
    return len(finals) == 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=20_000, help="macro steps per repeat")
    parser.add_argument("--repeats", type=int, default=9, help="the median of all is printed")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        build(Path(folder))
        same = [compare(Path(folder), version, arguments.steps, arguments.repeats) for version in (2, 3)]
    return 0 if all(same) else 1


if __name__ == "__main__":
    sys.exit(main())
