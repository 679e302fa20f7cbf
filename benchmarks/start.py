"""What passes beside the steps: the command line in fresh processes, and the Python API in one that is warm.

Times are CPU times, child processes included, so that other processes count little; medians. Budgets are ratios to what
`import numpy` takes in the same minute, with our FMUs and with one that imitates what OpenModelica exports; the check
of a system includes the import of networkx. The API is measured on the dual-mass oscillator: open, check, flatten,
plan, load the FMUs, initialize, one step; then what a loop of runs costs, each of 100 steps: in a worker of a study,
and with `simulate`. Of these the smallest time of many is shown, as for what takes less than a millisecond.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import ssptool
from benchmarks import chain, tiny_fmu
from ssptool.engine.run.freeze import frozen_run
from ssptool.studies.checking import check_study
from ssptool.studies.definition import Task
from ssptool.studies.study_file import study_from
from ssptool.studies.worker import StudyWorker
from tests.fmu.chatty_fmu import build

SYSTEM = Path(__file__).parents[1] / "systems/dual_mass_oscillator"
STEP = 1e-3
IMPORTS = "import os; os.environ['OPENBLAS_NUM_THREADS'] = '1'; import typer, lxml.etree, fmpy.fmi2"  # as a run does


def fresh(command: list[str], ends_with: int = 0) -> float:
    """[s] of one process and its children; `ends_with` is its exit status."""
    # Bytecode is kept, as it is where a package is installed.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == ends_with, command
    return usage.ru_utime + usage.ru_stime


def one_step() -> float:
    """[s] of a run of one step in this process."""
    began = time.process_time()
    with ssptool.Simulation(SYSTEM, settings=ssptool.Settings(step_size=STEP, stop_time=STEP)) as run:
        run.step()
    return time.process_time() - began


def least(measure: Callable[[], object], repeats: int) -> float:
    """[s] of CPU time at least."""
    found = []
    for _ in range(repeats):
        began = time.process_time()
        measure()
        found.append(time.process_time() - began)
    return min(found)


def study_run(repeats: int) -> float:
    """[s] of a run in a worker that is warm."""
    table = {
        "system": str(SYSTEM),
        "settings": {"step_size": STEP, "stop_time": 100 * STEP},
        "design": {"kind": "latin-hypercube", "runs": repeats + 20, "seed": 1},
        "factors": {"System2.k2": {"low": 5.0, "high": 15.0}, "System1.c1": {"low": 0.05, "high": 0.2}},
        "results": {"peak": 'max("System1.x1")', "rms": 'rms("System1.x1")'},
    }
    checked = check_study(study_from(table))
    points = checked.points
    tasks = iter([Task(points.ids[k], k, points.at(k)) for k in range(len(points))])
    with StudyWorker(checked.study, checked.signals) as worker:
        for _ in range(20):
            assert not worker.run(next(tasks)).message
        return least(lambda: worker.run(next(tasks)), repeats)


def simulated() -> None:
    assert ssptool.simulate(SYSTEM, step_size=STEP, stop_time=100 * STEP).ok


def tell(what: str, seconds: float, budget: float) -> None:
    print(f"  {what:<52} {1e3 * seconds:7.3f} ms   budget {1e3 * budget:g} ms, {'ok' if seconds <= budget else 'OVER'}")


def show_simulation(repeats: int) -> None:
    with ssptool.Simulation(SYSTEM, step_size=STEP, stop_time=1.0) as run:
        run.step(100)
        snapshot = run.snapshot()
        tell("Simulation.snapshot", least(run.snapshot, repeats), 1e-4)
        tell("Simulation.restore", least(lambda: run.restore(snapshot), repeats), 1e-4)
        tell("Simulation.reset", least(run.reset, repeats), 1e-4)


def show_freezing(folder: Path, count: int) -> None:
    """A chain of so many tiny FMUs, and half of it."""
    tiny_fmu.build(folder)
    systems = [chain.write(folder / f"chain{n}", folder, n) for n in (count // 2, count)]
    plans = [ssptool.plan(one, master="jacobi", stop_time=1.0) for one in systems]
    half, whole = (least(partial(frozen_run, plan), 5) for plan in plans)
    tell(f"freezing a plan of {count} components ({whole / half:.1f} × that of half)", whole, 0.1)


def show(what: str, measure: Callable[[], float], repeats: int, budget: float | None = None) -> None:
    measure()  # fills caches
    seconds = statistics.median(measure() for _ in range(repeats))
    verdict = "" if budget is None else f"   budget {1e3 * budget:4.0f} ms, {'ok' if seconds <= budget else 'OVER'}"
    print(f"  {what:<52} {1e3 * seconds:7.1f} ms{verdict}", flush=True)


def compare(what: str, command: list[str], repeats: int, budget: float) -> None:
    """The median ratio of a command to a neighbouring `import numpy`."""
    numpy = [sys.executable, "-c", "import numpy"]
    pairs = [(fresh(command), fresh(numpy)) for _ in range(repeats + 1)][1:]  # the first one fills caches
    ratio = statistics.median(ours / theirs for ours, theirs in pairs)
    verdict = "ok" if ratio <= budget else "OVER"
    print(f"  {what:<52} {ratio:7.2f} × import numpy   budget {budget:.1f}, {verdict}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=7, help="of which the median is printed")
    repeats = parser.parse_args().repeats
    command = [sys.executable, "-c", "from ssptool.cli.main import main; main()"]
    with_networkx = [sys.executable, "-c", "import networkx; from ssptool.cli.main import main; main()"]
    with tempfile.TemporaryDirectory() as name:
        lone = Path(name) / "lone.ssd"
        lone.write_bytes((SYSTEM / "SystemStructure.ssd").read_bytes())
        run = ["run", str(SYSTEM), "--stop-time", str(STEP), "--step-size", str(STEP), "-o", f"{name}/results.csv"]
        print("CPU time of a process")
        show("the interpreter", lambda: fresh([sys.executable, "-c", "pass"]), repeats)
        show("the libraries of a run", lambda: fresh([sys.executable, "-c", IMPORTS]), repeats)
        show("ssptool --help", lambda: fresh([*command, "--help"]), repeats, 0.25)
        show("ssptool validate, an SSD without FMUs", lambda: fresh([*command, "validate", str(lone)], 1), repeats, 0.5)
        compare("ssptool validate, with networkx", [*with_networkx, "validate", str(SYSTEM)], repeats, 3.5)
        compare("ssptool run, one step in a child process", [*command, *run], repeats, 4.5)
        alone = [*command, *run, "--sandbox", "--accuracy", "off"]
        compare("the same in a sandbox, not checked by finer runs", alone, repeats, 4.5)
        build(Path(name))
        run[1] = f"{name}/chatty2.fmu"
        compare("the same, an FMU like those of OpenModelica", [*command, *run], repeats, 4.5)
    print("CPU time in a process that has run before")
    show("ssptool.Simulation, one step", one_step, 3 * repeats, 0.02)
    many = 40 * repeats
    tell("run of a study worker", study_run(many), 5e-4)
    simulated()
    simulated()
    tell("ssptool.simulate in a loop", least(simulated, many), 3e-3)
    show_simulation(many)
    with tempfile.TemporaryDirectory() as name:
        show_freezing(Path(name), 2000)
    return 0


if __name__ == "__main__":
    sys.exit(main())
