"""What driven inputs and a scenario add to a run, as ratios to the run of the same system without them.

The system is the dual-mass oscillator without the force that System2 gives back, so that System1.F is driven from
outside. CPU times of one thread, in turns, in one process; every connector is recorded, in memory.
"""

import argparse
import math
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

import ssptool
from benchmarks.stepped import stepped
from ssptool.option_words import MasterWord

SYSTEM = Path(__file__).parents[1] / "systems/dual_mass_oscillator"
CUT = '<ssd:Connection startElement="System2" startConnector="F" endElement="System1" endConnector="F"/>'
STEP = 1e-3
BUDGET = 1.3


def write(folder: Path) -> Path:
    shutil.copytree(SYSTEM, folder)
    ssd = folder / "SystemStructure.ssd"
    text = ssd.read_text(encoding="utf-8")
    assert CUT in text
    ssd.write_text(text.replace(CUT, ""), encoding="utf-8")
    return folder


def stepping(system: Path, steps: int, stimuli: Mapping[str, Any], master: MasterWord) -> float:
    """[s] per macro step."""
    settings = ssptool.Settings(master=master, step_size=STEP, stop_time=steps * STEP)
    plan = ssptool.plan(system, settings=settings, **stimuli)
    with stepped(plan, system) as stepper:
        rows = np.empty((2 * steps + 2, 1 + len(plan.recorded)))
        began = time.thread_time()
        batch = stepper.run(rows if plan.master.chooses_steps else rows[:steps])
        seconds = time.thread_time() - began
        assert batch.failure is None, batch.failure
        return seconds / steps


def cases(steps: int) -> dict[str, Mapping[str, Any]]:
    """What acts on the system, by what it is called here."""
    stop = steps * STEP
    times = tuple(np.linspace(0.0, stop, steps // 10 + 1).tolist())
    sine = ssptool.types.Table(times, tuple(map(math.sin, times)))
    grid = tuple((np.arange(steps) * STEP).tolist())
    actions = [ssptool.types.Event(stop * k / 20, "System2.x1", "bias" if k % 2 else "reset", 0.1) for k in range(20)]
    return {
        "a table, linear, 10 steps a row": {"inputs": {"System1.F": sine}},
        "the same and 20 actions on a wire": {
            "inputs": {"System1.F": sine},
            "scenario": ssptool.types.Scenario(tuple(actions)),
        },
        "a table, held, a jump every 100 steps": {
            "inputs": {"System1.F": ssptool.types.Table(grid[::100], tuple(map(math.sin, grid[::100])), "hold")}
        },
        "a table, held, a jump at every step": {
            "inputs": {"System1.F": ssptool.types.Table(grid, tuple(map(math.sin, grid)), "hold")}
        },
        "a function of Python": {"inputs": {"System1.F": math.sin}},
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=10_000, help="macro steps per repeat")
    parser.add_argument("--repeats", type=int, default=7, help="the median is printed")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        system = write(Path(folder) / "driven")
        for master in ("jacobi", "gauss-seidel"):
            found: dict[str, list[tuple[float, float]]] = {name: [] for name in cases(arguments.steps)}
            for _ in range(arguments.repeats):
                for name, stimuli in cases(arguments.steps).items():
                    undriven = stepping(system, arguments.steps, {}, master)
                    found[name].append((stepping(system, arguments.steps, stimuli, master), undriven))
            report(master, arguments.steps, found)
    return 0


def report(master: str, steps: int, found: Mapping[str, list[tuple[float, float]]]) -> None:
    undriven = statistics.median(one for pairs in found.values() for _, one in pairs)
    print(f"Driven, {master}; {steps} macro steps of {STEP:g} s, of {1e6 * undriven:.3f} µs where nothing is driven")
    for name, pairs in found.items():
        seconds, ratio = (statistics.median(one) for one in ([a for a, _ in pairs], [a / b for a, b in pairs]))
        verdict = ""
        if "linear" in name:
            verdict = f", {'within' if ratio <= BUDGET else 'OVER'} the budget of {BUDGET}"
        print(f"  {name:40} {1e6 * seconds:8.3f} µs    ratio {ratio:6.2f}{verdict}")


if __name__ == "__main__":
    sys.exit(main())
