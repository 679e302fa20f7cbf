"""Throughput of studies: the dual-mass oscillator (10 s in steps of 1 ms), on one process and on two.

    python benchmarks/study.py [runs]

Prints how many times faster two are, what a run costs beyond its own initialization and stepping, and how much memory
the process that runs the study takes.
"""

import os
import resource
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import ssptool
from ssptool.studies.bundle import pack, unpack
from ssptool.studies.checking import check_study
from ssptool.studies.definition import Task
from ssptool.studies.study_file import study_from
from ssptool.studies.worker import Bounds, LocalWorkers, Runner

SYSTEM = Path(__file__).parents[1] / "systems" / "dual_mass_oscillator"
RUNS = 10_000
SHORT_RUNS = 100_000


def table(runs: int, **settings: float) -> dict[str, object]:
    return {
        "system": str(SYSTEM),
        "settings": settings,
        "design": {"kind": "latin-hypercube", "runs": runs, "seed": 1},
        "factors": {"System2.k2": {"low": 5.0, "high": 15.0}, "System1.c1": {"low": 0.05, "high": 0.2}},
        "results": {"peak": 'max("System1.x1")', "rms": 'rms("System1.x1")'},
    }


def carried_out(runs: int, workers: int) -> tuple[float, float]:
    """Wall time of all runs [s] on workers that are warm, and the mean time that a run itself takes [s]."""
    checked = check_study(study_from(table(runs, step_size=1e-3)))
    bundle, points = pack(checked.study, checked.points, checked.signals), checked.points
    tasks = [Task(points.ids[k], k, points.at(k)) for k in range(len(points))]
    with tempfile.TemporaryDirectory() as folder:
        study, signals = unpack(bundle.content, Path(folder))
        with LocalWorkers(
            study, signals, Bounds(60.0), True, workers, first=Runner(study, signals, Bounds(60.0))
        ) as local:
            warm = tasks[: 4 * workers]
            list(local.run(iter(warm), len(warm), 10.0))
            began = perf_counter()
            own = [o.own_seconds for found in local.run(iter(tasks), len(tasks), 0.05) for o in found]
            seconds = perf_counter() - began
    return seconds, sum(own) / len(own)


def memory(runs: int) -> float:
    """Resident memory of this process [MiB] at most, after a study of so many very short runs."""
    with tempfile.TemporaryDirectory() as folder:
        began = perf_counter()
        results = ssptool.study(table(runs, step_size=0.01, stop_time=0.01), folder, workers=2)
        assert results.status.ok
        print(f"  {runs} runs of one step in {perf_counter() - began:.0f} s")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else RUNS
    alone, own_alone = carried_out(runs, 1)
    both, own_both = carried_out(runs, 2)
    print(f"{runs} runs of the dual-mass oscillator, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    print(f"  one process:   {1e3 * alone / runs:7.2f} ms per run, {1e3 * own_alone:7.2f} ms its own")
    print(f"  two processes: {1e3 * both / runs:7.2f} ms per run, {1e3 * own_both:7.2f} ms its own")
    print(f"  two are {alone / both:.2f} times as fast as one (wanted: 1.8)")
    print(f"  overhead: {1e3 * (alone / runs - own_alone):.2f} ms per run on one process (allowed: 3)")
    print(f"            {1e3 * (2 * both / runs - own_both):.2f} ms per run and process on two")
    short = SHORT_RUNS if len(sys.argv) < 2 else 10 * runs
    print(f"  memory of the study's process: {memory(short):.0f} MiB")


if __name__ == "__main__":
    main()
