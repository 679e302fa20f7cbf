"""Run FMUs and systems here and in FMPy, libcosim and ecos, at the same step and with the algorithm that those have:
`python -m tests.foreign.field FOLDER… [--output TABLE.md]`.

Without a folder the FMUs are those of the generators of the cross-check, and the table goes into docs/cross_check.md.
Each run is in a process of its own. The exit status is 1 if a program runs a file that ssptool does not run.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import ssptool
from ssptool.fmu.read_description import read_description
from tests.systems.peers import in_ecos, in_libcosim

Floats = NDArray[np.float64]
Values = Mapping[str, Floats]

STEPS = 100
"""Macro steps of a run, of the size that the file states, else of a millisecond."""

SECONDS = 60
"""Limit of a run [s]."""

ALIKE = 1e-6
"""Difference of a signal, relative to its range, that is none."""

LONE = "fmu"
"""Name of the only component where a file is an FMU."""

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "cross_check.md"
BEGIN, END = "<!-- table: make field -->", "<!-- end of the table -->"


class Case(NamedTuple):
    """A file to run, and what its signals are called in a run of it: with the component, unless it is an FMU."""

    path: Path
    step: float
    signals: tuple[str, ...]

    @property
    def is_fmu(self) -> bool:
        return self.path.suffix == ".fmu"


class Ran(NamedTuple):
    """Values (steps + 1,) of signals, or the reason why there are none."""

    values: Values | None
    reason: str = ""


# -- one file in one program -----------------------------------------------------------------------------------------


def here(case: Case) -> Values:
    settings = ssptool.Settings(step_size=case.step, stop_time=STEPS * case.step)
    if not case.is_fmu:
        late = {"implementation": "cs", "master": "jacobi", "approximation": "hold", "exchange": "late"}
        settings = ssptool.Settings(step_size=case.step, stop_time=STEPS * case.step, **late)
    elif read_description(case.path).co_simulation is not None:
        settings = ssptool.Settings(step_size=case.step, stop_time=STEPS * case.step, implementation="cs")
    trace = ssptool.simulate(case.path, settings=settings, output=None, accuracy="off", warnings="off").unwrap()
    return {name: np.asarray(trace[name], dtype=float) for name in case.signals}


def fmpy(case: Case) -> Values:
    from fmpy import read_model_description, simulate_fmu
    from fmpy.ssp.simulation import simulate_ssp

    options = {"stop_time": STEPS * case.step, "step_size": case.step}
    if not case.is_fmu:
        found = simulate_ssp(str(case.path), **options)
    else:
        described = read_model_description(str(case.path), validate=False)
        kind = "ModelExchange" if described.coSimulation is None else "CoSimulation"
        found = simulate_fmu(
            str(case.path), validate=False, fmi_type=kind, output=case.signals, output_interval=case.step, **options
        )
    return {name: np.asarray(found[name], dtype=float) for name in case.signals}


def libcosim(case: Case) -> Values:
    if not case.is_fmu:
        return in_libcosim(case.path, case.step, case.signals, STEPS)
    from libcosimpy.CosimExecution import CosimExecution
    from libcosimpy.CosimObserver import CosimObserver
    from libcosimpy.CosimSlave import CosimLocalSlave

    execution = CosimExecution.from_step_size(round(case.step * 1e9))
    slave = execution.add_local_slave(CosimLocalSlave(str(case.path), LONE))
    observer = CosimObserver.create_last_value()
    execution.add_observer(observer)
    known = {one.name.decode(): one.reference for one in execution.slave_variables(slave)}
    references = [known[name] for name in case.signals]
    rows = [[np.nan] * len(references)]
    for _ in range(STEPS):
        if not execution.step(1):
            raise RuntimeError("a step failed")
        rows.append(list(observer.last_real_values(slave, references)) if references else [])
    return dict(zip(case.signals, np.array(rows).T, strict=True))


def ecos(case: Case) -> Values:
    if not case.is_fmu:
        return in_ecos(case.path, case.step, case.signals, STEPS, parameters=None)
    named = {f"{LONE}.{name}": name for name in case.signals}
    found = in_ecos(case.path, case.step, tuple(named), STEPS, lone=LONE, parameters=None)
    return {named[signal]: values for signal, values in found.items()}


PROGRAMS: Mapping[str, Callable[[Case], Values]] = {"ssptool": here, "FMPy": fmpy, "libcosim": libcosim, "ecos": ecos}


def ran(program: str, case: Case, folder: Path) -> Ran:
    """Run a file in a process, which may crash or hang."""
    result = folder / f"{program}.npz"
    arguments = [program, str(case.path), repr(case.step), str(result), *case.signals]
    command = [sys.executable, "-m", "tests.foreign.field", "--one", *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return Ran(None, f"takes more than {SECONDS} s")
    if done.returncode:
        lines = (done.stderr + done.stdout).strip().splitlines()
        return Ran(None, f"crashes (signal {-done.returncode})" if done.returncode < 0 else lines[-1] if lines else "")
    with np.load(result) as found:
        return Ran({name: found[f"v{place}"] for place, name in enumerate(case.signals)})


def _one(program: str, path: str, step: str, result: str, *signals: str) -> None:
    warnings.simplefilter("ignore")
    os.chdir(tempfile.mkdtemp(dir=Path(result).parent))
    values = PROGRAMS[program](Case(Path(path), float(step), signals))
    np.savez(result, **{f"v{place}": values[name] for place, name in enumerate(signals)})
    sys.stdout.flush()
    os._exit(0)  # some FMUs crash when their library is unloaded


# -- all files -------------------------------------------------------------------------------------------------------


def cases(folders: Sequence[Path]) -> Iterator[Case]:
    for folder in folders:
        for path in sorted([*folder.rglob("*.fmu"), *folder.rglob("*.ssp")]):
            if path.parent.name != "resources":
                yield _case(path)


def _case(path: Path) -> Case:
    """Outputs that are real numbers; a file that cannot be planned has none that are known."""
    try:
        plan = ssptool.plan(path, settings=ssptool.Settings(stop_time=1.0))
    except (ssptool.SsptoolError, OSError):
        return Case(path, 1e-3, ())
    outputs = [
        port.signal.variable if path.suffix == ".fmu" else str(port.signal)
        for component in plan.network.components.values()
        for port in component.of_kind("output")
        if port.type == "Float64" and port.signal.variable in component.description.variables
    ]
    return Case(path, plan.interval.step, tuple(outputs))


def compared(own: Ran, other: Ran) -> str:
    """Verdict on a run of another program beside ours."""
    if other.values is None:
        return "does not run" if own.values is not None else "does not run either"
    if own.values is None:
        return "**runs**"
    worst, most = "", 0.0
    for name, values in own.values.items():
        count = min(len(values), len(other.values[name]))
        known = slice(1, count)  # some give no value at the start
        apart = np.abs(values[known] - other.values[name][known])
        scale = max(float(np.ptp(values)), 1e-9 * float(np.max(np.abs(values))), 1e-300)
        if apart.size and not np.nanmax(apart, initial=0.0) / scale <= most:
            worst, most = name, float(np.nanmax(apart)) / scale
    return "alike" if most <= ALIKE else f"{most:.0e} of the range of {worst}".replace("e-0", "e-")


def table(folders: Sequence[Path]) -> tuple[list[str], list[str]]:
    """Rows of a table, and files that another program runs and ssptool does not."""
    rows, missing = ["| file | step [s] | ssptool | FMPy | libcosim | ecos |", "|---|---|---|---|---|---|"], []
    for case in cases(folders):
        with tempfile.TemporaryDirectory() as folder:
            found = {program: ran(program, case, Path(folder)) for program in PROGRAMS}
        own = found.pop("ssptool")
        verdicts = [compared(own, other) for other in found.values()]
        name = next(str(case.path.relative_to(one)) for one in folders if case.path.is_relative_to(one))
        rows.append(
            f"| {name} | {case.step:g} | {'runs' if own.values is not None else 'no'} | {' | '.join(verdicts)} |"
        )
        print(rows[-1], flush=True)
        reasons = {"ssptool": own.reason, **{program: other.reason for program, other in found.items()}}
        for program, reason in reasons.items():
            if reason:
                print(f"    {program}: {reason[:160]}", flush=True)
        missing += [name] if "**runs**" in verdicts else []
    return rows, missing


def _of_generators() -> Path:
    """A folder with the FMUs that generators of other people write."""
    # Every run is a process that imports this module, and needs none of these.
    from tests.foreign.cross_check import assemble, of_openmodelica, of_others, of_python

    folder = ROOT / "build" / "field"
    assemble(folder, [*of_python(), *of_openmodelica(), *of_others()])
    return folder


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--output", type=Path, help="a file for the table")
    parser.add_argument("--one", nargs="+", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        _one(*arguments.one)
    folders = [folder.absolute() for folder in arguments.folders] or [_of_generators()]
    rows, missing = table(folders)
    if arguments.output:
        arguments.output.write_text("\n".join(rows) + "\n", encoding="utf-8")
    elif not arguments.folders:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        made = "\n".join([f"{before}{BEGIN}", *rows, END]) + rest.partition(END)[2]
        PAGE.write_text(made, encoding="utf-8")
    count = Counter(row.split(" | ")[2] for row in rows[2:])
    print(f"{len(rows) - 2} files: ssptool runs {count['runs']}; another program runs and ssptool does not: {missing}")
    return int(bool(missing))


if __name__ == "__main__":
    sys.exit(main())
